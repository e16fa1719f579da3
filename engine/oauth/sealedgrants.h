// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/grantsource.h"
#include "oauth/sealing.h"
#include "store/accountstore.h"
#include "store/grantstore.h"

#include <tidekeeper/services.h>

namespace tidekeeper::oauth {

/// Refresh tokens from the database, opened and sealed here.
class SealedGrants final : public GrantSource {
public:
    SealedGrants(store::AccountStore &accounts, store::GrantStore &grants,
                 std::shared_ptr<const Sealing> sealing, const Clock &clock)
        : m_accounts(accounts), m_grants(grants), m_sealing(std::move(sealing)), m_clock(clock)
    { }

    QCoro::Task<Result<QString>> refreshToken(QString accountId) override;
    QCoro::Task<Result<>> rotate(QString accountId, QString from, QString to) override;

private:
    store::AccountStore &m_accounts;
    store::GrantStore &m_grants;
    std::shared_ptr<const Sealing> m_sealing;
    const Clock &m_clock;
};

} // namespace tidekeeper::oauth
