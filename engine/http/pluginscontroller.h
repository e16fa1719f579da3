// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "pluginhost/pluginhost.h"

namespace tidekeeper::http {

/// GET /api/v1/plugins: what became of each plugin file, and why. Main thread.
class PluginsController {
public:
    PluginsController(Router &router, const pluginhost::PluginHost &host);

private:
    QCoro::Task<Response> list(Request request);

    const pluginhost::PluginHost &m_host;
};

} // namespace tidekeeper::http
