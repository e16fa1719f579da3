// SPDX-License-Identifier: Apache-2.0
#include "app/api.h"

#include "log/log.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

http::ServerOptions serverOptions(const config::HttpConfig &config)
{
    http::ServerOptions options;
    // "[::1]:8787": the port follows the last colon, the brackets belong to the address alone.
    const qsizetype colon = config.listen.lastIndexOf(u':');
    options.host = config.listen.left(colon);
    if (options.host.startsWith(u'['))
        options.host = options.host.mid(1).chopped(1);
    options.port = quint16(config.listen.mid(colon + 1).toUInt());
    options.tlsCertificate = config.tlsCert;
    options.tlsKey = config.tlsKey;
    options.allowPlainRemote = config.allowPlainRemote;
    return options;
}

http::AccountsOptions accountsOptions(const config::Config &config, qint64 windowMs,
                                      const core::PushLimits &pushLimits)
{
    http::AccountsOptions options;
    options.windowMs = windowMs;
    options.pushLimits = pushLimits;
    for (auto project = config.google.projects.begin(); project != config.google.projects.end(); ++project)
        options.projects.insert(project.key(), project->clients.keys());
    return options;
}

http::PubsubController::Ports pubsubPorts(const config::PushConfig &config, oauth::PushTokens &tokens,
                                          Work &work)
{
    http::PubsubController::Ports ports;
    if (!config.audience.isEmpty())
        ports.check = [&tokens](QByteArray token) { return tokens.check(std::move(token)); };
    ports.report = [&work](QMap<QString, QString> pushes) {
        return work.pushProof.report(std::move(pushes));
    };
    ports.count = [&work](const QString &result) {
        work.metrics.add(u"pubsub_pushes"_s, u"Pushes from Pub/Sub by what became of them."_s,
                         {{u"result"_s, result}}, 1);
    };
    ports.warn = [](const QString &sentence) { log::warning(u"pushes"_s, sentence); };
    ports.monotonicMs = [&work] { return work.clock.monotonicMs(); };
    return ports;
}

} // namespace

Front::Front(const config::Config &config)
    : server(serverOptions(config.http), router,
             [this](const QByteArray &token) { return tokens.authenticate(token); })
{ }

Api::Api(http::Router &router, const config::Config &config, RedisParts &redis, StoreParts &store, Work &work)
    : overview(redis, store, work), audit(store.journal, work.clock),
      status(router, overview, work.metrics, work.lookout, work.buckets),
      limiter(router, work.limiters, work.levels, work.limiterSettings), bucketLevels(router, work.levels),
      quota(router, work.limiters, work.buckets), plugins(router, work.plugins),
      accounts(router, store.accounts, *store.sealing, work.clock,
               accountsOptions(config, work.renewalWindowMs(), work.pushProof.limits()),
               [&work] { work.renewal.requestScan(); }),
      accountStates(router, store.accounts, audit, work.clock, work.renewalWindowMs(),
                    [&work] { work.renewal.requestScan(); }),
      devices(router, store.devices, *store.sealing, work.clock),
      renewal(router, work.renewal, store.accounts, audit, work.clock, work.renewalWindowMs()),
      waves(router, work.renewal.incidents()), adopt(router, work.custodian),
      timeline(router, store.accounts, store.journal), pushes(router, work.pushProof),
      pushKeys(work.http, QUrl(config.push.certsUrl), work.clock),
      pushTokens(pushKeys, {config.push.audience, config.push.serviceAccount}, work.clock),
      pubsub(router, pubsubPorts(config.push, pushTokens, work)), schedules(router, work.scheduler, audit),
      queues(router, {&work.jobs, &work.pluginQueue}, redis.queueFunctions(), audit)
{ }

} // namespace tidekeeper::app
