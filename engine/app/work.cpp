// SPDX-License-Identifier: Apache-2.0
#include "app/work.h"

#include "core/planner.h"
#include "log/log.h"
#include "pluginhost/searchpath.h"

#include <tidekeeper/callback.h>

#include <QCoro/QCoroTimer>
#include <QtCore/QJsonArray>
#include <QtCore/QRandomGenerator>

#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

const QString renewQueue = u"renew"_s;
const QString pluginQueueName = u"plugins"_s;
const QString gmail = u"gmail"_s;
constexpr int drainMs = 5'000;
constexpr int pluginsStopMs = 5'000; // with the drain, and a Redis that does not answer, still within 15 s

QCoro::Task<> sleepFor(qint64 ms)
{
    co_await QCoro::sleepFor(std::chrono::milliseconds(ms));
}

oauth::ClientDirectory clientsOf(const config::GoogleConfig &google)
{
    oauth::ClientDirectory directory;
    for (auto project = google.projects.begin(); project != google.projects.end(); ++project) {
        for (auto client = project->clients.begin(); client != project->clients.end(); ++client)
            directory[project.key()].insert(client.key(), {client->clientId, client->clientSecretFile});
    }
    return directory;
}

QJsonObject projectsOf(const config::GoogleConfig &google)
{
    QJsonObject projects;
    for (auto project = google.projects.begin(); project != google.projects.end(); ++project) {
        QJsonObject object = project->limits;
        object.insert("project_id"_L1, project->projectId);
        object.insert("topic"_L1, project->topic);
        object.insert("preset"_L1, project->preset);
        projects.insert(project.key(), object);
    }
    return projects;
}

pluginhost::HostOptions hostOptions(const config::Config &config,
                                    std::function<QCoro::Task<>(pluginhost::StartingPlugin)> beforeStart)
{
    pluginhost::HostOptions options;
    options.searchPath = pluginhost::searchPath(config.pluginPath);
    options.sections = config.plugins;
    options.projects = projectsOf(config.google);
    options.beforeStart = std::move(beforeStart);
    options.stopAllDeadlineMs = pluginsStopMs;
    return options;
}

void logOfPlugin(int level, const QString &plugin, const QString &text)
{
    log::write(log::Level(std::clamp(level, 0, 3)), plugin.isEmpty() ? u"plugins"_s : plugin, text);
}

QCoro::Task<Result<core::Account>> findAccount(store::AccountStore &accounts, QString id)
{
    const Result<store::AccountRow> row = co_await accounts.find(std::move(id));
    if (!row)
        co_return fail(row.error());
    co_return row->account;
}

QMap<QString, QString> basesOf(const config::GoogleConfig &google)
{
    return {{u"gmail"_s, google.gmailUrl}, {u"oauth"_s, google.oauthUrl}, {u"fcm"_s, google.fcmUrl}};
}

QStringList hostsOf(const config::GoogleConfig &google)
{
    QStringList hosts;
    for (const QString &base : basesOf(google))
        hosts.append(QUrl(base).authority(QUrl::FullyEncoded));
    return hosts;
}

