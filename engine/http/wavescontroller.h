// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "renewal/incidents.h"

namespace tidekeeper::http {

/// Waves: many accounts that met the same loss at once. Main thread.
///   GET  /api/v1/accounts/waves               {"waves": […]}, newest first
///   POST /api/v1/accounts/waves/{id}/confirm  the losses were real; 409 when it is over
class WavesController {
public:
    WavesController(Router &router, renewal::Incidents &incidents);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> confirm(Request request);

    renewal::Incidents &m_incidents;
};

} // namespace tidekeeper::http
