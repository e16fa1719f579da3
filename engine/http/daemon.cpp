// SPDX-License-Identifier: Apache-2.0
#include "http/daemon.h"

#include <QtCore/QLoggingCategory>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

Q_LOGGING_CATEGORY(lcHttp, "tidekeeper.http")

/// Request head and read buffer of one connection. An idle one holds all of it: a thousand take 15 MB, and with 32 KiB
/// each they took 40.
constexpr intptr_t connectionMemoryBytes = 8 * 1024;
constexpr int roundsPerTurn = 32; ///< then the rest of the event loop gets its turn

template<typename Function>
MHD_OptionItem callback(MHD_OPTION option, Function *function, void *self)
{
    return {option, reinterpret_cast<intptr_t>(function), self};
}

} // namespace

/// What libmicrohttpd calls; each hands over to a member.
struct Daemon::Callbacks {
    static Daemon *of(void *self) { return static_cast<Daemon *>(self); }

    static void log(void *self, const char *format, va_list arguments) { of(self)->onLog(format, arguments); }

    static MHD_Result accept(void *self, const sockaddr *address, socklen_t)
    {
        return of(self)->m_addresses.allows(peerOf(address)) ? MHD_YES : MHD_NO;
    }

    static void connection(void *self, MHD_Connection *connection, void **context,
                           MHD_ConnectionNotificationCode code)
    {
        of(self)->onConnection(connection, context, code);
    }

    static void *target(void *self, const char *target, MHD_Connection *)
    {
        return of(self)->onTarget(target);
    }

    // Paths are split before they are decoded: an encoded slash belongs to its segment.
    static size_t keepEncoded(void *, MHD_Connection *, char *text) { return std::strlen(text); }

    static MHD_Result request(void *self, MHD_Connection *connection, const char *, const char *method,
                              const char *, const char *data, size_t *size, void **exchange)
    {
        return of(self)->onRequest(connection, method, data, size, *static_cast<Exchange *>(*exchange));
    }

    static void completed(void *self, MHD_Connection *, void **exchange, MHD_RequestTerminationCode)
    {
        of(self)->onCompleted(static_cast<Exchange *>(*exchange));
    }
};

Daemon::Daemon(const ServerOptions &options, Router &router, Authenticator authenticator)
    : m_options(options), m_router(router), m_authenticator(std::move(authenticator)),
      m_addresses(options.maxConnectionsPerAddress)
{
    m_idleTimer.setSingleShot(true);
    m_wakeTimer.setSingleShot(true);
    connect(&m_idleTimer, &QTimer::timeout, this, &Daemon::pump);
    connect(&m_wakeTimer, &QTimer::timeout, this, &Daemon::pump);
}

Daemon::~Daemon()
{
    close();
}

Result<> Daemon::start(int listenFd, TlsFiles tls)
{
    m_tls = std::move(tls);
    m_daemon = startDaemon(listenFd);
    if (!m_daemon) {
        if (::fcntl(listenFd, F_GETFD) != -1) // some of its failures close it, some do not
            ::close(listenFd);
        return fail(u"tls_files"_s,
                    u"The HTTP server does not start with these http.tls_cert and http.tls_key: %1"_s.arg(
                        QString::fromUtf8(m_lastMessage)));
    }
    const MHD_DaemonInfo *info = MHD_get_daemon_info(m_daemon, MHD_DAEMON_INFO_EPOLL_FD);
    m_notifier = std::make_unique<QSocketNotifier>(info->epoll_fd, QSocketNotifier::Read);
    connect(m_notifier.get(), &QSocketNotifier::activated, this, &Daemon::pump);
    return {};
}