/// The scan for due accounts; each minute without a cron pattern.
QJsonObject scanSchedule(const QString &cron)
{
    QJsonObject schedule{{u"id"_s, Work::scanScheduleId},
                         {u"title"_s, u"Find the subscriptions that are due and queue them"_s},
                         {u"job"_s,
                          QJsonObject{{u"type"_s, renewal::RenewalEngine::scanJob},
                                      {u"dedupe"_s, renewal::RenewalEngine::scanJob}}}};
    if (cron.isEmpty())
        schedule.insert("interval_ms"_L1, 60'000);
    else
        schedule.insert("cron"_L1, cron);
    return schedule;
}

/// One line for each event: loud when only a person can settle it.
void logEvent(QJsonObject event)
{
    const QString type = event.take("type"_L1).toString();
    const bool loud = type.startsWith("alert."_L1) || type == "account.parked"_L1
        || type == "account.lapsed"_L1 || type.startsWith("queue."_L1) || type == "schedule.fire_failed"_L1
        || type == "schedule.overdue"_L1 || type == "scheduler.not_ready"_L1
        || type == "project.breaker_open"_L1 || type == "wave.opened"_L1 || type == "push.path_broken"_L1
        || type == "push.silent"_L1 || type == renewal::GrantHints::code;
    const log::Level level = loud ? log::Level::Warning : log::Level::Info;
    event.remove("seq"_L1);
    event.remove("at"_L1);
    log::write(level, u"events"_s, type, event);
}

/// What happened to an account becomes part of its timeline.
QCoro::Task<> keepInTimeline(store::Journal &journal, QJsonObject event)
{
    const QString account = event.take("account"_L1).toString();
    if (account.isEmpty())
        co_return;
    store::TimelineEntry entry;
    entry.at = event.take("at"_L1).toInteger();
    entry.kind = event.take("type"_L1).toString();
    event.remove("seq"_L1);
    entry.details = event;
    const Result<> noted = co_await journal.note(account, entry);
    if (!noted)
        log::warning(u"store"_s, noted.error().text);
}

/// For what renewals tell the limiter: nothing depends on it, so a failure is only said.
Reply *unwatched(Work &work)
{
    return whenDone(&work.buckets, [](const Status &status, const QJsonObject &) {
        if (!status.ok())
            log::warning(u"renewal"_s, u"The limiter did not take a report: "_s + status.text);
    });
}

QCoro::Task<> giveBack(limits::BucketService &buckets, QString limiter, QString grantId)
{
    const Result<QJsonObject> refunded = co_await buckets.refund(limiter, grantId);
    if (!refunded)
        log::warning(u"renewal"_s, u"Unused quota was not given back: "_s + refunded.error().text);
}

core::PushLimits limitsOf(const config::PushConfig &config)
{
    core::PushLimits limits;
    limits.provenWithinMs = config.provenWithinMs;
    limits.brokenAfterMs = config.brokenAfterMs;
    limits.aheadMs = std::min(limits.aheadMs, config.provenWithinMs / 2);
    return limits;
}

std::unique_ptr<queue::ReplicatedCalls> replicatedCalls(const config::QueueConfig &config,
                                                        const redis::Endpoint &endpoint)
{
    return config.replicated ? std::make_unique<queue::ReplicatedCalls>(endpoint) : nullptr;
}

/// Of all projects of a limiter together; 0 when one of them has none.
qint64 dayBudget(const QJsonObject &limiter)
{
    qint64 sum = 0;
    const QJsonObject projects = limiter["projects"_L1].toObject();
    for (const QJsonValue &project : projects) {
        const qint64 budget = project["day_budget"_L1].toInteger();
        if (budget <= 0)
            return 0;
        sum += budget;
    }
    return sum;
}

QMap<QString, core::ProjectQuota> quotasOf(const QJsonObject &limiter)
{
    QMap<QString, core::ProjectQuota> quotas;
    const QJsonObject projects = limiter["projects"_L1].toObject();
    for (auto it = projects.begin(); it != projects.end(); ++it) {
        const QJsonObject project = it->toObject();
        quotas.insert(
            it.key(),
            {project["project_refill_per_minute"_L1].toInteger(), project["day_budget"_L1].toInteger()});
    }
    return quotas;
}

renewal::Ports portsOf(Work &work)
{
    return {
        .store = work.renewalStore,
        .incidents = work.incidentStore,
        .leases = work.mailboxLeases,
        .limiters = work.limiters,
        .clock = work.clock,
        .token =
            [&work](core::Account account, QString rejected) {
                return work.accessTokens.forAccount(std::move(account), std::move(rejected));
            },
        .enqueue = [&work](QList<queue::JobSpec> specs) { return work.jobs.enqueue(std::move(specs)); },
        .publish = [&work](const QString &type,
                           const QJsonObject &event) { work.events.publish(type, event); },
        .report =
            [&work](const QString &limiter, const QJsonObject &verdict) {
                work.buckets.report(limiter, verdict, unwatched(work));
            },
        .refund = [&work](const QString &limiter,
                          const QString &grantId) { giveBack(work.buckets, limiter, grantId); },
        .shareAttempt = [&work](const core::EndedAttempt &attempt) { work.attemptShare.add(attempt); },
        .sleep = sleepFor,
        .random = [] { return QRandomGenerator::global()->generateDouble(); },
        .measure = [&work](const renewal::AttemptMeasure &attempt) { work.lookout.attempted(attempt); },
        .dayBudget = [&work](const QString &limiter) { return dayBudget(work.limiters.describe(limiter)); },
        .grantHint = [&work](const QString &project,
                             const QString &client) { return work.lookout.grantHints().of(project, client); },
        .quotas = [&work](const QString &limiter) { return quotasOf(work.limiters.describe(limiter)); },
    };
}

} // namespace

