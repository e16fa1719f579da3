// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "renewal/renewalengine.h"

namespace tidekeeper::http {

/// Renew one account or all that match, and why one is due or not. Main thread.
///   POST /api/v1/accounts/{id}/renew → 202 {"account", "job", "result"}
///   POST /api/v1/accounts/renew      {"filter": {as the query of GET /accounts}, "dry_run"} → 202 {"matched",
///                                    "enqueued"}, or 200 {"matched"} for a dry run; the filter may stand in the query
///   GET  /api/v1/accounts/{id}/explain
class RenewalController {
public:
    /// windowMs: what a band in the filter is measured against.
    RenewalController(Router &router, renewal::RenewalEngine &engine, store::AccountStore &accounts,
                      const Clock &clock, qint64 windowMs);

private:
    QCoro::Task<Response> renewOne(Request request);
    QCoro::Task<Response> renewMatching(Request request);
    QCoro::Task<Response> explain(Request request);

    renewal::RenewalEngine &m_engine;
    store::AccountStore &m_accounts;
    const Clock &m_clock;
    qint64 m_windowMs;
};

} // namespace tidekeeper::http
