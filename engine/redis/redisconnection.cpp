// SPDX-License-Identifier: Apache-2.0
#include "redis/redisconnection.h"

#include "redis/callbackawaiter.h"
#include "redis/redisconnection_p.h"

namespace tidekeeper::redis {

RedisConnection::RedisConnection(Endpoint endpoint, ConnectionOptions options, QObject *parent)
    : QObject(parent), d(std::make_unique<Private>(this, std::move(endpoint), std::move(options)))
{ }

RedisConnection::~RedisConnection()
{
    d->shutDown();
}

void RedisConnection::open()
{
    d->open();
}

void RedisConnection::close()
{
    d->close();
}

bool RedisConnection::isReady() const
{
    return d->state == Private::State::Ready;
}

std::optional<qint64> RedisConnection::greetedAtUs() const
{
    return d->greetedAtUs;
}

bool RedisConnection::isBreakerOpen() const
{
    return d->isBreakerOpen;
}

void RedisConnection::send(const QList<QByteArray> &arguments, Callback callback, int timeoutMs)
{
    d->send(arguments, std::move(callback), timeoutMs);
}

QCoro::Task<Result<Value>> RedisConnection::command(QList<QByteArray> arguments, int timeoutMs)
{
    auto answered = awaitCallback<Result<Value>>(
        [&](Callback callback) { send(arguments, std::move(callback), timeoutMs); });
    Result<Value> reply = co_await answered;
    co_return reply;
}

QCoro::Task<bool> RedisConnection::waitReady(int timeoutMs)
{
    if (isReady())
        co_return true;
    auto settled = awaitCallback<bool>(
        [&](std::function<void(bool)> callback) { d->waitReady(timeoutMs, std::move(callback)); });
    const bool isReady = co_await settled;
    co_return isReady;
}

const Endpoint &RedisConnection::endpoint() const
{
    return d->endpoint;
}

qint64 RedisConnection::lastLatencyUs() const
{
    return d->lastLatencyUs;
}

QString RedisConnection::lastError() const
{
    return d->lastError;
}

} // namespace tidekeeper::redis