const QString Work::scanScheduleId = u"renewal-scan"_s;

Work::Work(const config::Config &config, RedisParts &redis, StoreParts &store, const QString &engineId)
    : clock(redis.connection()), events(clock), httpService(http, basesOf(config.google)),
      leases(redis.leaseFunctions()),
      lookout(store, redis.connection(), clock, events, metrics, http, hostsOf(config.google)),
      tokenEndpoint(http, config.google.oauthUrl),
      sealedGrants(store.accounts, store.grants, store.sealing, clock),
      sharedTokens(redis.connection(), leases, store.sealing, sleepFor),
      accessTokens(tokenEndpoint, sealedGrants, clientsOf(config.google), clock, &sharedTokens),
      tokenService(accessTokens, [&store](QString id) { return findAccount(store.accounts, std::move(id)); }),
      buckets(redis.connection(), redis.quotaFunctions(), clock),
      levelIndex(redis.connection(), buckets.projects(), clock),
      levelSweep(redis.connection(), buckets.projects(), clock),
      levels(redis.connection(), redis.quotaFunctions(), buckets.projects(), clock),
      overrides(redis.connection(), redis.quotaFunctions(), buckets.projects()),
      limiterSettings(store.settings, limiters, overrides, clock),
      replicated(replicatedCalls(config.queue, redis.endpoint())),
      jobs(renewQueue, redis.queueFunctions(), replicated.get()),
      pluginQueue(pluginQueueName, redis.queueFunctions(), replicated.get()), leader(leases, {}),
      scheduler(clock, {&jobs, &pluginQueue}, leader), scheduleSettings(store.settings, scheduler, clock),
      queueService(pluginQueue), accountsService(store.accounts, store.devices, store.sealing, clock,
                                                 [this] { return renewalWindowMs(); }),
      renewalStore(store.accounts, store.grants, store.pace), incidentStore(store.database),
      mailboxLeases(leases, sleepFor), attemptShare(redis.connection(), clock),
      renewal(portsOf(*this), providers),
      pushProof(
          store.pushes, clock, limitsOf(config.push),
          [this](const QString &type, const QJsonObject &event) { events.publish(type, event); },
          [this](const QString &account, const QString &subscription) {
              return renewal.repair(account, subscription);
          }),
      clusterMark(redis.connection()),
      custodian({.engine = engineId,
                 .settings = store.settings,
                 .mark = config.redis.url.isEmpty() ? nullptr : &clusterMark, // a private one is copied along
                 .clock = clock,
                 .hold = [this](const QString &reason) { renewal.hold(reason); }}),
      plugins(
          services,
          hostOptions(config,
                      [this](pluginhost::StartingPlugin plugin) { return setLimiter(std::move(plugin)); }),
          logOfPlugin),
      m_config(config), m_redis(redis), m_store(store)
{
    offerServices();
    queueWatch.watch(scheduler);
    QObject::connect(&events, &EventBus::published, &events, [this](const QJsonObject &event) {
        logEvent(event);
        keepInTimeline(m_store.journal, event);
    });
    QObject::connect(&scheduler, &scheduler::Scheduler::changed, &events, [this](const QString &schedule) {
        events.publish(u"schedule.changed"_s, {{u"schedule"_s, schedule}});
    });
    QObject::connect(
        &attemptShare, &renewal::AttemptShare::arrived, &renewal,
        [this](const QList<core::EndedAttempt> &attempts) { renewal.incidents().arrived(attempts); });
    QObject::connect(&scheduleSettings, &settings::ScheduleSettings::known, &leader, [this] { lead(); });
    QObject::connect(&clock, &scheduler::RedisClock::synchronised, &leader, [this] { lead(); });
    QObject::connect(&clock, &scheduler::RedisClock::stepped, &scheduler, &scheduler::Scheduler::wake);
    QObject::connect(&levelIndex, &limits::LevelIndex::enginesCounted, &buckets,
                     &limits::BucketService::setLiveEngines);
    QObject::connect(&limiterSettings, &settings::LimiterSettings::changed, &events,
                     [this](const QString &limiter) {
                         events.publish(u"limiter.changed"_s, {{u"limiter"_s, limiter}});
                     });
}

