// SPDX-License-Identifier: Apache-2.0
#include "store/pushstore.h"

#include "store/accountstore.h"
#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

// Of the settings table: two instants that hold for all engines.
const QString firstPush = u"pushes.since"_s;
const QString pathBroken = u"pushes.path_broken"_s;

Result<bool> setOnce(QSqlDatabase &db, const QString &name, qint64 instant)
{
    const Result<qint64> added = change(db,
                                        u"INSERT INTO settings (name, value, updated_at, updated_by)"
                                        " VALUES (?, ?, ?, 'engine') ON CONFLICT (name) DO NOTHING"_s,
                                        {name, QString::number(instant), instant});
    return added ? Result<bool>(*added > 0) : fail(added.error());
}

Result<qint64> instantOf(QSqlDatabase &db, const QString &name)
{
    Statement select(db, u"SELECT value FROM settings WHERE name = ?"_s);
    if (Result<> read = select.run({name}); !read)
        return fail(read.error());
    return select.next() ? select.text(0).toLongLong() : 0;
}

constexpr int sliceSize = 10'000; // of a million accounts: between two slices others have their turn

struct Known {
    QString account;
    QString historyId;
};

Result<QList<Known>> knownOf(Statement &select, const QString &email)
{
    if (Result<> read = select.run({email}); !read)
        return fail(read.error());
    QList<Known> known;
    while (select.next())
        known.append({select.text(0), select.text(1)});
    return known;
}

Result<QSet<QString>> noteAll(QSqlDatabase &db, const QMap<QString, PushSeen> &byEmail)
{
    Statement select(db,
                     u"SELECT a.id, COALESCE(p.history_id, '') FROM accounts a"
                     " LEFT JOIN pushes p ON p.account = a.id WHERE a.email = ? ORDER BY a.id"_s);
    // A push ends a silence: what was done about it is forgotten.
    Statement upsert(db,
                     u"INSERT INTO pushes (account, last_push_at, history_id, repaired_at, told_at)"
                     " VALUES (?, ?, ?, 0, 0) ON CONFLICT (account) DO UPDATE SET"
                     " last_push_at = excluded.last_push_at, history_id = excluded.history_id,"
                     " repaired_at = 0, told_at = 0 WHERE pushes.last_push_at <= excluded.last_push_at"_s);
    QSet<QString> unknown;
    qint64 earliest = 0;
    for (auto it = byEmail.begin(); it != byEmail.end(); ++it) {
        const Result<QList<Known>> accounts = knownOf(select, it.key());
        if (!accounts)
            return fail(accounts.error());
        if (accounts->isEmpty())
            unknown.insert(it.key());
        for (const Known &known : *accounts) {
            if (core::isStaleHistory(it->historyId, known.historyId))
                continue;
            const QString id = it->historyId.isEmpty() ? known.historyId : it->historyId;
            if (const Result<qint64> noted = upsert.change({known.account, it->at, id}); !noted)
                return fail(noted.error());
            earliest = earliest == 0 ? it->at : std::min(earliest, it->at);
        }
    }
    if (earliest > 0) {
        if (const Result<bool> first = setOnce(db, firstPush, earliest); !first)
            return fail(first.error());
    }
    return unknown;
}

/// core::PushState::Silent, for the database; placeholders: gmail, push ahead, since, renewed before.
const QString silentWatches =
    u" FROM subscriptions s LEFT JOIN pushes p ON p.account = s.account WHERE s.active = 1 AND s.provider = ?"
    " AND COALESCE(p.last_push_at, 0) < s.last_success_at - ? AND s.last_success_at >= ?"
    " AND s.last_success_at < ?"_s;

QVariantList silentValues(qint64 since, const core::PushLimits &limits, qint64 nowMs)
{
    return {gmailProvider, limits.aheadMs, since, nowMs - limits.provenWithinMs};
}

/// What the slices below are counted by.
Result<PushCounts> beginning(QSqlDatabase &db)
{
    PushCounts counts;
    const Result<qint64> since = instantOf(db, firstPush);
    if (!since)
        return fail(since.error());
    Statement last(db, u"SELECT COALESCE(MAX(last_push_at), 0) FROM pushes"_s);
    if (Result<> read = last.run(); !read)
        return fail(read.error());
    last.next();
    counts.provenSince = *since;
    counts.lastPushAt = last.integer(0);
    return counts;
}

struct Slice {
    PushCounts counts; ///< with those before
    QString last; ///< account; empty when there was none left
};

