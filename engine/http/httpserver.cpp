// SPDX-License-Identifier: Apache-2.0
#include "http/httpserver.h"

#include "http/exchange.h"
#include "http/listensocket.h"

#include <QCoro/QCoroSignal>
#include <QtCore/QFile>
#include <QtCore/QLoggingCategory>
#include <QtCore/QSet>
#include <QtCore/QSocketNotifier>
#include <QtCore/QTimer>
#include <QtNetwork/QHostAddress>

#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

Q_LOGGING_CATEGORY(lcHttp, "tidekeeper.http")

constexpr size_t connectionMemoryBytes = 32 * 1024; ///< request head and read buffer of one connection
constexpr int roundsPerTurn = 32; ///< then the rest of the event loop gets its turn

QHostAddress hostAddress(const sockaddr *address)
{
    QHostAddress host(address);
    bool mapped = false;
    const quint32 v4 = host.toIPv4Address(&mapped); // ::ffff:192.0.2.1 on a dual-stack socket
    return mapped ? QHostAddress(v4) : host;
}

QByteArray countedAs(const QHostAddress &host)
{
    if (host.isLoopback())
        return {};
    if (host.protocol() != QAbstractSocket::IPv6Protocol)
        return host.toString().toLatin1();
    const Q_IPV6ADDR bytes = host.toIPv6Address();
    return QByteArray(reinterpret_cast<const char *>(&bytes), 8);
}

Result<QByteArray> readPem(const QString &path, const QString &key)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        return fail(u"tls_files"_s, u"%1: cannot read %2: %3."_s.arg(key, path, file.errorString()),
                    {{u"key"_s, key}, {u"file"_s, path}});
    }
    return file.readAll();
}

} // namespace

class HttpServer::Private {
public:
    Private(HttpServer *server, ServerOptions o, Router &r, Authenticator a)
        : q(server), options(std::move(o)), router(r), authenticator(std::move(a))
    { }

    Result<> readTlsFiles();
    Result<> start(int listenFd);
    void pump();
    void quiesce();
    void close();

    MHD_Result onRequest(MHD_Connection *connection, const char *method, const char *data, size_t *size,
                         Exchange &exchange);
    void onCompleted(Exchange *exchange);
    bool accepts(const sockaddr *address) const;
    void onConnected(MHD_Connection *connection, void **socketContext);
    void onDisconnected(void **socketContext);
    void log(const char *format, va_list arguments);

    HttpServer *q;
    ServerOptions options;
    Router &router;
    Authenticator authenticator;
    QByteArray certificate;
    QByteArray key;
    QString url;
    QByteArray lastMessage;
    MHD_Daemon *daemon = nullptr;
    std::unique_ptr<QSocketNotifier> notifier;
    QTimer timer;
    QHash<Exchange *, std::shared_ptr<Exchange>> open;
    QHash<QByteArray, int> connectionsPerAddress;
    bool stopping = false;
    bool closing = false;
};

Result<> HttpServer::Private::readTlsFiles()
{
    if (options.tlsCertificate.isEmpty() && options.tlsKey.isEmpty())
        return {};
    if (options.tlsCertificate.isEmpty() || options.tlsKey.isEmpty())
        return fail(u"tls_files"_s, u"TLS needs both http.tls_cert and http.tls_key."_s);
    const Result<QByteArray> certificateFile = readPem(options.tlsCertificate, u"http.tls_cert"_s);
    if (!certificateFile)
        return fail(certificateFile.error());
    const Result<QByteArray> keyFile = readPem(options.tlsKey, u"http.tls_key"_s);
    if (!keyFile)
        return fail(keyFile.error());
    certificate = *certificateFile;
    key = *keyFile;
    return {};
}

