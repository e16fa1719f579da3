// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace tidekeeper::http {

/// A bound, listening, non-blocking TCP socket; the caller closes fd or hands it on.
struct ListenSocket {
    int fd = -1;
    QString host; ///< the address it is bound to
    quint16 port = 0;
    bool loopback = false;
};

/// host: an IPv4 or IPv6 address or "localhost". Failures: port_in_use, address_refused.
Result<ListenSocket> openListenSocket(const QString &host, quint16 port);

/// "127.0.0.1:8787", "[::1]:8787"
QString hostAndPort(const QString &host, quint16 port);

bool isLoopback(const QString &host);

} // namespace tidekeeper::http
