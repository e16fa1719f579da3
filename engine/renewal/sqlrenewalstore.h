// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "renewal/renewalstore.h"
#include "store/grantstore.h"

namespace tidekeeper::renewal {

/// RenewalStore on the accounts' database.
class SqlRenewalStore final : public RenewalStore {
public:
    SqlRenewalStore(store::AccountStore &accounts, store::GrantStore &grants, store::PaceStore &pace)
        : m_accounts(accounts), m_grants(grants), m_pace(pace)
    { }

    QCoro::Task<Result<QList<store::DueRow>>> due(qint64 nowMs, int limit) override;
    QCoro::Task<Result<int>> takePaced(core::Pace pace, int wanted, qint64 nowMs) override;
    QCoro::Task<Result<>> returnPaced(core::Pace pace, int unused) override;
    QCoro::Task<Result<qint64>> activeSubscriptions() override;
    QCoro::Task<Result<int>> pullForward(QList<store::AccountRow> rows, qint64 spreadMs,
                                         qint64 nowMs) override;
    QCoro::Task<Result<QList<store::AccountRow>>> leaving(qint64 nowMs, int limit) override;
    QCoro::Task<Result<store::AccountRow>> find(QString account) override;
    QCoro::Task<Result<bool>> mailboxIsShared(core::Account account, qint64 nowMs) override;
    QCoro::Task<Result<core::Subscription>> save(core::Subscription subscription) override;
    QCoro::Task<Result<>> setState(core::Account account, core::AccountState state, QString reason,
                                   qint64 nowMs) override;
    QCoro::Task<Result<>> retire(core::Account account, QString reason, qint64 nowMs) override;
    QCoro::Task<Result<>> purge(QString account) override;

private:
    store::AccountStore &m_accounts;
    store::GrantStore &m_grants;
    store::PaceStore &m_pace;
};

} // namespace tidekeeper::renewal