Result<> HttpServer::Private::start(int listenFd)
{
    // Callbacks of libmicrohttpd: each hands over to a member.
    auto logger = [](void *self, const char *format, va_list arguments) {
        static_cast<Private *>(self)->log(format, arguments);
    };
    auto accept = [](void *self, const sockaddr *address, socklen_t) {
        return static_cast<Private *>(self)->accepts(address) ? MHD_YES : MHD_NO;
    };
    auto begin = [](void *self, const char *target, MHD_Connection *) -> void * {
        auto exchange = std::make_shared<Exchange>(target);
        static_cast<Private *>(self)->open.insert(exchange.get(), exchange);
        return exchange.get();
    };
    auto keepEncoded = [](void *, MHD_Connection *, char *text) { return std::strlen(text); };
    auto request = [](void *self, MHD_Connection *connection, const char *, const char *method, const char *,
                      const char *data, size_t *size, void **exchange) {
        return static_cast<Private *>(self)->onRequest(connection, method, data, size,
                                                       *static_cast<Exchange *>(*exchange));
    };
    auto completed = [](void *self, MHD_Connection *, void **exchange, MHD_RequestTerminationCode) {
        static_cast<Private *>(self)->onCompleted(static_cast<Exchange *>(*exchange));
    };
    auto connection = [](void *self, MHD_Connection *c, void **context, MHD_ConnectionNotificationCode code) {
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
            static_cast<Private *>(self)->onConnected(c, context);
        else
            static_cast<Private *>(self)->onDisconnected(context);
    };

    std::vector<MHD_OptionItem> extra;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_TURBO;
    if (!certificate.isEmpty()) {
        flags |= MHD_USE_TLS;
        extra.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, certificate.data()});
        extra.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, key.data()});
    }
    extra.push_back({MHD_OPTION_END, 0, nullptr});

    daemon = MHD_start_daemon(
        flags, 0, static_cast<MHD_AcceptPolicyCallback>(accept), this,
        static_cast<MHD_AccessHandlerCallback>(request), this, MHD_OPTION_EXTERNAL_LOGGER,
        static_cast<MHD_LogCallback>(logger), this, MHD_OPTION_LISTEN_SOCKET, MHD_socket(listenFd),
        MHD_OPTION_URI_LOG_CALLBACK, static_cast<void *(*)(void *, const char *, MHD_Connection *)>(begin),
        this, MHD_OPTION_UNESCAPE_CALLBACK,
        static_cast<size_t (*)(void *, MHD_Connection *, char *)>(keepEncoded), this,
        MHD_OPTION_NOTIFY_COMPLETED, static_cast<MHD_RequestCompletedCallback>(completed), this,
        MHD_OPTION_NOTIFY_CONNECTION, static_cast<MHD_NotifyConnectionCallback>(connection), this,
        MHD_OPTION_CONNECTION_LIMIT, unsigned(options.maxConnections), MHD_OPTION_CONNECTION_TIMEOUT,
        unsigned(options.idleTimeoutS), MHD_OPTION_CONNECTION_MEMORY_LIMIT, connectionMemoryBytes,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, extra.data(), MHD_OPTION_END);
    if (!daemon)
        return fail(u"tls_files"_s,
                    u"The HTTP server did not start: %1"_s.arg(QString::fromUtf8(lastMessage)));

    const MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    notifier = std::make_unique<QSocketNotifier>(info->epoll_fd, QSocketNotifier::Read);
    QObject::connect(notifier.get(), &QSocketNotifier::activated, q, [this] { pump(); });
    timer.setSingleShot(true);
    QObject::connect(&timer, &QTimer::timeout, q, [this] { pump(); });
    return {};
}

void HttpServer::Private::pump()
{
    MHD_UNSIGNED_LONG_LONG waitMs = 0;
    bool waits = false;
    for (int round = 0; round < roundsPerTurn; ++round) {
        MHD_run(daemon);
        waits = MHD_get_timeout(daemon, &waitMs) == MHD_YES;
        if (!waits || waitMs > 0)
            break;
    }
    // All connections have the same time-out, so a running timer is never too late.
    if (waits && (waitMs == 0 || !timer.isActive()))
        timer.start(int(waitMs));
}

void HttpServer::Private::quiesce()
{
    stopping = true;
    if (const MHD_socket fd = MHD_quiesce_daemon(daemon); fd != MHD_INVALID_SOCKET)
        ::close(fd);
}

void HttpServer::Private::close()
{
    // libmicrohttpd must not be stopped while a connection is suspended.
    closing = true;
    notifier.reset();
    timer.stop();
    const auto running = open;
    for (const auto &exchange : running)
        exchange->abandon();
    MHD_run(daemon);
    MHD_stop_daemon(daemon);
    daemon = nullptr;
}

