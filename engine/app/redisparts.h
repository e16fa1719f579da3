// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/config.h"
#include "redis/functionlibrary.h"
#include "redis/privateredis.h"
#include "redis/serverinfo.h"

#include <QtCore/QJsonObject>
#include <QtCore/QTimer>

#include <memory>
#include <optional>

namespace tidekeeper::app {

/// Everything of the engine that speaks to Redis directly: the private server or the configured one, the connection
/// that the parts share, the three function libraries, and the check of the server every minute. Main thread.
class RedisParts : public QObject {
    Q_OBJECT

public:
    struct Options {
        bool needsReplica = false; ///< queue.durability = "replicated"
        int checkEveryMs = 60'000;
    };
    RedisParts(const config::RedisConfig &config, QString stateDir, Options options);
    RedisParts(const config::RedisConfig &config, QString stateDir)
        : RedisParts(config, std::move(stateDir), Options())
    { }
    ~RedisParts() override;

    /// Ready, or trying on while a configured server is away. Failures that no waiting mends: redis_missing,
    /// redis_too_old, redis_start_failed, redis_url, redis_password_file.
    QCoro::Task<Result<>> start();
    QCoro::Task<> stop();

    const redis::Endpoint &endpoint() const { return m_connection->endpoint(); }
    redis::RedisConnection &connection() { return *m_connection; }
    redis::FunctionLibrary &quotaFunctions() { return *m_quotaFunctions; }
    redis::FunctionLibrary &queueFunctions() { return *m_queueFunctions; }
    redis::FunctionLibrary &leaseFunctions() { return *m_leaseFunctions; }

    /// {"url", "embedded", "connected" (and not silent), "version", "verdict": "safe", "unknown" or "unsafe",
    ///  "findings": [what is unsafe, a sentence each], "unknown": [what the server does not tell], "latency_us"}.
    QJsonObject status() const;

private:
    Result<redis::Endpoint> configuredEndpoint() const;
    QCoro::Task<Result<>> checkServer();
    void judge(redis::ServerInfo info);
    QCoro::Task<> onReady();

    const config::RedisConfig m_config;
    const Options m_options;
    std::unique_ptr<redis::PrivateRedis> m_private; ///< null with redis.url
    std::unique_ptr<redis::RedisConnection> m_connection;
    std::unique_ptr<redis::FunctionLibrary> m_quotaFunctions;
    std::unique_ptr<redis::FunctionLibrary> m_queueFunctions;
    std::unique_ptr<redis::FunctionLibrary> m_leaseFunctions;
    std::optional<redis::ServerInfo> m_info;
    QTimer m_checkTimer;
};

} // namespace tidekeeper::app
