// SPDX-License-Identifier: Apache-2.0
#include "store/accountstore.h"

#include "core/planner.h"
#include "store/accountwriter.h"
#include "store/dialect.h"

#include <algorithm>
#include <numeric>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

// Found and sorted in the index alone, also when a million are due; only the ones taken are read and joined.
constexpr auto dueSql =
    "SELECT s.id, s.account, a.email, a.project, a.client, s.expires_at, s.last_success_at"
    " FROM (SELECT id FROM subscriptions WHERE active = 1 AND due_at <= ? ORDER BY expires_at, id LIMIT ?) d"
    " JOIN subscriptions s ON s.id = d.id JOIN accounts a ON a.id = s.account ORDER BY s.expires_at, s.id"_L1;

tl::unexpected<Error> conflict(const QString &what)
{
    return fail(u"conflict"_s, what + u" was changed since it was read. Read it again and decide anew."_s);
}

Result<QList<DueRow>> dueRows(QSqlDatabase &db, qint64 nowMs, int limit)
{
    Statement select(db, dueSql);
    if (Result<> read = select.run({nowMs, limit}); !read)
        return fail(read.error());
    QList<DueRow> rows;
    while (select.next()) {
        rows.append({select.text(0), select.text(1), select.text(2), select.text(3), select.text(4),
                     select.integer(5), select.integer(6)});
    }
    return rows;
}

Result<core::Subscription> subscriptionById(QSqlDatabase &db, const QString &id)
{
    Statement select(db, selectSubscriptions + u" WHERE s.id = ?"_s);
    if (Result<> read = select.run({id}); !read)
        return fail(read.error());
    if (!select.next())
        return fail(u"not_found"_s, u"There is no subscription with this id."_s);
    return subscriptionOf(select);
}

Result<core::Subscription> saveSubscription(QSqlDatabase &db, core::Subscription subscription)
{
    // The account first: everybody who writes takes the locks in this order.
    Statement lock(db, u"SELECT a.id FROM accounts a WHERE a.id = ?"_s + lockOf(db));
    if (Result<> locked = lock.run({subscription.account}); !locked)
        return fail(locked.error());
    Statement update(db, updateSubscriptionSql);
    const Result<qint64> saved = updateSubscription(update, subscription);
    if (!saved)
        return fail(saved.error());
    if (*saved == 0) {
        const Result<core::Subscription> stored = subscriptionById(db, subscription.id);
        return stored ? Result<core::Subscription>(conflict(u"The subscription"_s)) : stored;
    }
    const Result<qint64> noted =
        change(db,
               u"UPDATE accounts SET nearest_expires_at ="
               " (SELECT MIN(expires_at) FROM subscriptions WHERE account = ?) WHERE id = ?"_s,
               {subscription.account, subscription.account});
    if (!noted)
        return fail(noted.error());
    subscription.expiresAt = std::max<qint64>(0, subscription.expiresAt);
    subscription.dueAt =
        core::dueAt(subscription.expiresAt, subscription.nextTargetAt, subscription.nextAttemptAt);
    ++subscription.generation;
    return subscription;
}

// Why no row of an account was changed.
Result<> unchangedBecause(QSqlDatabase &db, const QString &id, tl::unexpected<Error> otherwise)
{
    Statement select(db, u"SELECT id FROM accounts WHERE id = ?"_s);
    if (Result<> read = select.run({id}); !read)
        return read;
    return select.next() ? Result<>(std::move(otherwise)) : Result<>(noSuchAccount());
}

Result<> saveState(QSqlDatabase &db, const core::Account &wanted, qint64 nowMs)
{
    const Result<qint64> saved =
        change(db,
               u"UPDATE accounts SET state = ?, state_reason = ?, updated_at = ?,"
               " generation = generation + 1 WHERE id = ? AND generation = ?"_s,
               {core::toString(wanted.state), wanted.stateReason, nowMs, wanted.id, wanted.generation});
    if (!saved)
        return fail(saved.error());
    if (*saved == 0)
        return unchangedBecause(db, wanted.id, conflict(u"The account"_s));
    const int active = wanted.state == core::AccountState::Active ? 1 : 0;
    const Result<qint64> followed =
        change(db, u"UPDATE subscriptions SET active = ? WHERE account = ?"_s, {active, wanted.id});
    return followed ? Result<>() : fail(followed.error());
}

Result<QList<Result<PutResult>>> putRows(QSqlDatabase &db,
                                         const QList<std::pair<QString, AccountChange>> &rows, qint64 nowMs)
{
    // In the order of ids, so that imports of the same accounts side by side wait for each other, not in a circle;
    // rows with the same id in the order given.
    QList<qsizetype> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](qsizetype a, qsizetype b) { return rows[a].first < rows[b].first; });
    AccountWriter writer(db);
    QList<Result<PutResult>> results(rows.size());
    for (const qsizetype i : order) {
        results[i] = writer.put(rows[i].first, rows[i].second, nowMs);
        if (!results[i] && results[i].error().code != "invalid_request"_L1)
            return fail(results[i].error());
    }
    return results;
}