MHD_Daemon *Daemon::startDaemon(int listenFd)
{
    std::vector<MHD_OptionItem> items{
        callback(MHD_OPTION_URI_LOG_CALLBACK, &Callbacks::target, this),
        callback(MHD_OPTION_UNESCAPE_CALLBACK, &Callbacks::keepEncoded, this),
        callback(MHD_OPTION_NOTIFY_COMPLETED, &Callbacks::completed, this),
        callback(MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::connection, this),
        {MHD_OPTION_LISTEN_SOCKET, listenFd, nullptr},
        {MHD_OPTION_CONNECTION_LIMIT, m_options.maxConnections, nullptr},
        {MHD_OPTION_CONNECTION_TIMEOUT, m_options.idleTimeoutS, nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, connectionMemoryBytes, nullptr},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr},
    };
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (!m_tls.certificate.isEmpty()) {
        flags |= MHD_USE_TLS;
        items.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, m_tls.certificate.data()});
        items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, m_tls.key.data()});
    }
    items.push_back({MHD_OPTION_END, 0, nullptr});
    return MHD_start_daemon(flags, 0, &Callbacks::accept, this, &Callbacks::request, this,
                            MHD_OPTION_EXTERNAL_LOGGER, &Callbacks::log, this, MHD_OPTION_ARRAY, items.data(),
                            MHD_OPTION_END);
}

void Daemon::wake()
{
    if (!m_wakeTimer.isActive())
        m_wakeTimer.start(0);
}

void Daemon::pump()
{
    MHD_UNSIGNED_LONG_LONG waitMs = 0;
    for (int round = 0; round < roundsPerTurn; ++round) {
        MHD_run(m_daemon);
        if (MHD_get_timeout(m_daemon, &waitMs) != MHD_YES)
            return;
        if (waitMs > 0) {
            // All connections have the same time-out, so a running timer is never too late.
            if (!m_idleTimer.isActive())
                m_idleTimer.start(int(waitMs));
            return;
        }
    }
    wake();
}

void Daemon::quiesce()
{
    m_quiesced = true;
    if (!m_daemon)
        return;
    if (const MHD_socket fd = MHD_quiesce_daemon(m_daemon); fd != MHD_INVALID_SOCKET)
        ::close(fd);
}

void Daemon::close()
{
    if (!m_daemon)
        return;
    m_closing = true;
    m_notifier.reset();
    // libmicrohttpd must not be stopped while a connection is suspended.
    const auto open = m_exchanges;
    for (const auto &exchange : open)
        exchange->resume();
    MHD_run(m_daemon);
    MHD_stop_daemon(m_daemon);
    m_daemon = nullptr;
    m_idleTimer.stop();
    m_wakeTimer.stop();
}

void *Daemon::onTarget(const char *target)
{
    auto exchange = std::make_shared<Exchange>(*this, target);
    m_exchanges.insert(exchange.get(), exchange);
    return exchange.get();
}

MHD_Result Daemon::onRequest(MHD_Connection *connection, const char *method, const char *data, size_t *size,
                             Exchange &exchange)
{
    if (m_closing)
        return MHD_NO;
    if (exchange.isNew()) {
        const bool atOnce =
            exchange.admit(connection, method, m_router, m_authenticator, m_options.maxBodyBytes);
        return atOnce ? exchange.sendAnswer(true) : MHD_YES;
    }
    if (*size > 0) {
        const bool goOn = exchange.receive(data, *size);
        *size = 0;
        return goOn ? MHD_YES : MHD_NO;
    }
    if (!exchange.isAnswered())
        exchange.handle();
    return exchange.isAnswered() ? exchange.sendAnswer(m_quiesced) : MHD_YES;
}

void Daemon::onCompleted(Exchange *exchange)
{
    exchange->detach();
    m_exchanges.remove(exchange);
    if (m_quiesced && m_exchanges.isEmpty())
        QMetaObject::invokeMethod(this, &Daemon::drained, Qt::QueuedConnection); // not from inside MHD_run
}

void Daemon::onConnection(MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        auto *peer = new Peer(peerOf(info->client_addr));
        m_addresses.opened(*peer);
        *context = peer;
        return;
    }
    const std::unique_ptr<Peer> peer(static_cast<Peer *>(*context));
    m_addresses.closed(*peer);
    wake(); // at the limit of connections it listens again in its next run only
}

void Daemon::onLog(const char *format, va_list arguments)
{
    std::array<char, 1024> text;
    std::vsnprintf(text.data(), text.size(), format, arguments);
    m_lastMessage = QByteArray(text.data()).trimmed();
    qCDebug(lcHttp, "%s", m_lastMessage.constData());
}

} // namespace tidekeeper::http
