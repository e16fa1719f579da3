// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/accountselection.h"
#include "http/audit.h"
#include "http/router.h"

namespace tidekeeper::http {

/// Pause and resume, one account or many, and the removal of one. All audited; doing it again changes nothing. Main
/// thread.
///   POST   /api/v1/accounts/{id}/pause, …/resume   200 with the account
///   DELETE /api/v1/accounts/{id}                   202 with the account
///   POST   /api/v1/accounts/pause, …/resume        a selection → {"matched", "changed", "skipped_count", "skipped",
///                                                  "next_cursor"}; a dry run {"matched", "dry_run", …}
class AccountStatesController {
public:
    /// windowMs: what bands are measured against. changed: called after every write.
    AccountStatesController(Router &router, store::AccountStore &accounts, Audit &audit, const Clock &clock,
                            qint64 windowMs, std::function<void()> changed);

private:
    QCoro::Task<Response> setOne(Request request, core::AccountState state, int status);
    QCoro::Task<Response> setMany(Request request, core::AccountState state);
    QCoro::Task<Result<>> setPage(QList<store::AccountRow> rows, core::AccountState state, bool dryRun,
                                  SelectionResult *result);

    store::AccountStore &m_accounts;
    Audit &m_audit;
    const Clock &m_clock;
    qint64 m_windowMs;
    std::function<void()> m_changed;
};

} // namespace tidekeeper::http