void Work::offerServices()
{
    services.add<Clock>(&clock);
    services.addPerPlugin<Scheduler>([this](const QString &plugin) { return schedulesOf(plugin); });
    services.add<Queue>(&queueService);
    services.add<Accounts>(&accountsService);
    services.add<Buckets>(&buckets);
    services.add<BucketFeedback>(&buckets);
    services.add<Limiters>(&limiters);
    services.add<Tokens>(&tokenService);
    services.add<Http>(&httpService);
    services.add<Metrics>(&metrics);
    services.add<Events>(&events);
}

QCoro::Task<> Work::start()
{
    clock.start();
    co_await plugins.start();
    if (m_isStopping)
        co_return;
    takeUpPlugins();
    co_await custodian.start();
    if (m_isStopping)
        co_return;
    limiterSettings.start();
    co_await startSchedules();
    if (m_isStopping)
        co_return;
    attemptShare.start();
    renewal.start();
    pushProof.start();
    lookout.start();
    startWorkers();
    renewal.requestScan();
}

/// Not before it is known what operators paused and what time it is: this machine's clock may be an hour off.
void Work::lead()
{
    if (scheduleSettings.isKnown() && clock.isSynchronised() && !m_isStopping)
        leader.start();
}

/// What operators decided holds from a limiter's first policy on.
QCoro::Task<> Work::setLimiter(pluginhost::StartingPlugin plugin)
{
    settings::LimiterProfile profile;
    profile.limiter = qobject_cast<RateLimiter *>(plugin.root);
    if (!profile.limiter)
        co_return;
    profile.live = qobject_cast<LiveSettings *>(plugin.root);
    profile.lateAnswers = plugin.lateAnswers;
    profile.schema = plugin.record.metadata.configSchema;
    profile.section = m_config.plugins.value(plugin.record.metadata.id);
    profile.section.remove("enabled"_L1); // whether the plugin runs at all
    profile.projects = projectsOf(m_config.google);
    co_await limiterSettings.take(std::move(profile));
}

void Work::takeUpPlugins()
{
    QHash<QString, RateFeedback *> feedback;
    for (const auto &found : plugins.implementations<RateFeedback>())
        feedback.insert(found.pluginId, found.object);
    for (const auto &found : plugins.implementations<RateLimiter>()) {
        if (!limiters.add(found.object, feedback.value(found.pluginId)))
            log::warning(found.pluginId, u"Its limiter is unused: another plugin has one of this name."_s);
    }
    for (const auto &found : plugins.implementations<SubscriptionProvider>()) {
        if (!providers.add(found.object, {.lateAnswers = found.lateAnswers, .stop = {}}))
            log::warning(
                found.pluginId,
                u"Its provider is unused: the name is empty or taken, or lifetime or window is missing."_s);
    }
    for (const auto &found : plugins.implementations<JobHandler>()) {
        for (const QString &problem : pluginJobs.add(found))
            log::warning(found.pluginId, problem);
    }
}

