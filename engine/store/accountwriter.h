// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/accountrows.h"
#include "store/accountstore.h"

#include <optional>

namespace tidekeeper::store {

/// Reads, changes and writes accounts with statements that are prepared once: what a PUT uses for one and an import
/// for thousands. Inside a transaction, on the database thread.
class AccountWriter {
public:
    explicit AccountWriter(QSqlDatabase &db);

    /// The account, locked for this transaction, with its subscriptions; nothing when there is none.
    Result<std::optional<AccountRow>> load(const QString &id);
    Result<PutResult> put(const QString &id, const AccountChange &change, qint64 nowMs);
    Result<AccountRow> patch(const QString &id, const AccountChange &change, qint64 nowMs);

private:
    Result<PutResult> putOnto(const QString &id, const AccountChange &change, qint64 nowMs);
    Result<> insert(AccountRow &row);
    Result<> update(const Changed &changed, AccountRow &row);
    Result<> saveGrant(const AccountRow &row, const GrantChange &grant, qint64 nowMs);
    Result<> save(Changed &changed, bool isNew, const GrantChange &grant, qint64 nowMs);

    Statement m_selectAccount;
    Statement m_selectSubscriptions;
    Statement m_insertAccount;
    Statement m_updateAccount;
    Statement m_insertSubscription;
    Statement m_updateSubscription;
    Statement m_activate;
    Statement m_saveGrant;
    Statement m_removeGrant;
};

tl::unexpected<Error> noSuchAccount();

} // namespace tidekeeper::store
