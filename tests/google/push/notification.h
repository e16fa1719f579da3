// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/world/settings.h"

namespace tidekeeper::googlesim {

/// What Gmail publishes, and Pub/Sub's envelope around it.
struct Notification {
    QString email;
    quint64 historyId = 0;
    QString messageId;
    qint64 publishedAtMs = 0;
    QString subscription; ///< projects/P/subscriptions/S
};

/// The body of a push. "wire": as captured, with both spellings of id and time, padded base64 and historyId as a
/// number; "guide": as Google's guide has it, base64url and historyId as a text.
QByteArray bodyOf(const Notification &notification, const QString &shape);

} // namespace tidekeeper::googlesim
