// SPDX-License-Identifier: Apache-2.0
#include "store/grantstore.h"

#include "core/account.h"
#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

using core::AccountState;

namespace {

Result<> run(QSqlDatabase &db, const QString &sql, const QVariantList &values)
{
    const Result<qint64> changed = change(db, sql, values);
    return changed ? Result<>() : fail(changed.error());
}

tl::unexpected<Error> newerTokenKept()
{
    return fail(u"conflict"_s, u"Another refresh token was stored meanwhile and was kept."_s);
}

// The account's generation moves too, so that whoever read it with the old token sees a conflict.
Result<> rotated(QSqlDatabase &db, const QString &account, const QString &from, const GrantChange &to,
                 qint64 nowMs)
{
    const Result<qint64> marked =
        change(db,
               u"UPDATE accounts SET updated_at = ?, generation = generation + 1 WHERE id = ? AND EXISTS"
               " (SELECT 1 FROM grants WHERE account = accounts.id AND fingerprint = ? AND retired_at = 0)"_s,
               {nowMs, account, from});
    if (!marked)
        return fail(marked.error());
    if (*marked == 0)
        return newerTokenKept();
    // Asked again: one that waited above for another's rotation was let through by the grant of before.
    const Result<qint64> stored = change(
        db,
        u"UPDATE grants SET key_id = ?, sealed = ?, fingerprint = ? WHERE account = ? AND fingerprint = ?"
        " AND retired_at = 0"_s,
        {to.keyId, QString::fromLatin1(to.sealedRefreshToken.toBase64()), to.fingerprint, account, from});
    if (!stored)
        return fail(stored.error());
    return *stored > 0 ? Result<>() : Result<>(newerTokenKept());
}

/// What hints need to know of it after the grant itself is gone: see GrantDeathStore.
Result<> deathNoted(QSqlDatabase &db, const QString &account, qint64 nowMs)
{
    return run(db,
               u"INSERT INTO grant_deaths (account, project, client, issued_at, last_success_at, died_at)"
               " SELECT a.id, a.project, a.client, g.issued_at, COALESCE((SELECT MAX(s.last_success_at)"
               " FROM subscriptions s WHERE s.account = a.id), 0), CAST(? AS BIGINT)"
               " FROM accounts a JOIN grants g ON g.account = a.id WHERE a.id = ? AND g.retired_at = 0"
               " ON CONFLICT (account) DO UPDATE SET project = excluded.project, client = excluded.client,"
               " issued_at = excluded.issued_at, last_success_at = excluded.last_success_at,"
               " died_at = excluded.died_at"_s,
               {nowMs, account});
}

Result<> retired(QSqlDatabase &db, const QString &account, const QString &reason, qint64 generation,
                 qint64 nowMs)
{
    const Result<qint64> marked =
        change(db,
               u"UPDATE accounts SET state = ?, state_reason = ?, updated_at = ?, generation = generation + 1"
               " WHERE id = ? AND generation = ?"_s,
               {core::toString(AccountState::NeedsReauth), reason, nowMs, account, generation});
    if (!marked)
        return fail(marked.error());
    if (*marked == 0)
        return fail(u"conflict"_s, u"The account was changed or removed since it was read."_s);
    if (Result<> done = run(db, u"UPDATE subscriptions SET active = 0 WHERE account = ?"_s, {account}); !done)
        return done;
    if (Result<> done = deathNoted(db, account, nowMs); !done)
        return done;
    return run(db, u"UPDATE grants SET retired_at = ? WHERE account = ? AND retired_at = 0"_s,
               {nowMs, account});
}

Result<> restored(QSqlDatabase &db, const QString &account, qint64 nowMs)
{
    // The account first: everybody who writes takes the locks in this order.
    const Result<qint64> marked = change(
        db,
        u"UPDATE accounts SET state = ?, state_reason = '', updated_at = ?, generation = generation + 1"
        " WHERE id = ? AND state = ?"
        " AND EXISTS (SELECT 1 FROM grants WHERE account = accounts.id AND retired_at > 0)"_s,
        {core::toString(AccountState::Active), nowMs, account, core::toString(AccountState::NeedsReauth)});
    if (!marked)
        return fail(marked.error());
    if (*marked == 0)
        return fail(u"not_found"_s, u"The account has no retired refresh token that could be restored."_s);
    if (Result<> done = run(db, u"UPDATE grants SET retired_at = 0 WHERE account = ?"_s, {account}); !done)
        return done;
    if (Result<> done = run(db, u"DELETE FROM grant_deaths WHERE account = ?"_s, {account}); !done)
        return done;
    return run(
        db,
        u"UPDATE subscriptions SET active = 1, next_attempt_at = 0, next_target_at = ?,"
        " due_at = CASE WHEN expires_at > 0 THEN CAST(? AS BIGINT) ELSE 0 END, generation = generation + 1 WHERE account = ?"_s,
        {nowMs, nowMs, account});
}

} // namespace

GrantStore::GrantStore(Database &database) : m_database(database) { }

QCoro::Task<Result<>> GrantStore::rotate(QString account, QString fromFingerprint, GrantChange to,
                                         qint64 nowMs)
{
    return m_database.transaction([account, fromFingerprint, to, nowMs](QSqlDatabase &db) {
        return rotated(db, account, fromFingerprint, to, nowMs);
    });
}

QCoro::Task<Result<>> GrantStore::retire(QString account, QString reason, qint64 generation, qint64 nowMs)
{
    return m_database.transaction([account, reason, generation, nowMs](QSqlDatabase &db) {
        return retired(db, account, reason, generation, nowMs);
    });
}

QCoro::Task<Result<>> GrantStore::restore(QString account, qint64 nowMs)
{
    return m_database.transaction(
        [account, nowMs](QSqlDatabase &db) { return restored(db, account, nowMs); });
}

QCoro::Task<Result<qint64>> GrantStore::shred(qint64 retiredUpToMs)
{
    return m_database.run([retiredUpToMs](QSqlDatabase &db) {
        return change(db, u"DELETE FROM grants WHERE retired_at > 0 AND retired_at <= ?"_s, {retiredUpToMs});
    });
}

} // namespace tidekeeper::store
