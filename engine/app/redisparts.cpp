// SPDX-License-Identifier: Apache-2.0
#include "app/redisparts.h"

#include "limits/quotalibrary.h"
#include "log/log.h"
#include "queue/jobqueue.h"

#include <QtCore/QFile>
#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

constexpr int firstConnectMs = 5'000;
constexpr int infoTimeoutMs = 2'000;
const QString component = u"redis"_s;

QString nameOf(redis::ServerInfo::Verdict verdict)
{
    switch (verdict) {
    case redis::ServerInfo::Verdict::Safe:
        return u"safe"_s;
    case redis::ServerInfo::Verdict::Unsafe:
        return u"unsafe"_s;
    case redis::ServerInfo::Verdict::Unknown:
        break;
    }
    return u"unknown"_s;
}

} // namespace

RedisParts::RedisParts(const config::RedisConfig &config, QString stateDir, Options options)
    : m_config(config), m_options(options)
{
    if (config.url.isEmpty())
        m_private = std::make_unique<redis::PrivateRedis>(redis::PrivateRedis::Options{.stateDir = stateDir});
    m_checkTimer.setInterval(options.checkEveryMs);
    connect(&m_checkTimer, &QTimer::timeout, this, [this] { checkServer(); });
}

RedisParts::~RedisParts()
{
    // Answers what is still asked while the parts that asked are there.
    m_connection.reset();
}

QCoro::Task<Result<>> RedisParts::start()
{
    Result<redis::Endpoint> endpoint;
    if (m_private)
        endpoint = co_await m_private->start();
    else
        endpoint = configuredEndpoint();
    if (!endpoint)
        co_return fail(endpoint.error());

    m_connection = std::make_unique<redis::RedisConnection>(*endpoint);
    m_quotaFunctions =
        std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_quota", limits::libraryCode());
    m_queueFunctions =
        std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_queue", queue::libraryCode());
    m_leaseFunctions = std::make_unique<redis::FunctionLibrary>(
        *m_connection, "tidekeeper_lease", redis::FunctionLibrary::embedded(u"lease.lua"_s));
    connect(m_connection.get(), &redis::RedisConnection::ready, this, [this] { onReady(); });
    connect(m_connection.get(), &redis::RedisConnection::lost, this,
            [](const QString &reason) { log::warning(component, u"Redis is away: "_s + reason); });
    m_connection->open();
    m_checkTimer.start();

    const bool ready = co_await m_connection->waitReady(firstConnectMs);
    if (!m_connection || !m_checkTimer.isActive())
        co_return Result<>(); // stopped meanwhile
    if (!ready) {
        log::warning(component,
                     u"Redis does not answer yet; the engine starts without it and goes on trying."_s,
                     {{u"url"_s, this->endpoint().display()}});
        co_return Result<>();
    }
    co_return co_await checkServer();
}

QCoro::Task<> RedisParts::stop()
{
    m_checkTimer.stop();
    if (m_connection) {
        m_connection->disconnect(this);
        m_connection->close();
    }
    if (m_private)
        co_await m_private->stop();
}

QJsonObject RedisParts::status() const
{
    QJsonObject status{
        {u"embedded"_s, m_private != nullptr},
        {u"connected"_s, m_connection && m_connection->isReady() && !m_connection->isBreakerOpen()},
        {u"verdict"_s, u"unknown"_s}};
    if (m_connection) {
        status.insert(u"url"_s, m_connection->endpoint().display());
        status.insert(u"latency_us"_s, m_connection->lastLatencyUs());
    }
    if (m_info) {
        QJsonArray findings;
        QJsonArray unknown;
        for (const redis::ServerInfo::Finding &finding : m_info->findings) {
            if (finding.verdict == redis::ServerInfo::Verdict::Unsafe)
                findings.append(finding.text);
            else if (finding.verdict == redis::ServerInfo::Verdict::Unknown)
                unknown.append(finding.text);
        }
        status.insert(u"version"_s, u"%1 %2"_s.arg(m_info->product, m_info->version).trimmed());
        status.insert(u"verdict"_s, nameOf(m_info->verdict()));
        status.insert(u"findings"_s, findings);
        status.insert(u"unknown"_s, unknown);
    }
    return status;
}

Result<redis::Endpoint> RedisParts::configuredEndpoint() const
{
    Result<redis::Endpoint> endpoint = redis::Endpoint::fromUrl(m_config.url);
    if (!endpoint)
        return endpoint;
    endpoint->caFile = m_config.caFile;
    if (!m_config.username.isEmpty())
        endpoint->username = m_config.username;
    if (!m_config.passwordFile.isEmpty()) {
        QFile file(m_config.passwordFile);
        if (!file.open(QIODevice::ReadOnly))
            return fail(u"redis_password_file"_s,
                        u"redis.password_file \"%1\" cannot be read: %2."_s.arg(m_config.passwordFile,
                                                                                file.errorString()),
                        {{u"field"_s, u"redis.password_file"_s}});
        endpoint->password = file.readAll().trimmed();
    }
    return endpoint;
}

/// Fails only for a server that will not do; one that is away is asked again.
QCoro::Task<Result<>> RedisParts::checkServer()
{
    const Result<redis::ServerInfo> info =
        co_await redis::readServerInfo(*m_connection, infoTimeoutMs, m_options.needsReplica);
    if (!m_connection || !m_checkTimer.isActive())
        co_return Result<>(); // stopped meanwhile
    if (info)
        judge(*info);
    else if (info.error().code == "redis_refused"_L1)
        judge(redis::ServerInfo::untold(info.error().text));
    else // what was last known of it still holds
        co_return Result<>();
    co_return m_info->supported();
}

/// What is new is said once, and also that it is over.
void RedisParts::judge(redis::ServerInfo info)
{
    for (const redis::ServerInfo::Finding &change : info.changesSince(m_info.value_or(redis::ServerInfo()))) {
        const bool isSafe = change.verdict == redis::ServerInfo::Verdict::Safe;
        const QJsonObject fields{{u"subject"_s, change.subject}, {u"verdict"_s, nameOf(change.verdict)}};
        log::write(isSafe ? log::Level::Info : log::Level::Warning, component, change.text, fields);
    }
    m_info = std::move(info);
}

/// A server that came back may be an empty one.
QCoro::Task<> RedisParts::onReady()
{
    log::info(component, u"Connected."_s, {{u"url"_s, m_connection->endpoint().display()}});
    for (redis::FunctionLibrary *library :
         {m_quotaFunctions.get(), m_queueFunctions.get(), m_leaseFunctions.get()}) {
        const Result<> loaded = co_await library->ensureLoaded();
        if (!m_connection || !m_connection->isReady())
            co_return; // gone meanwhile; the next ready() begins again
        if (!loaded)
            log::warning(component, loaded.error().text);
    }
    co_await checkServer(); // it may be another one, after a failover
}

} // namespace tidekeeper::app
