// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/addresslimit.h"
#include "http/exchange.h"

#include <QtCore/QSocketNotifier>
#include <QtCore/QTimer>

namespace tidekeeper::http {

struct TlsFiles {
    QByteArray certificate; ///< PEM; empty = plain HTTP
    QByteArray key;
};

/// libmicrohttpd, driven by its epoll descriptor from the Qt event loop, without a thread of its own.
class Daemon : public QObject {
    Q_OBJECT

public:
    Daemon(const ServerOptions &options, Router &router, Authenticator authenticator);
    ~Daemon() override;

    /// Takes the listening socket over. Failure: tls_files.
    Result<> start(int listenFd, TlsFiles tls);
    /// From now on no new connections, and each answer closes its connection.
    void quiesce();
    bool isBusy() const { return !m_exchanges.isEmpty(); }
    /// Cuts off who still waits. Not from inside a handler.
    void close();

    /// A suspended connection has its answer.
    void wake();

Q_SIGNALS:
    void drained(); ///< after quiesce(): the last open request has its answer

private:
    MHD_Daemon *startDaemon(int listenFd);
    void pump();
    void *onTarget(const char *target);
    MHD_Result onRequest(MHD_Connection *connection, const char *method, const char *data, size_t *size,
                         Exchange &exchange);
    void onCompleted(Exchange *exchange);
    void onConnection(MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode code);
    void onLog(const char *format, va_list arguments);

    struct Callbacks;

    const ServerOptions &m_options;
    Router &m_router;
    Authenticator m_authenticator;
    TlsFiles m_tls;
    AddressLimit m_addresses;
    QHash<Exchange *, std::shared_ptr<Exchange>> m_exchanges; ///< open requests
    MHD_Daemon *m_daemon = nullptr;
    std::unique_ptr<QSocketNotifier> m_notifier;
    QTimer m_idleTimer; ///< the next connection that may have been idle for too long
    QTimer m_wakeTimer; ///< 0 ms
    QByteArray m_lastMessage;
    bool m_quiesced = false;
    bool m_closing = false;
};

} // namespace tidekeeper::http