/// The watches of the next accounts after that of `before`, added to its counts.
Result<Slice> nextSlice(QSqlDatabase &db, const Slice &before, const core::PushLimits &limits, qint64 nowMs)
{
    Statement select(
        db,
        u"SELECT COUNT(*), MAX(s.account),"
        " SUM(CASE WHEN s.last_success_at > 0 AND p.last_push_at >= s.last_success_at - ? THEN 1 ELSE 0 END),"
        " SUM(CASE WHEN COALESCE(p.last_push_at, 0) < s.last_success_at - ? AND s.last_success_at >= ?"
        " AND s.last_success_at < ? THEN 1 ELSE 0 END),"
        " MIN(CASE WHEN s.last_success_at > ? THEN s.last_success_at END)"
        " FROM (SELECT account, last_success_at FROM subscriptions WHERE account > ? AND provider = ?"
        " AND active = 1 ORDER BY account LIMIT ?) s LEFT JOIN pushes p ON p.account = s.account"_s);
    PushCounts counts = before.counts;
    const QVariantList values{limits.aheadMs,
                              limits.aheadMs,
                              counts.provenSince,
                              nowMs - limits.provenWithinMs,
                              counts.lastPushAt + limits.aheadMs,
                              before.last,
                              gmailProvider,
                              sliceSize};
    if (Result<> read = select.run(values); !read)
        return fail(read.error());
    select.next();
    const qint64 proven = select.integer(2);
    const qint64 silent = select.integer(3);
    const qint64 unanswered = select.integer(4);
    counts.proven += proven;
    counts.silent += silent;
    counts.unproven += select.integer(0) - proven - silent;
    if (unanswered > 0 && (counts.firstUnansweredAt == 0 || unanswered < counts.firstUnansweredAt))
        counts.firstUnansweredAt = unanswered;
    return Slice{counts, select.text(1)};
}

/// False when another engine was quicker.
Result<bool> mark(QSqlDatabase &db, const SilentWatch &watch, qint64 nowMs)
{
    const bool repairs = watch.step == core::SilenceStep::Repair;
    const QString column = repairs ? u"repaired_at"_s : u"told_at"_s;
    const Result<qint64> marked =
        change(db,
               u"INSERT INTO pushes (account, last_push_at, history_id, repaired_at, told_at)"
               " VALUES (?, 0, '', ?, ?) ON CONFLICT (account) DO UPDATE SET %1 = excluded.%1"
               " WHERE pushes.%1 = 0"_s.arg(column),
               {watch.account, repairs ? nowMs : 0, repairs ? 0 : nowMs});
    return marked ? Result<bool>(*marked > 0) : fail(marked.error());
}

Result<QList<SilentWatch>> silentOnes(QSqlDatabase &db, const core::PushLimits &limits, qint64 nowMs,
                                      int limit)
{
    const Result<qint64> since = instantOf(db, firstPush);
    if (!since || *since == 0)
        return since ? Result<QList<SilentWatch>>(QList<SilentWatch>()) : fail(since.error());
    Statement select(db,
                     u"SELECT s.account, s.id, s.last_success_at, COALESCE(p.repaired_at, 0),"
                     " COALESCE(p.told_at, 0)"_s
                         + silentWatches
                         + u" AND (COALESCE(p.repaired_at, 0) = 0 OR"
                           " (p.told_at = 0 AND s.last_success_at >= p.repaired_at))"
                           " ORDER BY s.last_success_at, s.id LIMIT ?"_s);
    QVariantList values = silentValues(*since, limits, nowMs);
    values.append(limit);
    if (Result<> read = select.run(values); !read)
        return fail(read.error());
    QList<SilentWatch> found;
    while (select.next())
        found.append({select.text(0), select.text(1), select.integer(2),
                      core::silenceStep(select.integer(2), select.integer(3), select.integer(4))});
    return found;
}

Result<QList<SilentWatch>> taken(QSqlDatabase &db, const core::PushLimits &limits, qint64 nowMs, int limit)
{
    const Result<QList<SilentWatch>> found = silentOnes(db, limits, nowMs, limit);
    if (!found)
        return found;
    QList<SilentWatch> ours;
    for (const SilentWatch &watch : *found) {
        const Result<bool> marked = mark(db, watch, nowMs);
        if (!marked)
            return fail(marked.error());
        if (*marked)
            ours.append(watch);
    }
    return ours;
}

} // namespace

QCoro::Task<Result<QSet<QString>>> PushStore::note(QMap<QString, PushSeen> byEmail)
{
    return m_database.transaction([byEmail](QSqlDatabase &db) { return noteAll(db, byEmail); });
}

QCoro::Task<Result<PushCounts>> PushStore::count(core::PushLimits limits, qint64 nowMs)
{
    const Result<PushCounts> begun = co_await m_database.run(beginning);
    if (!begun || begun->provenSince == 0)
        co_return begun;
    Slice slice{*begun, {}};
    do {
        auto read = [slice, limits, nowMs](QSqlDatabase &db) { return nextSlice(db, slice, limits, nowMs); };
        const Result<Slice> next = co_await m_database.run(std::move(read));
        if (!next)
            co_return fail(next.error());
        slice = *next;
    } while (!slice.last.isEmpty());
    co_return slice.counts;
}

QCoro::Task<Result<QList<SilentWatch>>> PushStore::takeSilent(core::PushLimits limits, qint64 nowMs,
                                                              int limit)
{
    return m_database.transaction(
        [limits, nowMs, limit](QSqlDatabase &db) { return taken(db, limits, nowMs, limit); });
}

QCoro::Task<Result<bool>> PushStore::markPath(bool broken, qint64 nowMs)
{
    return m_database.run([broken, nowMs](QSqlDatabase &db) -> Result<bool> {
        if (broken)
            return setOnce(db, pathBroken, nowMs);
        const Result<qint64> deleted = change(db, u"DELETE FROM settings WHERE name = ?"_s, {pathBroken});
        return deleted ? Result<bool>(*deleted > 0) : fail(deleted.error());
    });
}

QCoro::Task<Result<qint64>> PushStore::pathBrokenSince()
{
    return m_database.run([](QSqlDatabase &db) { return instantOf(db, pathBroken); });
}

} // namespace tidekeeper::store
