// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"

namespace tidekeeper::redis {

/// What a server's INFO says, and whether our data is safe with it. INFO and not CONFIG, which managed services
/// block; what INFO does not tell is unknown, which is no failure.
struct ServerInfo {
    enum class Verdict : quint8 { Safe, Unknown, Unsafe };

    struct Finding {
        QString subject; ///< version, eviction, persistence, memory, snapshot, role, replicas, info
        Verdict verdict = Verdict::Unknown;
        QString text; ///< one sentence; what to do when it is unsafe
    };

    QString product; ///< "Redis" or "Valkey"
    QString version; ///< of that product; empty when not told
    qint64 processId = 0;
    QList<Finding> findings;

    /// needsReplica: without a replica that is up to date it is unsafe.
    static ServerInfo parse(const QByteArray &info, bool needsReplica = false);
    /// Of a server that does not answer INFO: all is unknown; why: a sentence.
    static ServerInfo untold(const QString &why);

    /// Failure: redis_too_old, for a Redis known to be older than 7.0, the first with functions.
    Result<> supported() const;
    Verdict verdict() const; ///< the worst of the findings
    /// The findings whose verdict is another than before; what is no longer found counts as safe.
    QList<Finding> changesSince(const ServerInfo &before) const;
};

/// Asks the server. Failures: redis_*; redis_refused when it refuses INFO.
QCoro::Task<Result<ServerInfo>> readServerInfo(RedisConnection &connection, int timeoutMs = 0,
                                               bool needsReplica = false);

} // namespace tidekeeper::redis
