// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "renewal/custodian.h"

namespace tidekeeper::http {

/// Says that this engine is the one to work on its database, which may be a copy. Main thread.
///   POST /api/v1/accounts/adopt → 200 {"adopted": false when it is already}
class AdoptController {
public:
    AdoptController(Router &router, renewal::Custodian &custodian);

private:
    QCoro::Task<Response> adopt(Request request);

    renewal::Custodian &m_custodian;
};

} // namespace tidekeeper::http
