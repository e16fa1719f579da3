// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "renewal/pushproof.h"

namespace tidekeeper::http {

/// Consumers report what Gmail pushed to them. Main thread.
///   POST /api/v1/pushes  {"email", "history_id"} or {"pushes": [up to 1,000 of these]} → 200 {"taken", "unknown"}
/// Repeated, stale and unknown ones are taken in. While the database is down: 503, so that they are sent again.
class PushesController {
public:
    PushesController(Router &router, renewal::PushProof &proof);

private:
    QCoro::Task<Response> report(Request request);

    renewal::PushProof &m_proof;
};

} // namespace tidekeeper::http
