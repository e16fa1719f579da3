// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"

#include <QtCore/QObject>

#include <memory>

namespace tidekeeper::http {

class Daemon;

/// Who is behind a bearer token; None when nobody. Compares in constant time.
using Authenticator = std::function<Principal(const QByteArray &bearerToken)>;

struct ServerOptions {
    QString host = QStringLiteral("127.0.0.1");
    quint16 port = 8787; ///< 0 = any free one
    QString tlsCertificate;
    QString tlsKey;
    bool allowPlainRemote = false; ///< listen beyond loopback without TLS
    qint64 maxBodyBytes = 1024 * 1024;
    int maxConnections = 4096;
    int maxConnectionsPerAddress = 512; ///< loopback exempt
    int idleTimeoutS = 60;
};

/// libmicrohttpd in, coroutine handlers out. Main thread.
class HttpServer : public QObject {
    Q_OBJECT

public:
    HttpServer(ServerOptions options, Router &router, Authenticator authenticator, QObject *parent = nullptr);
    ~HttpServer() override;

    /// Takes the address, so that a start that cannot succeed fails before anything else is done; callers wait until
    /// listen(). Failures: as of listen().
    Result<> bind();
    /// Begins to answer; binds when that was not done. Failures: port_in_use, address_refused, tls_required, tls_files; each names the address and the remedy.
    Result<> listen();
    /// Stops accepting, lets running handlers finish for at most graceMs. Answers of that time close their
    /// connections; whoever still waits at the end is cut off.
    QCoro::Task<> stop(int graceMs);

    QString url() const; ///< "http://127.0.0.1:8787"

private:
    ServerOptions m_options;
    std::unique_ptr<Daemon> m_daemon;
    int m_boundFd = -1; ///< from bind() to listen()
    QString m_url;
};

} // namespace tidekeeper::http
