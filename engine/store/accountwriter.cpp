// SPDX-License-Identifier: Apache-2.0
#include "store/accountwriter.h"

#include "core/planner.h"
#include "store/dialect.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

const QString createdMeanwhile = u"created_meanwhile"_s; // never leaves this file

constexpr auto insertAccountSql =
    "INSERT INTO accounts (email, project, client, language, state, state_reason, grant_kind, grant_data,"
    " nearest_expires_at, updated_at, id, created_at, generation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, 0)"
    " ON CONFLICT (id) DO NOTHING"_L1;

constexpr auto updateAccountSql =
    "UPDATE accounts SET email = ?, project = ?, client = ?, language = ?, state = ?, state_reason = ?,"
    " grant_kind = ?, grant_data = ?, nearest_expires_at = ?, updated_at = ?, generation = generation + ?"
    " WHERE id = ?"_L1;

constexpr auto saveGrantSql =
    "INSERT INTO grants (account, key_id, sealed, fingerprint, client, issued_at, retired_at)"
    " VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (account) DO UPDATE SET key_id = excluded.key_id,"
    " sealed = excluded.sealed, fingerprint = excluded.fingerprint, client = excluded.client,"
    " issued_at = excluded.issued_at, retired_at = 0"_L1;

bool isActive(const core::Account &account)
{
    return account.state == core::AccountState::Active;
}

qint64 nearestExpiry(const QList<core::Subscription> &subscriptions)
{
    qint64 nearest = 0;
    for (qsizetype i = 0; i < subscriptions.size(); ++i)
        nearest = i == 0 ? subscriptions[i].expiresAt : std::min(nearest, subscriptions[i].expiresAt);
    return nearest;
}

// What both account statements begin with.
QVariantList stateOf(const AccountRow &row)
{
    const core::Account &a = row.account;
    return {a.email,
            a.project,
            a.client,
            a.language,
            core::toString(a.state),
            a.stateReason,
            core::toString(a.grantKind),
            compactJson(a.grant),
            nearestExpiry(row.subscriptions),
            a.updatedAt};
}

} // namespace

AccountWriter::AccountWriter(QSqlDatabase &db)
    : m_selectAccount(db,
                      u"SELECT "_s + accountColumns + u" FROM accounts a"_s + accountJoins
                          + u" WHERE a.id = ?"_s + lockOf(db)),
      m_selectSubscriptions(db, selectSubscriptions + u" WHERE s.account = ? ORDER BY s.id"_s),
      m_insertAccount(db, insertAccountSql), m_updateAccount(db, updateAccountSql),
      m_insertSubscription(db, insertSubscriptionSql), m_updateSubscription(db, updateSubscriptionSql),
      m_activate(db, u"UPDATE subscriptions SET active = ? WHERE account = ?"_s),
      m_saveGrant(db, saveGrantSql), m_removeGrant(db, u"DELETE FROM grants WHERE account = ?"_s)
{ }

Result<std::optional<AccountRow>> AccountWriter::load(const QString &id)
{
    if (Result<> read = m_selectAccount.run({id}); !read)
        return fail(read.error());
    if (!m_selectAccount.next())
        return std::nullopt;
    AccountRow row = accountRow(m_selectAccount);
    if (Result<> read = m_selectSubscriptions.run({id}); !read)
        return fail(read.error());
    while (m_selectSubscriptions.next())
        row.subscriptions.append(subscriptionOf(m_selectSubscriptions));
    return row;
}

Result<PutResult> AccountWriter::put(const QString &id, const AccountChange &change, qint64 nowMs)
{
    Result<std::optional<AccountRow>> before = load(id);
    if (!before)
        return fail(before.error());
    const bool isNew = !before->has_value();
    if (isNew && !change.email) {
        return fail(u"invalid_request"_s, u"\"email\" is missing: a new account needs its mailbox address."_s,
                    {{u"field"_s, u"email"_s}});
    }
    Result<Changed> changed = isNew ? created(id, change, nowMs) : store::put(**before, change, nowMs);
    if (!changed)
        return fail(changed.error());
    if (Result<> saved = save(*changed, isNew, change.grant, nowMs); !saved)
        return saved.error().code == createdMeanwhile ? putOnto(id, change, nowMs) : fail(saved.error());
    return PutResult{isNew, changed->account || changed->subscriptions || changed->grant, changed->row};
}

