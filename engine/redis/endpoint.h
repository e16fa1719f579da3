// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace tidekeeper::redis {

/// Where a Redis is and how to speak to it. Parsed from redis.url: redis://[user[:password]@]host[:port][/db],
/// rediss:// (the same over TLS), unix:/path[?db=n].
struct Endpoint {
    enum class Transport : quint8 { Tcp, Tls, Unix };

    Transport transport = Transport::Unix;
    QString host = {};
    quint16 port = 6379;
    QString path = {}; ///< Unix socket
    int database = 0;
    QString username = {};
    QByteArray password = {};
    QString caFile = {}; ///< PEM; empty: the authorities of the system

    /// Failure: invalid_redis_url. Its text never repeats the URL, which may hold a password.
    static Result<Endpoint> fromUrl(const QString &url);
    /// For people; never the password.
    QString display() const;
};

} // namespace tidekeeper::redis
