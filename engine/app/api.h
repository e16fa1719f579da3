// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/overview.h"
#include "app/statuscontroller.h"
#include "config/config.h"
#include "http/accountscontroller.h"
#include "http/accountstatescontroller.h"
#include "http/adoptcontroller.h"
#include "http/audit.h"
#include "http/auth.h"
#include "http/bucketscontroller.h"
#include "http/devicescontroller.h"
#include "http/httpserver.h"
#include "http/limitercontroller.h"
#include "http/pluginscontroller.h"
#include "http/pubsubcontroller.h"
#include "http/pushescontroller.h"
#include "http/queuescontroller.h"
#include "http/quotacontroller.h"
#include "http/renewalcontroller.h"
#include "http/schedulescontroller.h"
#include "http/timelinecontroller.h"
#include "http/wavescontroller.h"

namespace tidekeeper::app {

/// The door of the API: made first, so that an address that is taken ends the start before anything is done.
struct Front {
    explicit Front(const config::Config &config);

    http::Router router;
    http::TokenAuthority tokens;
    http::HttpServer server;
};

/// The HTTP API over everything that works. Main thread.
struct Api {
    Api(http::Router &router, const config::Config &config, RedisParts &redis, StoreParts &store, Work &work);

    Overview overview;
    http::Audit audit;
    StatusController status;
    http::LimiterController limiter;
    http::BucketsController bucketLevels;
    http::QuotaController quota;
    http::PluginsController plugins;
    http::AccountsController accounts;
    http::AccountStatesController accountStates;
    http::DevicesController devices;
    http::RenewalController renewal;
    http::WavesController waves;
    http::AdoptController adopt;
    http::TimelineController timeline;
    http::PushesController pushes;
    oauth::SigningKeys pushKeys;
    oauth::PushTokens pushTokens;
    http::PubsubController pubsub;
    http::SchedulesController schedules;
    http::QueuesController queues;
};

} // namespace tidekeeper::app
