// SPDX-License-Identifier: Apache-2.0
#include "store/journal.h"

#include "store/accountrows.h"

#include <limits>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

qint64 upper(qint64 beforeId)
{
    return beforeId > 0 ? beforeId : std::numeric_limits<qint64>::max();
}

Result<QList<AuditEntry>> readAudit(QSqlDatabase &db, qint64 beforeId, int limit)
{
    Statement select(db,
                     u"SELECT at, actor, action, target, details, id FROM audit WHERE id < ?"
                     " ORDER BY id DESC LIMIT ?"_s);
    if (Result<> read = select.run({upper(beforeId), limit}); !read)
        return fail(read.error());
    QList<AuditEntry> entries;
    while (select.next()) {
        entries.append({select.integer(0), select.text(1), select.text(2), select.text(3),
                        jsonOf(select.text(4)), select.integer(5)});
    }
    return entries;
}

Result<QList<TimelineEntry>> readTimeline(QSqlDatabase &db, const QString &account, qint64 beforeId,
                                          int limit)
{
    Statement select(db,
                     u"SELECT at, kind, details, id FROM timeline WHERE account = ? AND id < ?"
                     " ORDER BY id DESC LIMIT ?"_s);
    if (Result<> read = select.run({account, upper(beforeId), limit}); !read)
        return fail(read.error());
    QList<TimelineEntry> entries;
    while (select.next())
        entries.append({select.integer(0), select.text(1), jsonOf(select.text(2)), select.integer(3)});
    return entries;
}

Result<> appendTimeline(QSqlDatabase &db, const QString &account, const TimelineEntry &entry)
{
    const Result<qint64> added = change(db,
                                        u"INSERT INTO timeline (account, at, kind, details)"
                                        " SELECT id, ?, ?, ? FROM accounts WHERE id = ?"_s,
                                        {entry.at, entry.kind, compactJson(entry.details), account});
    if (!added)
        return fail(added.error());
    const Result<qint64> pruned =
        change(db,
               u"DELETE FROM timeline WHERE account = ? AND id <="
               " (SELECT id FROM timeline WHERE account = ? ORDER BY id DESC LIMIT 1 OFFSET %1)"_s.arg(
                   Journal::mostPerAccount),
               {account, account});
    return pruned ? Result<>() : fail(pruned.error());
}

Result<> pruneBoth(QSqlDatabase &db, qint64 auditBeforeMs, qint64 timelineBeforeMs)
{
    if (Result<qint64> audit = change(db, u"DELETE FROM audit WHERE at < ?"_s, {auditBeforeMs}); !audit)
        return fail(audit.error());
    const Result<qint64> timeline = change(db, u"DELETE FROM timeline WHERE at < ?"_s, {timelineBeforeMs});
    return timeline ? Result<>() : fail(timeline.error());
}

} // namespace

Result<> appendAudit(QSqlDatabase &db, const AuditEntry &entry)
{
    const Result<qint64> added =
        change(db, u"INSERT INTO audit (at, actor, action, target, details) VALUES (?, ?, ?, ?, ?)"_s,
               {entry.at, entry.actor, entry.action, entry.target, compactJson(entry.details)});
    return added ? Result<>() : fail(added.error());
}

Journal::Journal(Database &database) : m_database(database) { }

QCoro::Task<Result<>> Journal::audit(AuditEntry entry)
{
    return m_database.run([entry](QSqlDatabase &db) { return appendAudit(db, entry); });
}

QCoro::Task<Result<QList<AuditEntry>>> Journal::audits(qint64 beforeId, int limit)
{
    return m_database.run([beforeId, limit](QSqlDatabase &db) { return readAudit(db, beforeId, limit); });
}

QCoro::Task<Result<>> Journal::note(QString account, TimelineEntry entry)
{
    return m_database.transaction(
        [account, entry](QSqlDatabase &db) { return appendTimeline(db, account, entry); });
}

QCoro::Task<Result<QList<TimelineEntry>>> Journal::timeline(QString account, qint64 beforeId, int limit)
{
    return m_database.run(
        [account, beforeId, limit](QSqlDatabase &db) { return readTimeline(db, account, beforeId, limit); });
}

QCoro::Task<Result<>> Journal::prune(qint64 auditBeforeMs, qint64 timelineBeforeMs)
{
    return m_database.transaction([auditBeforeMs, timelineBeforeMs](QSqlDatabase &db) {
        return pruneBoth(db, auditBeforeMs, timelineBeforeMs);
    });
}

} // namespace tidekeeper::store
