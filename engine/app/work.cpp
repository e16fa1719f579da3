// SPDX-License-Identifier: Apache-2.0
#include "app/work.h"

#include "core/planner.h"
#include "log/log.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QCoreApplication>
#include <QtCore/QJsonArray>
#include <QtCore/QRandomGenerator>

#include <chrono>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

const QString queueName = u"renew"_s;
const QString gmail = u"gmail"_s;
constexpr int drainMs = 5'000;

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

/// From the build tree and from an installation, a program finds the plugins beside it.
QStringList pluginPath(const config::Config &config)
{
    const QString programs = QCoreApplication::applicationDirPath();
    return config.pluginPath
        + QStringList{programs + u"/../lib/tidekeeper/plugins"_s, QStringLiteral(TIDEKEEPER_PLUGIN_DIR)};
}

pluginhost::HostOptions hostOptions(const config::Config &config)
{
    pluginhost::HostOptions options;
    options.searchPath = pluginPath(config);
    options.sections = config.plugins;
    options.projects = projectsOf(config.google);
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

renewal::Ports portsOf(Work &work, EventBus &events)
{
    return {
        .store = work.renewalStore,
        .leases = work.mailboxLeases,
        .limiters = work.limiters,
        .clock = work.clock,
        .token =
            [&work](core::Account account, QString rejected) {
                return work.accessTokens.forAccount(std::move(account), std::move(rejected));
            },
        .enqueue = [&work](QList<queue::JobSpec> specs) { return work.jobs.enqueue(std::move(specs)); },
        .publish = [&events](const QString &type, const QJsonObject &event) { events.publish(type, event); },
        .sleep = sleepFor,
        .random = [] { return QRandomGenerator::global()->generateDouble(); },
    };
}

} // namespace

Work::Work(const config::Config &config, const Clock &engineClock, RedisParts &redis, StoreParts &store,
           MetricsRegistry &metrics, EventBus &events)
    : clock(engineClock), httpService(http,
                                      {{gmail, config.google.gmailUrl},
                                       {u"oauth"_s, config.google.oauthUrl},
                                       {u"fcm"_s, config.google.fcmUrl}}),
      tokenEndpoint(http, config.google.oauthUrl),
      sealedGrants(store.accounts, store.grants, store.sealing, clock),
      accessTokens(tokenEndpoint, sealedGrants, clientsOf(config.google), clock),
      tokenService(accessTokens, [&store](QString id) { return findAccount(store.accounts, std::move(id)); }),
      buckets(redis.connection(), redis.quotaFunctions(), clock), leases(redis.leaseFunctions()),
      jobs(queueName, redis.queueFunctions()), leader(leases, {}), queueService(jobs),
      renewalStore(store.accounts, store.grants), mailboxLeases(leases, sleepFor),
      renewal(portsOf(*this, events), providers), plugins(services, hostOptions(config), logOfPlugin),
      m_redis(redis)
{
    offerServices(metrics, events);
}

void Work::offerServices(MetricsRegistry &metrics, EventBus &events)
{
    services.add<Clock>(const_cast<Clock *>(&clock));
    services.add<Queue>(&queueService);
    services.add<Buckets>(&buckets);
    services.add<Limiters>(&limiters);
    services.add<Tokens>(&tokenService);
    services.add<Http>(&httpService);
    services.add<Metrics>(&metrics);
    services.add<Events>(&events);
}

QCoro::Task<> Work::start()
{
    co_await plugins.start();
    takeUpPlugins();
    leader.start();
    startWorker();
}

void Work::takeUpPlugins()
{
    for (const auto &found : plugins.implementations<RateLimiter>()) {
        if (!limiters.add(found.object))
            log::warning(found.pluginId,
                         u"Another plugin already provides a limiter of this name; this one is unused."_s);
    }
    for (const auto &found : plugins.implementations<SubscriptionProvider>()) {
        if (!providers.add(found.object, {.lateAnswers = found.lateAnswers, .stop = {}}))
            log::warning(
                found.pluginId,
                u"Its provider is unused: the name is empty or taken, or lifetime or window is missing."_s);
    }
}

void Work::startWorker()
{
    queue::WorkerOptions options;
    if (const renewal::Provider *provider = providers.find(gmail)) {
        const QJsonObject description = provider->plugin->describe();
        options.consumers = description.value("consumers"_L1).toInt(options.consumers);
        options.prefetch = description.value("prefetch"_L1).toInt(options.prefetch);
    }
    worker =
        std::make_unique<queue::Worker>(queueName, m_redis.endpoint(), m_redis.queueFunctions(), options);
    for (const QString &type : {renewal::RenewalEngine::scanJob, renewal::RenewalEngine::renewJob,
                                renewal::RenewalEngine::removeJob})
        worker->handle(type, [this](queue::Job job) { return renewal.run(std::move(job)); });
    worker->start();
}

QCoro::Task<> Work::stop()
{
    if (worker)
        co_await worker->stop(drainMs);
    co_await leader.stop();
    co_await plugins.stop();
    http.abortAll();
}

qint64 Work::renewalWindowMs() const
{
    const renewal::Provider *provider = providers.find(gmail);
    return provider ? provider->windowMs : 6 * core::dayMs;
}

} // namespace tidekeeper::app
