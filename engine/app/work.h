// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/clustermark.h"
#include "app/eventbus.h"
#include "app/hostservices.h"
#include "app/lookout.h"
#include "app/metricsregistry.h"
#include "app/pluginjobs.h"
#include "app/queuewatch.h"
#include "app/redisparts.h"
#include "app/storeparts.h"
#include "config/config.h"
#include "limits/bucketservice.h"
#include "limits/levelindex.h"
#include "limits/levelreader.h"
#include "limits/levelsweep.h"
#include "limits/limiterregistry.h"
#include "net/httpservice.h"
#include "oauth/sealedgrants.h"
#include "oauth/tokenservice.h"
#include "pluginhost/pluginhost.h"
#include "queue/leaderlease.h"
#include "queue/replicatedcalls.h"
#include "queue/worker.h"
#include "renewal/attemptshare.h"
#include "renewal/custodian.h"
#include "renewal/pushproof.h"
#include "renewal/renewalengine.h"
#include "renewal/sqlrenewalstore.h"
#include "scheduler/pluginschedules.h"
#include "scheduler/redisclock.h"
#include "settings/limitersettings.h"
#include "settings/schedulesettings.h"

namespace tidekeeper::app {

/// What the engine does: limits, tokens, plugins, queue and renewal, wired in the order of the members. Main thread.
struct Work {
    static const QString scanScheduleId;

    /// engineId: as app::engineId().
    Work(const config::Config &config, RedisParts &redis, StoreParts &store, const QString &engineId);

    /// Starts the plugins, takes up what they offer, then the leader's lease, the schedules and the workers.
    /// After stop() it goes no further.
    QCoro::Task<> start();
    QCoro::Task<> stop();

    qint64 renewalWindowMs() const; ///< of the Gmail provider; what bands are measured against

    scheduler::RedisClock clock;
    MetricsRegistry metrics;
    EventBus events;
    QueueWatch queueWatch{metrics, events};

    net::HttpClient http;
    net::HttpService httpService;
    queue::Leases leases;
    Lookout lookout;
    oauth::TokenEndpoint tokenEndpoint;
    oauth::SealedGrants sealedGrants;
    oauth::SharedTokens sharedTokens;
    oauth::AccessTokens accessTokens;
    oauth::TokenService tokenService;

    limits::BucketService buckets;
    limits::LevelIndex levelIndex;
    limits::LevelSweep levelSweep;
    limits::LevelReader levels;
    limits::LimiterRegistry limiters;
    limits::AccountOverrides overrides;
    settings::LimiterSettings limiterSettings;

    std::unique_ptr<queue::ReplicatedCalls> replicated; ///< null with queue.durability = "local"
    queue::JobQueue jobs; ///< the engine's own
    queue::JobQueue pluginQueue; ///< what plugins enqueue and schedule: none of it holds up a renewal
    std::unique_ptr<queue::Worker> worker; ///< of jobs; from start() on, sized by the Gmail provider
    std::unique_ptr<queue::Worker> pluginWorker; ///< of pluginQueue; from start() on
    PluginJobs pluginJobs;
    queue::LeaderLease leader;
    scheduler::Scheduler scheduler;
    settings::ScheduleSettings scheduleSettings;
    QueueService queueService;
    AccountsService accountsService;

    renewal::SqlRenewalStore renewalStore;
    renewal::SqlIncidentStore incidentStore;
    renewal::RedisMailboxLeases mailboxLeases;
    renewal::AttemptShare attemptShare;
    renewal::Providers providers;
    renewal::RenewalEngine renewal;
    renewal::PushProof pushProof;
    RedisClusterMark clusterMark;
    renewal::Custodian custodian;

    pluginhost::ServiceRegistry services;
    pluginhost::PluginHost plugins;

private:
    void offerServices();
    void lead();
    QCoro::Task<> setLimiter(pluginhost::StartingPlugin plugin);
    void takeUpPlugins();
    Scheduler *schedulesOf(const QString &plugin);
    QCoro::Task<> startSchedules();
    void startWorkers();
    QCoro::Task<queue::JobOutcome> runRenewalJob(queue::Job job);
    QCoro::Task<> stopWorkers();
    const renewal::Provider *gmailProvider() const;

    const config::Config &m_config;
    RedisParts &m_redis;
    StoreParts &m_store;
    std::map<QString, std::unique_ptr<scheduler::PluginSchedules>> m_pluginSchedules;
    bool m_isStopping = false;
};

} // namespace tidekeeper::app
