// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pushproof.h"
#include "http/accountrequest.h"
#include "http/router.h"

#include <tidekeeper/services.h>

namespace tidekeeper::http {

struct AccountsOptions {
    KnownProjects projects;
    qint64 windowMs = 0; ///< the renewal window that bands are measured against
    core::PushLimits pushLimits = {}; ///< what silence is measured against
};

/// /api/v1/accounts: read, list, create, change and import. Main thread.
class AccountsController {
public:
    /// changed is called after every write that may make a subscription due or an account leave.
    AccountsController(Router &router, store::AccountStore &accounts, const oauth::Sealing &sealing,
                       const Clock &clock, AccountsOptions options, std::function<void()> changed);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> get(Request request);
    QCoro::Task<Response> put(Request request);
    QCoro::Task<Response> patch(Request request);
    QCoro::Task<Response> importLines(Request request);

    Response shown(const store::AccountRow &row, int status) const;

    store::AccountStore &m_accounts;
    AccountRequestReader m_reader;
    const Clock &m_clock;
    qint64 m_windowMs;
    core::PushLimits m_pushLimits;
    std::function<void()> m_changed;
};

} // namespace tidekeeper::http
