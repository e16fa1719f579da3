// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"
#include "renewal/custodian.h"

namespace tidekeeper::app {

/// The cluster's id in Redis. Main thread.
class RedisClusterMark final : public renewal::ClusterMark {
public:
    explicit RedisClusterMark(redis::RedisConnection &connection) : m_connection(connection) { }

    QCoro::Task<std::optional<QString>> read() override;
    QCoro::Task<std::optional<QString>> claim(QString cluster) override;
    QCoro::Task<> replace(QString cluster) override;

private:
    redis::RedisConnection &m_connection;
};

} // namespace tidekeeper::app
