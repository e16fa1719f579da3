// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/quota/preset.h"

#include <QtCore/QJsonObject>

namespace tidekeeper::googlesim {

/// What may be changed while the simulator runs (GET and POST /sim/settings, same names in lower_snake_case).
struct Settings {
    Preset preset = Preset::Gmail2026; ///< of projects that were not given one of their own
    qint64 userLimitPerMinute = 0; ///< 0 = what the preset publishes
    qint64 projectLimitPerMinute = 0; ///< 0 = what the preset publishes
    qint64 concurrency = 10; ///< calls in flight per user
    qint64 latencyMs = 20; ///< a Gmail call takes this long, so that calls can overlap
    bool chargeRefused = false; ///< whether a refused call moves the windows
    bool strictWatch = false; ///< a renewal on the same topic needs a stop first
    qint64 watchLifetimeMs = 7 * 24 * 3600 * 1000LL;
    qint64 tokenLifetimeS = 3600;
    qint64 jwtSkewS = 300; ///< how far iat may lie in the future; observers disagree: 8 to 10 minutes
    qint64 historyRecords = 1000; ///< older ones are forgotten: 404 for whoever asks from there
    qint64 fcmLimitPerMinute = 600'000;
    QString userLimitAnswer = QStringLiteral("forbidden"); ///< or "too_many_requests", "exhausted"
    QString pushUrl; ///< where notifications go; empty = nowhere
    QString pushTokenAudience; ///< empty = pushUrl
    QString pushServiceAccount; ///< whose tokens pushes carry; empty = none
    QString pushShape = QStringLiteral("wire"); ///< or "guide"
    qint64 pushRetryMs = 1000; ///< until the first redelivery

    QJsonObject toJson() const;
};

/// Changes the settings named in the object, all of them or none. The answer is the sentence of what is wrong with the
/// object, empty when nothing is.
QString apply(Settings &settings, const QJsonObject &changes);

} // namespace tidekeeper::googlesim
