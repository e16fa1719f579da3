// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

#include <QtCore/QJsonObject>
#include <QtCore/QList>

// What happened: the audit (who did what) and the timeline of each account. Never a secret in either.
namespace tidekeeper::store {

struct AuditEntry {
    qint64 at = 0; ///< epoch ms
    QString actor;
    QString action; ///< dotted: "setting.set", "account.put"
    QString target;
    QJsonObject details;
    qint64 id = 0; ///< given by the database; grows
};

struct TimelineEntry {
    qint64 at = 0;
    QString kind; ///< dotted: "renewal.renewed"
    QJsonObject details;
    qint64 id = 0;
};

/// For a change that is to be audited in its own transaction. Database thread.
Result<> appendAudit(QSqlDatabase &db, const AuditEntry &entry);

/// Any thread may call. Lists are newest first; beforeId = 0 begins with the newest. Failure: database_unavailable.
class Journal {
public:
    static constexpr int mostPerAccount = 200;

    explicit Journal(Database &database);

    QCoro::Task<Result<>> audit(AuditEntry entry);
    QCoro::Task<Result<QList<AuditEntry>>> audits(qint64 beforeId, int limit);

    /// Keeps the newest mostPerAccount of the account; nothing to do when the account is gone.
    QCoro::Task<Result<>> note(QString account, TimelineEntry entry);
    QCoro::Task<Result<QList<TimelineEntry>>> timeline(QString account, qint64 beforeId, int limit);

    /// Forgets what is older than these instants.
    QCoro::Task<Result<>> prune(qint64 auditBeforeMs, qint64 timelineBeforeMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
