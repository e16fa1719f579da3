// SPDX-License-Identifier: Apache-2.0
#include "fleet.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QThread>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int readEveryMs = 500;

QStringList serverArguments()
{
    return CommandLog::serverArguments()
        + QStringList{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"always"_s};
}

} // namespace

Fleet::Fleet(Options options) : m_options(std::move(options)), m_redis(serverArguments())
{
    QStringList arguments{u"--redis"_s,    m_redis.url(),
                          u"--lease-ms"_s, QString::number(m_options.leaseMs),
                          u"--every-ms"_s, QString::number(m_options.everyMs)};
    for (const QJsonObject &schedule : m_options.schedules)
        arguments << u"--schedule"_s
                  << QString::fromUtf8(QJsonDocument(schedule).toJson(QJsonDocument::Compact));
    for (int i = 0; i < m_options.engines; ++i)
        m_engines.push_back(
            std::make_unique<EngineProcess>(arguments, m_folder.filePath(u"engine-%1.log"_s.arg(i))));
    m_heldUntil.resize(m_engines.size());
}

bool Fleet::startRedis()
{
    if (!m_redis.start())
        return false;
    m_connection = std::make_unique<redis::RedisConnection>(
        *redis::Endpoint::fromUrl(m_redis.url()), redis::ConnectionOptions{.commandTimeoutMs = 10'000});
    m_connection->open();
    return QCoro::waitFor(m_connection->waitReady(10'000));
}

bool Fleet::restartRedis()
{
    m_commands.read(*m_connection);
    m_redis.kill();
    m_connection.reset();
    return startRedis();
}

void Fleet::stallRedis(int ms)
{
    m_redis.pause();
    QThread::msleep(static_cast<unsigned long>(ms));
    m_redis.resume();
}

int Fleet::leader()
{
    const qint64 term = command({"HGET", "tk:{lease:scheduler}", "term"}).toInteger();
    for (int i = 0; i < m_options.engines; ++i) {
        const QList<QJsonObject> &events = engine(i).events();
        const auto last = std::find_if(events.rbegin(), events.rend(), [](const QJsonObject &event) {
            return event["event"_L1] == "leads"_L1;
        });
        if (term != 0 && last != events.rend() && (*last)["term"_L1].toInteger() == term
            && engine(i).isRunning())
            return i;
    }
    return -1;
}

void Fleet::tend(const std::function<void(int)> &restart)
{
    for (size_t i = 0; i < m_engines.size(); ++i) {
        EngineProcess &engine = *m_engines[i];
        std::optional<QDeadlineTimer> &until = m_heldUntil[i];
        if (!engine.isRunning()) {
            until.reset();
            if (restart)
                restart(int(i));
        } else if (!engine.isHeld()) {
            until.reset();
        } else if (!until) {
            until.emplace(2 * m_options.leaseMs);
        } else if (until->hasExpired()) {
            engine.resume();
            until.reset();
            ++held;
        }
    }
    if (m_nextRead.hasExpired()) {
        m_commands.read(*m_connection);
        m_nextRead.setRemainingTime(readEveryMs);
    }
}

bool Fleet::eventually(int ms, const std::function<bool()> &condition,
                       const std::function<void(int)> &restart)
{
    const QDeadlineTimer end(ms);
    while (!condition()) {
        if (end.hasExpired())
            return false;
        tend(restart);
        QThread::msleep(20);
    }
    return true;
}

bool Fleet::stopEngines()
{
    for (const auto &engine : m_engines)
        engine->resume();
    QThread::msleep(500);
    bool inOrder = true;
    for (const auto &engine : m_engines)
        inOrder &= engine->stop();
    m_commands.read(*m_connection);
    return inOrder;
}

redis::Value Fleet::command(const QList<QByteArray> &arguments)
{
    return QCoro::waitFor(m_connection->command(arguments)).value_or(redis::Value());
}

} // namespace tidekeeper::faults