Result<int> patchRows(QSqlDatabase &db, const QStringList &ids, const AccountChange &change, qint64 nowMs)
{
    AccountWriter writer(db);
    int patched = 0;
    for (const QString &id : ids) {
        const Result<AccountRow> row = writer.patch(id, change, nowMs);
        if (row)
            ++patched;
        else if (row.error().code != "not_found"_L1 && row.error().code != "conflict"_L1)
            return fail(row.error());
    }
    return patched;
}

// Inside a savepoint that is given up, so that rows of one import see each other as they would.
Result<QList<Result<PutResult>>> triedRows(QSqlDatabase &db,
                                           const QList<std::pair<QString, AccountChange>> &rows, qint64 nowMs)
{
    if (Result<qint64> begun = change(db, u"SAVEPOINT dry_run"_s); !begun)
        return fail(begun.error());
    Result<QList<Result<PutResult>>> results = putRows(db, rows, nowMs);
    if (!results)
        return results;
    if (Result<qint64> undone = change(db, u"ROLLBACK TO SAVEPOINT dry_run"_s); !undone)
        return fail(undone.error());
    return results;
}

Result<> purgeLeaving(QSqlDatabase &db, const QString &id)
{
    const Result<qint64> removed = change(db, u"DELETE FROM accounts WHERE id = ? AND state = ?"_s,
                                          {id, core::toString(core::AccountState::Leaving)});
    if (!removed)
        return fail(removed.error());
    if (*removed > 0)
        return {};
    return unchangedBecause(db, id,
                            fail(u"conflict"_s, u"The account is not leaving (any more) and was kept."_s));
}

Result<GrantChange> grantInUse(QSqlDatabase &db, const QString &account)
{
    Statement select(
        db, u"SELECT sealed, key_id, fingerprint FROM grants WHERE account = ? AND retired_at = 0"_s);
    if (Result<> read = select.run({account}); !read)
        return fail(read.error());
    if (!select.next())
        return fail(u"not_found"_s, u"The account has no refresh token in use."_s);
    GrantChange grant;
    grant.kind = GrantChange::Kind::Set;
    grant.sealedRefreshToken = QByteArray::fromBase64(select.text(0).toLatin1());
    grant.keyId = select.text(1);
    grant.fingerprint = select.text(2);
    return grant;
}

} // namespace

AccountStore::AccountStore(Database &database) : m_database(database) { }

QCoro::Task<Result<AccountRow>> AccountStore::find(QString id)
{
    return m_database.run([id](QSqlDatabase &db) -> Result<AccountRow> {
        const Result<std::optional<AccountRow>> row = AccountWriter(db).load(id);
        if (!row)
            return fail(row.error());
        return *row ? Result<AccountRow>(**row) : Result<AccountRow>(noSuchAccount());
    });
}

QCoro::Task<Result<PutResult>> AccountStore::put(QString id, AccountChange change, qint64 nowMs)
{
    return m_database.transaction(
        [id, change, nowMs](QSqlDatabase &db) { return AccountWriter(db).put(id, change, nowMs); });
}

QCoro::Task<Result<AccountRow>> AccountStore::patch(QString id, AccountChange change, qint64 nowMs)
{
    return m_database.transaction(
        [id, change, nowMs](QSqlDatabase &db) { return AccountWriter(db).patch(id, change, nowMs); });
}

QCoro::Task<Result<QList<Result<PutResult>>>>
AccountStore::putAll(QList<std::pair<QString, AccountChange>> rows, qint64 nowMs, bool dryRun)
{
    return m_database.transaction([rows, nowMs, dryRun](QSqlDatabase &db) {
        return dryRun ? triedRows(db, rows, nowMs) : putRows(db, rows, nowMs);
    });
}

QCoro::Task<Result<int>> AccountStore::patchAll(QStringList ids, AccountChange change, qint64 nowMs)
{
    return m_database.transaction(
        [ids, change, nowMs](QSqlDatabase &db) { return patchRows(db, ids, change, nowMs); });
}

QCoro::Task<Result<>> AccountStore::purge(QString id)
{
    return m_database.transaction([id](QSqlDatabase &db) { return purgeLeaving(db, id); });
}

QCoro::Task<Result<QList<DueRow>>> AccountStore::due(qint64 nowMs, int limit)
{
    return m_database.run([nowMs, limit](QSqlDatabase &db) { return dueRows(db, nowMs, limit); });
}

QCoro::Task<Result<core::Subscription>> AccountStore::subscription(QString id)
{
    return m_database.run([id](QSqlDatabase &db) { return subscriptionById(db, id); });
}

QCoro::Task<Result<core::Subscription>> AccountStore::compareAndSet(core::Subscription subscription)
{
    return m_database.transaction(
        [subscription](QSqlDatabase &db) { return saveSubscription(db, subscription); });
}

QCoro::Task<Result<>> AccountStore::setState(QString id, core::AccountState state, QString reason,
                                             qint64 generation, qint64 nowMs)
{
    core::Account wanted;
    wanted.id = id;
    wanted.state = state;
    wanted.stateReason = reason;
    wanted.generation = generation;
    return m_database.transaction([wanted, nowMs](QSqlDatabase &db) { return saveState(db, wanted, nowMs); });
}

QCoro::Task<Result<GrantChange>> AccountStore::sealedGrant(QString id)
{
    return m_database.run([id](QSqlDatabase &db) { return grantInUse(db, id); });
}

} // namespace tidekeeper::store