Scheduler *Work::schedulesOf(const QString &plugin)
{
    auto &schedules = m_pluginSchedules[plugin];
    if (!schedules)
        schedules = std::make_unique<scheduler::PluginSchedules>(scheduler, plugin);
    return schedules.get();
}

QCoro::Task<> Work::startSchedules()
{
    const renewal::Provider *provider = gmailProvider();
    const QString cron = provider ? provider->plugin->describe().value("cron"_L1).toString() : QString();
    if (const Status declared = scheduler.declare(scanSchedule(cron)); !declared.ok()) {
        // Better at the default rhythm than never.
        log::error(u"scheduler"_s, u"plugins.watch-renewal.cron is not used: "_s + declared.text);
        scheduler.declare(scanSchedule({}));
    }

    for (const pluginhost::PluginRecord &record : plugins.records()) {
        if (record.failure)
            scheduler.withdraw(record.metadata.id);
    }
    co_await scheduleSettings.start();
    if (m_isStopping)
        co_return;
    scheduler.start();
}

void Work::startWorkers()
{
    queue::WorkerOptions options;
    options.leaseMs = m_config.queue.leaseMs;
    options.heartbeatMs = options.leaseMs * 3 / 10;
    queue::WorkerOptions pluginOptions = options;
    pluginOptions.consumers = m_config.queue.consumers;
    pluginOptions.prefetch = m_config.queue.prefetch;
    if (const renewal::Provider *provider = gmailProvider()) {
        const QJsonObject description = provider->plugin->describe();
        options.consumers = description.value("consumers"_L1).toInt(options.consumers);
        options.prefetch = description.value("prefetch"_L1).toInt(options.prefetch);
    }
    worker =
        std::make_unique<queue::Worker>(renewQueue, m_redis.endpoint(), m_redis.queueFunctions(), options);
    for (const QString &type : {renewal::RenewalEngine::scanJob, renewal::RenewalEngine::renewJob,
                                renewal::RenewalEngine::removeJob})
        worker->handle(type, [this](queue::Job job) { return runRenewalJob(std::move(job)); });
    queueWatch.watch(renewQueue, *worker);
    worker->start();

    pluginWorker = std::make_unique<queue::Worker>(pluginQueueName, m_redis.endpoint(),
                                                   m_redis.queueFunctions(), pluginOptions);
    pluginJobs.serve(*pluginWorker);
    queueWatch.watch(pluginQueueName, *pluginWorker);
    pluginWorker->start();
}

QCoro::Task<queue::JobOutcome> Work::runRenewalJob(queue::Job job)
{
    const bool scans = job.type == renewal::RenewalEngine::scanJob;
    const queue::JobOutcome outcome = co_await renewal.run(std::move(job));
    if (scans && renewal.lastScan().errorText.isEmpty())
        lookout.scanned();
    co_return outcome;
}

/// Both at the same time: the bound is for both.
QCoro::Task<> Work::stopWorkers()
{
    std::vector<QCoro::Task<>> stopping;
    for (queue::Worker *each : {worker.get(), pluginWorker.get()}) {
        if (each)
            stopping.push_back(each->stop(drainMs));
    }
    for (QCoro::Task<> &task : stopping)
        co_await task;
    pluginJobs.giveUp();
}

QCoro::Task<> Work::stop()
{
    m_isStopping = true;
    custodian.stop();
    lookout.stop();
    pushProof.stop();
    scheduler.stop();
    co_await scheduleSettings.stop();
    co_await stopWorkers();
    attemptShare.stop();
    co_await renewal.stop();
    co_await leader.stop();
    co_await limiterSettings.stop();
    co_await plugins.stop();
    http.abortAll();
    clock.stop();
}

const renewal::Provider *Work::gmailProvider() const
{
    return providers.find(gmail);
}

qint64 Work::renewalWindowMs() const
{
    const renewal::Provider *provider = gmailProvider();
    return provider ? provider->windowMs : 6 * core::dayMs;
}

} // namespace tidekeeper::app
