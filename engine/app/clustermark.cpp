// SPDX-License-Identifier: Apache-2.0
#include "app/clustermark.h"

#include "log/log.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

const QByteArray key("tk:{engines}:cluster");
constexpr int timeoutMs = 1'000;

} // namespace

QCoro::Task<std::optional<QString>> RedisClusterMark::read()
{
    if (!m_connection.isReady())
        co_return std::nullopt;
    QList<QByteArray> get{"GET", key};
    const Result<redis::Value> held = co_await m_connection.command(std::move(get), timeoutMs);
    if (!held)
        co_return std::nullopt;
    co_return QString::fromUtf8(held->text);
}

QCoro::Task<std::optional<QString>> RedisClusterMark::claim(QString cluster)
{
    if (!m_connection.isReady())
        co_return std::nullopt;
    QList<QByteArray> set{"SET", key, cluster.toUtf8(), "NX"};
    const Result<redis::Value> written = co_await m_connection.command(std::move(set), timeoutMs);
    if (!written)
        co_return std::nullopt;
    const std::optional<QString> held = co_await read();
    co_return held;
}

QCoro::Task<> RedisClusterMark::replace(QString cluster)
{
    QList<QByteArray> set{"SET", key, cluster.toUtf8()};
    const Result<redis::Value> written = co_await m_connection.command(std::move(set), timeoutMs);
    if (!written) // an engine that joins later is held until somebody says that it may work
        log::warning(u"renewal"_s, u"The cluster's id was not written to Redis: "_s + written.error().text);
}

} // namespace tidekeeper::app
