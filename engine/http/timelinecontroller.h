// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "store/accountstore.h"
#include "store/journal.h"

namespace tidekeeper::http {

/// What happened to an account. Main thread.
///   GET /api/v1/accounts/{id}/timeline?limit=&cursor= → {"entries": [{"at", "kind", "details"}], "next_cursor"},
///   newest first
class TimelineController {
public:
    TimelineController(Router &router, store::AccountStore &accounts, store::Journal &journal);

private:
    QCoro::Task<Response> list(Request request);

    store::AccountStore &m_accounts;
    store::Journal &m_journal;
};

} // namespace tidekeeper::http
