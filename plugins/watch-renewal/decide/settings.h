// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/status.h>

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace watchrenewal {

/// The section [plugins.watch-renewal] with its preset filled in.
struct Settings {
    QString mode = QStringLiteral("renew"); ///< or "observe"
    qint64 windowMs = 0;
    int batchSize = 0;
    QString cron; ///< of the scan; empty = every 60 s
    int consumers = 2;
    int prefetch = 2;
};

/// Presets: "standard" (window 6 days, batches of 500, a scan each minute) and "conservative" (1 day, 50, hourly). What
/// the section says itself wins. Failure: bad_configuration with the field.
tidekeeper::Status settingsFrom(const QJsonObject &section, Settings *settings);

} // namespace watchrenewal
