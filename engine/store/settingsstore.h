// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

#include <QtCore/QJsonObject>
#include <QtCore/QMap>

namespace tidekeeper::store {

/// What operators changed at run time, by dotted name ("schedule.renewal-scan", "limiter.gmail"). Wins over the
/// configuration file; every change is audited in the same transaction. Any thread may call.
/// Failure: database_unavailable.
class SettingsStore {
public:
    explicit SettingsStore(Database &database);

    /// Everything whose name begins with prefix.
    QCoro::Task<Result<QMap<QString, QJsonObject>>> all(QString prefix);
    QCoro::Task<Result<>> set(QString name, QJsonObject value, QString actor, qint64 nowMs);
    /// From `before` to `after`, where empty means: none. Audited with both. setting_changed when it is not `before` any
    /// more, because somebody else was quicker.
    QCoro::Task<Result<>> replace(QString name, QJsonObject before, QJsonObject after, QString actor,
                                  qint64 nowMs);
    /// Returns to the configuration file; nothing to do when there is nothing.
    QCoro::Task<Result<>> remove(QString name, QString actor, qint64 nowMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
