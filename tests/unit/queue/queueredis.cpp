// SPDX-License-Identifier: Apache-2.0
#include "queueredis.h"

#include "queue/queuecall.h"

#include <QtCore/QDeadlineTimer>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

QueueRedis::QueueRedis(QStringList serverArguments) : m_server(std::move(serverArguments)) { }

redis::Endpoint QueueRedis::endpoint() const
{
    redis::Endpoint endpoint;
    endpoint.path = m_server.socketPath();
    return endpoint;
}

bool QueueRedis::start()
{
    if (!m_server.start())
        return false;
    m_connection = std::make_unique<redis::RedisConnection>(
        endpoint(), redis::ConnectionOptions{.commandTimeoutMs = 10'000});
    m_library =
        std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_queue", queue::libraryCode());
    m_leaseLibrary = std::make_unique<redis::FunctionLibrary>(
        *m_connection, "tidekeeper_lease", redis::FunctionLibrary::embedded(u"lease.lua"_s));
    m_queue = std::make_unique<queue::JobQueue>(u"test"_s, *m_library);
    m_connection->open();
    return QCoro::waitFor(m_connection->waitReady(10'000)) && QCoro::waitFor(m_library->ensureLoaded())
        && QCoro::waitFor(m_leaseLibrary->ensureLoaded());
}

redis::Value QueueRedis::command(const QList<QByteArray> &arguments)
{
    const Result<redis::Value> answer = QCoro::waitFor(m_connection->command(arguments));
    if (!answer)
        qFatal("%s: %s", arguments.first().constData(), qPrintable(answer.error().text));
    return *answer;
}

redis::Value QueueRedis::call(const QByteArray &function, const QList<QByteArray> &arguments)
{
    return command(
        QList<QByteArray>{"FCALL", "tidekeeper_" + function + "_v1", "1", queue::queuePrefix(u"test"_s)}
        + arguments);
}

QByteArray QueueRedis::field(const QByteArray &job, const QByteArray &name)
{
    return command({"HGET", key("job:" + job), name}).text;
}

QByteArray QueueRedis::add(const QByteArray &id, const QByteArray &dedupe, qint64 delayMs, bool urgent)
{
    const redis::Value reply =
        call("enqueue",
             {"", "0", id, "work", "{}", dedupe, QByteArray::number(delayMs), urgent ? "1" : "0", "", ""});
    return reply.isError() ? reply.text : reply.items[1].text;
}

redis::Value QueueRedis::turn(const Turn &turn)
{
    QList<QByteArray> arguments{turn.consumer,
                                turn.token.isEmpty() ? queue::randomToken() : turn.token,
                                QByteArray::number(turn.leaseMs),
                                "3",
                                QByteArray::number(turn.take),
                                QByteArray::number(turn.begin),
                                "1",
                                QByteArray::number(turn.ends.size())};
    for (const auto &[id, owner] : turn.ends + turn.starts)
        arguments << id << owner;
    return call("turn", arguments);
}

QList<QueueRedis::Taken> QueueRedis::take(int count, int leaseMs, const QByteArray &consumer)
{
    const redis::Value reply = turn({.consumer = consumer, .leaseMs = leaseMs, .take = count});
    if (reply.isError())
        qFatal("take: %s", reply.text.constData());
    QList<Taken> taken;
    for (const redis::Value &job : reply.items[2].items)
        taken.append({job.items[0].text, job.items[1].text, int(job.items[6].toInteger())});
    return taken;
}

QList<QueueRedis::Taken> QueueRedis::takeSoon(int count, int leaseMs, const QByteArray &consumer)
{
    const QDeadlineTimer deadline(5'000);
    QList<Taken> taken;
    while (taken.isEmpty() && !deadline.hasExpired())
        taken = take(count, leaseMs, consumer);
    return taken;
}

int QueueRedis::start(const QByteArray &id, const QByteArray &owner, int leaseMs)
{
    const redis::Value reply = turn({.token = "own-" + id, .leaseMs = leaseMs, .starts = {{id, owner}}});
    return reply.isError() ? -1 : int(reply.items[1].items.value(0).toInteger());
}

QByteArray QueueRedis::startOne(int leaseMs)
{
    const QList<Taken> taken = takeSoon(1, leaseMs);
    if (taken.isEmpty() || start(taken.first().id, taken.first().owner, leaseMs) < 1)
        return {};
    return taken.first().id;
}

QStringList QueueRedis::placesOf(const QByteArray &id)
{
    QStringList places;
    const bool isClaimed = !command({"ZSCORE", key("claimed"), id}).isNil();
    const bool isRunning = !command({"ZSCORE", key("running"), id}).isNil();
    for (const char *set : {"claimed", "dead", "delayed", "discarded", "running"}) {
        if (!command({"ZSCORE", key(set), id}).isNil())
            places.append(QString::fromLatin1(set));
    }
    for (const char *lane : {"stream:urgent", "stream:normal"}) {
        const redis::Value entries = command({"XRANGE", key(lane), "-", "+"});
        for (const redis::Value &entry : entries.items) {
            // An entry in a worker's hands stays in its stream until the job ends.
            if (entry.items[1].items[1].text == id && !isClaimed && !isRunning)
                places.append(u"waiting"_s);
        }
    }
    places.sort();
    return places;
}

} // namespace tidekeeper::test
