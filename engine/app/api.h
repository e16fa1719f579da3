// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/overview.h"
#include "app/statedir.h"
#include "app/statuscontroller.h"
#include "config/config.h"
#include "http/accountscontroller.h"
#include "http/auth.h"
#include "http/devicescontroller.h"
#include "http/httpserver.h"
#include "http/limitercontroller.h"
#include "http/pluginscontroller.h"
#include "http/queuescontroller.h"
#include "http/renewalcontroller.h"
#include "http/schedulescontroller.h"

namespace tidekeeper::app {

/// The HTTP API over everything that works. Main thread.
struct Api {
    Api(const config::Config &config, RedisParts &redis, StoreParts &store, Work &work);

    /// Failures: admin_token, port_in_use, address_refused, tls_required, tls_files.
    Result<> listen(const QString &stateDir);

    http::Router router;
    http::TokenAuthority tokens;
    Overview overview;
    StatusController status;
    http::LimiterController limiter;
    http::PluginsController plugins;
    http::AccountsController accounts;
    http::DevicesController devices;
    http::RenewalController renewal;
    http::SchedulesController schedules;
    http::QueuesController queues;
    http::HttpServer server;
};

} // namespace tidekeeper::app
