// SPDX-License-Identifier: Apache-2.0
#include "store/coveragestore.h"

#include "core/account.h"
#include "store/statement.h"

#include <algorithm>
#include <map>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

constexpr qint64 hourMs = 3'600'000;

/// Up to where the newest counted hour is counted; all 0 before the first sample.
struct Mark {
    qint64 hour = 0;
    qint64 sampledTo = 0;
};

Result<Mark> newestMark(QSqlDatabase &db)
{
    Statement select(
        db, u"SELECT hour, sampled_to FROM coverage WHERE sampled_to > 0 ORDER BY hour DESC LIMIT 1"_s);
    if (Result<> read = select.run(); !read)
        return fail(read.error());
    return select.next() ? Mark{select.integer(0), select.integer(1)} : Mark{};
}

Result<> add(QSqlDatabase &db, const CoverageHour &more, qint64 sampledTo)
{
    const Result<qint64> added =
        change(db,
               u"INSERT INTO coverage (hour, active_ms, lapsed_ms, sampled_to) VALUES (?, ?, ?, ?)"
               " ON CONFLICT (hour) DO UPDATE SET active_ms = coverage.active_ms + excluded.active_ms,"
               " lapsed_ms = coverage.lapsed_ms + excluded.lapsed_ms,"
               " sampled_to = CASE WHEN excluded.sampled_to > coverage.sampled_to THEN excluded.sampled_to"
               " ELSE coverage.sampled_to END"_s,
               {more.hour, more.activeMs, more.lapsedMs, sampledTo});
    return added ? Result<>() : fail(added.error());
}

Result<qint64> activeAccounts(QSqlDatabase &db)
{
    Statement select(db, u"SELECT COUNT(*) FROM accounts WHERE state = ?"_s);
    if (Result<> read = select.run({core::toString(core::AccountState::Active)}); !read)
        return fail(read.error());
    select.next();
    return select.integer(0);
}

/// Accounts whose time without a watch began in the same hour.
struct Lapsed {
    qint64 accounts = 0;
    qint64 sumOfStarts = 0; ///< epoch ms less the instant from which on is counted: stays small
};

/// Who has no watch now, by the hour in which that began, at the earliest at fromMs.
Result<std::map<qint64, Lapsed>> lapsedSince(QSqlDatabase &db, qint64 fromMs, qint64 nowMs)
{
    const QString active = core::toString(core::AccountState::Active);
    const QString begins = u"SELECT %1 AS begins FROM accounts WHERE state = ? AND %2"_s;
    const QString all =
        begins.arg(u"nearest_expires_at"_s, u"nearest_expires_at > 0 AND nearest_expires_at < ?"_s)
        + u" UNION ALL "_s
        + begins.arg(
            u"updated_at + %1"_s.arg(CoverageStore::firstWatchGraceMs),
            u"nearest_expires_at <= 0 AND updated_at + %1 < ?"_s.arg(CoverageStore::firstWatchGraceMs));
    const QString later =
        u"SELECT CASE WHEN begins > ? THEN begins ELSE ? END AS begins FROM (%1) l"_s.arg(all);
    Statement select(
        db,
        u"SELECT begins / %1, COUNT(*), CAST(SUM(begins - ?) AS BIGINT) FROM (%2) b GROUP BY 1"_s.arg(hourMs)
            .arg(later));
    if (Result<> read = select.run({fromMs, fromMs, fromMs, active, nowMs, active, nowMs}); !read)
        return fail(read.error());
    std::map<qint64, Lapsed> lapsed;
    while (select.next())
        lapsed[select.integer(0)] = {select.integer(1), select.integer(2)};
    return lapsed;
}