// Another engine created the account between our look and our insert, and has committed it: theirs came first.
Result<PutResult> AccountWriter::putOnto(const QString &id, const AccountChange &change, qint64 nowMs)
{
    const Result<std::optional<AccountRow>> before = load(id);
    if (!before)
        return fail(before.error());
    if (!before->has_value())
        return fail(u"conflict"_s, u"The account was created and removed at the same moment. Try again."_s);
    Result<Changed> changed = store::put(**before, change, nowMs);
    if (!changed)
        return fail(changed.error());
    if (Result<> saved = save(*changed, false, change.grant, nowMs); !saved)
        return fail(saved.error());
    return PutResult{false, changed->account || changed->subscriptions || changed->grant, changed->row};
}

Result<AccountRow> AccountWriter::patch(const QString &id, const AccountChange &change, qint64 nowMs)
{
    Result<std::optional<AccountRow>> before = load(id);
    if (!before)
        return fail(before.error());
    if (!before->has_value())
        return noSuchAccount();
    Result<Changed> changed = patched(**before, change, nowMs);
    if (!changed)
        return fail(changed.error());
    if (Result<> saved = save(*changed, false, change.grant, nowMs); !saved)
        return fail(saved.error());
    return changed->row;
}

Result<> AccountWriter::save(Changed &changed, bool isNew, const GrantChange &grant, qint64 nowMs)
{
    AccountRow &row = changed.row;
    for (core::Subscription &s : row.subscriptions)
        s.dueAt = core::dueAt(s.expiresAt, s.nextTargetAt, s.nextAttemptAt);
    if (isNew) {
        if (Result<> inserted = insert(row); !inserted)
            return inserted;
    } else if (changed.account || changed.subscriptions) {
        if (Result<> updated = update(changed, row); !updated)
            return updated;
    }
    return changed.grant ? saveGrant(row, grant, nowMs) : Result<>();
}

Result<> AccountWriter::insert(AccountRow &row)
{
    const core::Account &account = row.account;
    const Result<qint64> inserted =
        m_insertAccount.change(stateOf(row) + QVariantList{account.id, account.createdAt});
    if (!inserted)
        return fail(inserted.error());
    if (*inserted == 0)
        return fail(createdMeanwhile, {});
    for (const core::Subscription &subscription : row.subscriptions) {
        if (Result<> done = insertSubscription(m_insertSubscription, subscription, isActive(account)); !done)
            return done;
    }
    return {};
}

Result<> AccountWriter::update(const Changed &changed, AccountRow &row)
{
    const int step = changed.account ? 1 : 0;
    if (Result<> saved = m_updateAccount.run(stateOf(row) + QVariantList{step, row.account.id}); !saved)
        return saved;
    row.account.generation += step;
    if (changed.subscriptions) {
        for (core::Subscription &subscription : row.subscriptions) {
            const Result<qint64> saved = updateSubscription(m_updateSubscription, subscription);
            if (!saved)
                return fail(saved.error());
            if (*saved == 0)
                return fail(u"conflict"_s, u"The account was changed at the same moment. Try again."_s);
            ++subscription.generation;
        }
    }
    return changed.account ? m_activate.run({isActive(row.account) ? 1 : 0, row.account.id}) : Result<>();
}

Result<> AccountWriter::saveGrant(const AccountRow &row, const GrantChange &grant, qint64 nowMs)
{
    const core::Account &account = row.account;
    if (!account.hasRefreshToken)
        return m_removeGrant.run({account.id});
    return m_saveGrant.run({account.id, grant.keyId, QString::fromLatin1(grant.sealedRefreshToken.toBase64()),
                            grant.fingerprint, account.client, nowMs});
}

tl::unexpected<Error> noSuchAccount()
{
    return fail(u"not_found"_s, u"There is no account with this id."_s);
}

} // namespace tidekeeper::store
