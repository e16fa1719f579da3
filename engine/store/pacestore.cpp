// SPDX-License-Identifier: Apache-2.0
#include "store/pacestore.h"

#include "core/planner.h"
#include "store/dialect.h"
#include "store/statement.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

constexpr qint64 graceMs = core::hourMs; // what was pulled forward may be late when renewals were held up

/// The one row: what is left, and what was pulled forward. Locked for the transaction.
struct PaceRow {
    core::PaceLevel level;
    qint64 pulledMilliPerHour = 0;
    qint64 pulledUntil = 0;
};

Result<PaceRow> lockedRow(QSqlDatabase &db)
{
    const Result<qint64> made = change(db,
                                       u"INSERT INTO pace (id, level_milli, level_at, pulled_milli_per_hour,"
                                       " pulled_until) VALUES (1, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING"_s);
    if (!made)
        return fail(made.error());
    Statement select(
        db,
        u"SELECT level_milli, level_at, pulled_milli_per_hour, pulled_until FROM pace a WHERE id = 1"_s
            + lockOf(db));
    if (Result<> read = select.run(); !read)
        return fail(read.error());
    if (!select.next())
        return fail(u"database_unavailable"_s, u"The pace of renewals could not be read."_s);
    return PaceRow{{select.integer(0), select.integer(1)}, select.integer(2), select.integer(3)};
}

Result<> save(QSqlDatabase &db, const PaceRow &row)
{
    const Result<qint64> saved =
        change(db,
               u"UPDATE pace SET level_milli = ?, level_at = ?, pulled_milli_per_hour = ?, pulled_until = ?"
               " WHERE id = 1"_s,
               {row.level.milli, row.level.at, row.pulledMilliPerHour, row.pulledUntil});
    return saved ? Result<>() : fail(saved.error());
}

core::Pace withPulled(core::Pace pace, const PaceRow &row, qint64 nowMs)
{
    if (row.pulledUntil <= nowMs)
        return pace;
    const double extra = static_cast<double>(row.pulledMilliPerHour) / static_cast<double>(core::hourMs);
    pace.milliPerMs += extra;
    pace.capacityMilli += static_cast<qint64>(extra * 2 * core::minuteMs);
    return pace;
}

Result<int> taken(QSqlDatabase &db, const core::Pace &pace, int wanted, qint64 nowMs)
{
    Result<PaceRow> row = lockedRow(db);
    if (!row)
        return fail(row.error());
    const int count = core::takePaced(row->level, withPulled(pace, *row, nowMs), wanted, nowMs);
    const Result<> saved = save(db, *row);
    return saved ? Result<int>(count) : fail(saved.error());
}

Result<> givenBack(QSqlDatabase &db, const core::Pace &pace, int unused)
{
    Result<PaceRow> row = lockedRow(db);
    if (!row)
        return fail(row.error());
    core::returnPaced(row->level, withPulled(pace, *row, row->level.at), unused);
    return save(db, *row);
}

Result<int> movedForward(QSqlDatabase &db, const QList<AccountRow> &rows, qint64 spreadMs, qint64 nowMs)
{
    // The row that all take first: nobody holds an account and waits for it.
    Result<PaceRow> pace = lockedRow(db);
    if (!pace)
        return fail(pace.error());
    Statement update(db,
                     u"UPDATE subscriptions SET next_target_at = ?, due_at = ?, generation = generation + 1"
                     " WHERE id = ? AND generation = ? AND active = 1 AND due_at > ?"_s);
    int moved = 0;
    for (const AccountRow &row : rows) {
        for (const core::Subscription &subscription : row.subscriptions) {
            const qint64 target = core::pulledTarget(subscription.account, nowMs, spreadMs);
            const qint64 due = core::dueAt(subscription.expiresAt, target, subscription.nextAttemptAt);
            const Result<qint64> changed =
                update.change({target, due, subscription.id, subscription.generation, due});
            if (!changed)
                return fail(changed.error());
            moved += static_cast<int>(*changed);
        }
    }
    if (pace->pulledUntil <= nowMs)
        pace->pulledMilliPerHour = 0;
    pace->pulledMilliPerHour += moved * 1'000LL * core::hourMs / std::max(spreadMs, core::minuteMs);
    if (moved > 0)
        pace->pulledUntil = std::max(pace->pulledUntil, nowMs + spreadMs + graceMs);
    const Result<> saved = save(db, *pace);
    return saved ? Result<int>(moved) : fail(saved.error());
}

Result<qint64> countActive(QSqlDatabase &db)
{
    Statement select(db, u"SELECT COUNT(*) FROM subscriptions WHERE active = 1"_s);
    if (Result<> read = select.run(); !read)
        return fail(read.error());
    select.next();
    return select.integer(0);
}

} // namespace

QCoro::Task<Result<int>> PaceStore::take(core::Pace pace, int wanted, qint64 nowMs)
{
    return m_database.transaction(
        [pace, wanted, nowMs](QSqlDatabase &db) { return taken(db, pace, wanted, nowMs); });
}

QCoro::Task<Result<>> PaceStore::giveBack(core::Pace pace, int unused)
{
    return m_database.transaction([pace, unused](QSqlDatabase &db) { return givenBack(db, pace, unused); });
}

QCoro::Task<Result<qint64>> PaceStore::activeSubscriptions()
{
    return m_database.run([](QSqlDatabase &db) { return countActive(db); });
}

QCoro::Task<Result<int>> PaceStore::pullForward(QList<AccountRow> rows, qint64 spreadMs, qint64 nowMs)
{
    return m_database.transaction(
        [rows, spreadMs, nowMs](QSqlDatabase &db) { return movedForward(db, rows, spreadMs, nowMs); });
}

} // namespace tidekeeper::store