Result<> addSince(QSqlDatabase &db, qint64 fromMs, qint64 nowMs)
{
    const Result<qint64> active = activeAccounts(db);
    if (!active)
        return fail(active.error());
    Result<std::map<qint64, Lapsed>> lapsed = lapsedSince(db, fromMs, nowMs);
    if (!lapsed)
        return fail(lapsed.error());
    qint64 lapsedBefore = 0; // accounts, in the hours before this one
    for (qint64 begin = fromMs; begin < nowMs;) {
        const qint64 hour = begin / hourMs;
        const qint64 end = std::min((hour + 1) * hourMs, nowMs);
        const Lapsed fresh = (*lapsed)[hour];
        const qint64 freshMs = fresh.accounts * (end - fromMs) - fresh.sumOfStarts;
        const CoverageHour more{hour, *active * (end - begin), lapsedBefore * (end - begin) + freshMs};
        if (Result<> added = add(db, more, end); !added)
            return added;
        lapsedBefore += fresh.accounts;
        begin = end;
    }
    return {};
}

Result<> sampled(QSqlDatabase &db, qint64 nowMs)
{
    const Result<Mark> mark = newestMark(db);
    if (!mark)
        return fail(mark.error());
    if (mark->sampledTo == 0)
        return add(db, {nowMs / hourMs}, nowMs);
    if (nowMs - mark->sampledTo < CoverageStore::leastSampleMs)
        return {};
    // Whoever moves the mark has the time behind it to itself.
    const Result<qint64> moved =
        change(db, u"UPDATE coverage SET sampled_to = ? WHERE hour = ? AND sampled_to = ?"_s,
               {std::min((mark->hour + 1) * hourMs, nowMs), mark->hour, mark->sampledTo});
    if (!moved)
        return fail(moved.error());
    return *moved == 1 ? addSince(db, mark->sampledTo, nowMs) : Result<>();
}

Result<> gapAdded(QSqlDatabase &db, qint64 fromMs, qint64 toMs)
{
    const Result<Mark> mark = newestMark(db);
    if (!mark)
        return fail(mark.error());
    if (mark->sampledTo == 0)
        return {};
    for (qint64 begin = std::max(fromMs, mark->sampledTo); begin < toMs;) {
        const qint64 hour = begin / hourMs;
        const qint64 end = std::min((hour + 1) * hourMs, toMs);
        if (Result<> added = add(db, {hour, 0, end - begin}, 0); !added)
            return added;
        begin = end;
    }
    return {};
}

Result<QList<CoverageHour>> hoursSince(QSqlDatabase &db, qint64 fromMs)
{
    Statement select(db, u"SELECT hour, active_ms, lapsed_ms FROM coverage WHERE hour >= ? ORDER BY hour"_s);
    if (Result<> read = select.run({fromMs / hourMs}); !read)
        return fail(read.error());
    QList<CoverageHour> hours;
    while (select.next())
        hours.append({select.integer(0), select.integer(1), select.integer(2)});
    return hours;
}

} // namespace

QCoro::Task<Result<>> CoverageStore::sample(qint64 nowMs)
{
    return m_database.transaction([nowMs](QSqlDatabase &db) { return sampled(db, nowMs); });
}

QCoro::Task<Result<>> CoverageStore::addGap(qint64 fromMs, qint64 toMs)
{
    return m_database.transaction([fromMs, toMs](QSqlDatabase &db) { return gapAdded(db, fromMs, toMs); });
}

QCoro::Task<Result<QList<CoverageHour>>> CoverageStore::since(qint64 fromMs)
{
    return m_database.run([fromMs](QSqlDatabase &db) { return hoursSince(db, fromMs); });
}

QCoro::Task<Result<>> CoverageStore::prune(qint64 beforeMs)
{
    return m_database.run([beforeMs](QSqlDatabase &db) -> Result<> {
        const Result<qint64> forgotten =
            change(db, u"DELETE FROM coverage WHERE hour < ?"_s, {beforeMs / hourMs});
        return forgotten ? Result<>() : fail(forgotten.error());
    });
}

} // namespace tidekeeper::store