MHD_Result HttpServer::Private::onRequest(MHD_Connection *connection, const char *method, const char *data,
                                          size_t *size, Exchange &exchange)
{
    if (closing)
        return MHD_NO;
    if (exchange.isNew()) {
        const bool answerAtOnce =
            exchange.admit(connection, method, router, authenticator, options.maxBodyBytes);
        return answerAtOnce ? exchange.sendAnswer(true) : MHD_YES;
    }
    if (*size > 0) {
        const bool goOn = exchange.receive(data, *size);
        *size = 0;
        return goOn ? MHD_YES : MHD_NO;
    }
    if (!exchange.isAnswered())
        exchange.handle();
    return exchange.isAnswered() ? exchange.sendAnswer(stopping) : MHD_YES;
}

void HttpServer::Private::onCompleted(Exchange *exchange)
{
    exchange->detach();
    open.remove(exchange);
    if (stopping && open.isEmpty())
        QMetaObject::invokeMethod(q, &HttpServer::drained, Qt::QueuedConnection); // not from inside MHD_run
}

bool HttpServer::Private::accepts(const sockaddr *address) const
{
    const QByteArray counted = countedAs(hostAddress(address));
    return counted.isEmpty() || connectionsPerAddress.value(counted) < options.maxConnectionsPerAddress;
}

void HttpServer::Private::onConnected(MHD_Connection *connection, void **socketContext)
{
    const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const QHostAddress host = hostAddress(info->client_addr);
    auto *peer = new Peer{host.toString(), countedAs(host)};
    if (!peer->countedAs.isEmpty())
        ++connectionsPerAddress[peer->countedAs];
    *socketContext = peer;
}

void HttpServer::Private::onDisconnected(void **socketContext)
{
    const std::unique_ptr<Peer> peer(static_cast<Peer *>(*socketContext));
    *socketContext = nullptr;
    const auto count = connectionsPerAddress.find(peer->countedAs);
    if (count != connectionsPerAddress.end() && --*count == 0)
        connectionsPerAddress.erase(count);
}

void HttpServer::Private::log(const char *format, va_list arguments)
{
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    lastMessage = QByteArray(text).trimmed();
    qCDebug(lcHttp, "%s", lastMessage.constData());
}

HttpServer::HttpServer(ServerOptions options, Router &router, Authenticator authenticator, QObject *parent)
    : QObject(parent),
      d(std::make_unique<Private>(this, std::move(options), router, std::move(authenticator)))
{ }

HttpServer::~HttpServer()
{
    if (d->daemon)
        d->close();
}

Result<> HttpServer::listen()
{
    if (const Result<> read = d->readTlsFiles(); !read)
        return read;
    const bool tls = !d->certificate.isEmpty();
    const ServerOptions &options = d->options;
    if (!tls && !options.allowPlainRemote && !isLoopback(options.host)) {
        const QString where = hostAndPort(options.host, options.port);
        return fail(
            u"tls_required"_s,
            u"%1 can be reached from other machines and would show tokens in clear text. Set http.tls_cert "
            "and http.tls_key, listen on 127.0.0.1, or set http.allow_plain_remote = true behind a proxy "
            "that speaks TLS."_s.arg(where),
            {{u"address"_s, where}});
    }
    const Result<ListenSocket> socket = openListenSocket(options.host, options.port);
    if (!socket)
        return fail(socket.error());
    if (const Result<> started = d->start(socket->fd); !started) {
        ::close(socket->fd);
        return started;
    }
    d->url = (tls ? u"https://"_s : u"http://"_s) + hostAndPort(socket->host, socket->port);
    return {};
}

QCoro::Task<> HttpServer::stop(int graceMs)
{
    if (!d->daemon)
        co_return;
    d->quiesce();
    if (!d->open.isEmpty())
        co_await qCoro(this, &HttpServer::drained, std::chrono::milliseconds(graceMs));
    d->close();
}

QString HttpServer::url() const
{
    return d->url;
}

} // namespace tidekeeper::http
