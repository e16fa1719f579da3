// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/accountselection.h"
#include "http/audit.h"
#include "http/router.h"
#include "renewal/renewalengine.h"

#include <optional>

namespace tidekeeper::http {

/// Renew one account or all that are chosen, and why one is due or not. Renewals that are asked for are audited. Main
/// thread.
///   POST /api/v1/accounts/{id}/renew {"take_over"} → 202 {"account", "job", "result"}
///   POST /api/v1/accounts/renew      a selection → 202 {"matched", "enqueued", "skipped_count", "skipped",
///                                    "next_cursor"}; with "spread_ms" they become due within that time, each at its
///                                    own moment: "scheduled"; a dry run → 200 {"matched", "estimate_ms",
///                                    "least_spread_ms"}
///   GET  /api/v1/accounts/{id}/explain
class RenewalController {
public:
    /// windowMs: what a band in the filter is measured against.
    RenewalController(Router &router, renewal::RenewalEngine &engine, store::AccountStore &accounts,
                      Audit &audit, const Clock &clock, qint64 windowMs);

private:
    QCoro::Task<Response> renewOne(Request request);
    QCoro::Task<Response> renewMany(Request request);
    QCoro::Task<Response> explain(Request request);

    /// The answer that ends the request: to a dry run, or a refusal.
    QCoro::Task<std::optional<Response>> plan(AccountSelection selection, qint64 spreadMs);
    SelectedAccounts pagesOf(const AccountSelection &selection) const;
    /// Of those that would be renewed: how many there are of each project.
    QCoro::Task<Result<QMap<QString, qint64>>> count(AccountSelection selection);
    QCoro::Task<Result<>> renewPage(QList<store::AccountRow> rows, qint64 spreadMs, SelectionResult *result);

    renewal::RenewalEngine &m_engine;
    store::AccountStore &m_accounts;
    Audit &m_audit;
    const Clock &m_clock;
    qint64 m_windowMs;
};

} // namespace tidekeeper::http
