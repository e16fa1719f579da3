// SPDX-License-Identifier: Apache-2.0
#include "google/httpfront.h"

#include <QtCore/QSocketNotifier>
#include <QtCore/QTimer>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unordered_set>

#include <microhttpd.h>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

constexpr qsizetype largestBody = 160 * 1024 * 1024; // what Gmail takes for messages.import, and a little
constexpr unsigned idleTimeoutS = 120;
constexpr int silenceLookMs = 200; // how often it is looked whether a caller left in silence has hung up

struct Exchange {
    Call call;
    bool tooLarge = false;
    bool answered = false; ///< the handler was asked
    Answer answer;
    MHD_Connection *connection = nullptr;
    QTimer *timer = nullptr;
};

MHD_Result takeHeader(void *closure, MHD_ValueKind, const char *name, const char *value)
{
    static_cast<Call *>(closure)->headers.insert(QByteArray(name).toLower(), QByteArray(value));
    return MHD_YES;
}

/// Hands out half of the body, then breaks the connection.
ssize_t readHalf(void *closure, uint64_t position, char *buffer, size_t room)
{
    const auto *half = static_cast<const QByteArray *>(closure);
    if (qsizetype(position) >= half->size())
        return MHD_CONTENT_READER_END_WITH_ERROR;
    const size_t count = std::min(room, size_t(half->size()) - size_t(position));
    std::memcpy(buffer, half->constData() + position, count);
    return ssize_t(count);
}

void dropHalf(void *closure)
{
    delete static_cast<QByteArray *>(closure);
}

MHD_Response *responseOf(const Answer &answer)
{
    MHD_Response *response = nullptr;
    if (answer.ending == Answer::Ending::Cut) {
        auto *half = new QByteArray(answer.body.left(std::max<qsizetype>(1, answer.body.size() / 2)));
        const auto announced = uint64_t(std::max<qsizetype>(answer.body.size(), half->size() + 1));
        response = MHD_create_response_from_callback(announced, 4096, &readHalf, half, &dropHalf);
    } else {
        response = MHD_create_response_from_buffer(
            size_t(answer.body.size()), const_cast<char *>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
    }
    if (!answer.contentType.isEmpty())
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.contentType.constData());
    for (const auto &[name, value] : answer.headers)
        MHD_add_response_header(response, name.constData(), value.constData());
    return response;
}

Answer bodyTooLarge()
{
    return Answer::json({{u"error"_s, u"The request body is too large."_s}}, 413);
}

} // namespace

class HttpFront::Private {
public:
    Private(HttpFront *front, Handler theHandler) : q(front), handler(std::move(theHandler)) { }

    static MHD_Result onRequest(void *self, MHD_Connection *connection, const char *url, const char *method,
                                const char *version, const char *upload, size_t *uploadSize, void **state);
    static void onCompleted(void *self, MHD_Connection *connection, void **state,
                            MHD_RequestTerminationCode why);
    static void *onUri(void *self, const char *uri, MHD_Connection *connection);

    MHD_Result answer(Exchange *exchange);
    void answerLater(Exchange *exchange);
    void keepSilent(Exchange *exchange);
    void suspend(Exchange *exchange);
    void resume(Exchange *exchange);
    void run();

    HttpFront *q;
    Handler handler;
    MHD_Daemon *daemon = nullptr;
    std::unique_ptr<QSocketNotifier> notifier;
    QTimer timeout;
    QString url;
    std::unordered_set<Exchange *> suspended;
    bool running = false;
};

/// Called first with the line as it came: path and query are kept encoded, as the handler wants them.
void *HttpFront::Private::onUri(void *, const char *uri, MHD_Connection *)
{
    auto *exchange = new Exchange;
    const QString line = QString::fromLatin1(uri);
    exchange->call.path = line.section(u'?', 0, 0);
    if (line.contains(u'?'))
        exchange->call.query = QUrlQuery(line.section(u'?', 1).replace(u'+', u"%20"_s));
    return exchange;
}

MHD_Result HttpFront::Private::onRequest(void *self, MHD_Connection *connection, const char *,
                                         const char *method, const char *, const char *upload,
                                         size_t *uploadSize, void **state)
{
    auto *exchange = static_cast<Exchange *>(*state);
    if (!exchange->connection) {
        exchange->connection = connection;
        exchange->call.method = method;
        MHD_get_connection_values(connection, MHD_HEADER_KIND, &takeHeader, &exchange->call);
        return MHD_YES;
    }
    if (*uploadSize > 0) {
        exchange->tooLarge =
            exchange->tooLarge || exchange->call.body.size() + qsizetype(*uploadSize) > largestBody;
        if (!exchange->tooLarge)
            exchange->call.body.append(upload, qsizetype(*uploadSize));
        *uploadSize = 0;
        return MHD_YES;
    }
    return static_cast<Private *>(self)->answer(exchange);
}

MHD_Result HttpFront::Private::answer(Exchange *exchange)
{
    if (!exchange->answered) {
        exchange->answered = true;
        exchange->answer = exchange->tooLarge ? bodyTooLarge() : handler(exchange->call);
        if (exchange->answer.ending == Answer::Ending::Silent) {
            keepSilent(exchange);
            return MHD_YES;
        }
        if (exchange->answer.delayMs > 0) {
            answerLater(exchange);
            return MHD_YES;
        }
    }
    // The place is free before the caller can know that its call is over.
    exchange->answer.inFlight.clear();
    if (exchange->answer.ending == Answer::Ending::Silent)
        return MHD_NO;
    MHD_Response *response = responseOf(exchange->answer);
    const MHD_Result result =
        MHD_queue_response(exchange->connection, unsigned(exchange->answer.status), response);
    MHD_destroy_response(response);
    return result;
}

void HttpFront::Private::answerLater(Exchange *exchange)
{
    suspend(exchange);
    exchange->timer->setSingleShot(true);
    exchange->timer->setTimerType(Qt::PreciseTimer);
    QObject::connect(exchange->timer, &QTimer::timeout, q, [this, exchange] {
        resume(exchange);
        run();
    });
    exchange->timer->start(exchange->answer.delayMs);
}

/// Until the caller hangs up, which nobody else notices while the connection is suspended.
void HttpFront::Private::keepSilent(Exchange *exchange)
{
    suspend(exchange);
    const int descriptor =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    QObject::connect(exchange->timer, &QTimer::timeout, q, [this, exchange, descriptor] {
        char byte = 0;
        const ssize_t count = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (count > 0 || (count < 0 && errno == EAGAIN))
            return;
        resume(exchange);
        run();
    });
    exchange->timer->start(silenceLookMs);
}

void HttpFront::Private::suspend(Exchange *exchange)
{
    MHD_suspend_connection(exchange->connection);
    suspended.insert(exchange);
    exchange->timer = new QTimer(q);
}

void HttpFront::Private::resume(Exchange *exchange)
{
    suspended.erase(exchange);
    exchange->timer->stop();
    exchange->timer->deleteLater();
    exchange->timer = nullptr;
    MHD_resume_connection(exchange->connection);
}

void HttpFront::Private::onCompleted(void *, MHD_Connection *, void **state, MHD_RequestTerminationCode)
{
    delete static_cast<Exchange *>(*state);
    *state = nullptr;
}

void HttpFront::Private::run()
{
    if (running)
        return;
    running = true;
    MHD_UNSIGNED_LONG_LONG waitMs = 0;
    MHD_Result mustRunAgain = MHD_YES;
    do {
        MHD_run(daemon);
        mustRunAgain = MHD_get_timeout(daemon, &waitMs);
    } while (mustRunAgain == MHD_YES && waitMs == 0);
    running = false;
    if (mustRunAgain == MHD_YES)
        timeout.start(int(std::min<MHD_UNSIGNED_LONG_LONG>(waitMs, 60'000)));
    else
        timeout.stop();
}

HttpFront::HttpFront(Handler handler, QObject *parent)
    : QObject(parent), d(std::make_unique<Private>(this, std::move(handler)))
{ }

HttpFront::~HttpFront()
{
    d->notifier.reset();
    if (!d->daemon)
        return;
    const auto waiting = d->suspended;
    for (Exchange *exchange : waiting)
        d->resume(exchange);
    MHD_stop_daemon(d->daemon);
}

QString HttpFront::listen(const QHostAddress &address, quint16 port)
{
    sockaddr_in6 six{};
    sockaddr_in four{};
    const bool isSix = address.protocol() == QAbstractSocket::IPv6Protocol;
    if (isSix) {
        const Q_IPV6ADDR bytes = address.toIPv6Address();
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        std::memcpy(&six.sin6_addr, &bytes, sizeof six.sin6_addr);
    } else {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        four.sin_addr.s_addr = htonl(address.toIPv4Address());
    }
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (isSix ? unsigned(MHD_USE_IPv6) : 0U);
    d->daemon =
        MHD_start_daemon(flags, port, nullptr, nullptr, &Private::onRequest, d.get(), MHD_OPTION_SOCK_ADDR,
                         isSix ? reinterpret_cast<sockaddr *>(&six) : reinterpret_cast<sockaddr *>(&four),
                         MHD_OPTION_NOTIFY_COMPLETED, &Private::onCompleted, d.get(),
                         MHD_OPTION_URI_LOG_CALLBACK, &Private::onUri, d.get(), MHD_OPTION_CONNECTION_TIMEOUT,
                         idleTimeoutS, MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024U, MHD_OPTION_END);
    if (!d->daemon)
        return u"Cannot listen on %1 port %2: %3. Is the port in use? Choose another with --listen HOST:PORT."_s
            .arg(address.toString(), QString::number(port), QString::fromLocal8Bit(std::strerror(errno)));
    const quint16 bound = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    d->url = isSix ? u"http://[%1]:%2"_s.arg(address.toString()).arg(bound)
                   : u"http://%1:%2"_s.arg(address.toString()).arg(bound);
    const int descriptor = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    d->notifier = std::make_unique<QSocketNotifier>(descriptor, QSocketNotifier::Read);
    connect(d->notifier.get(), &QSocketNotifier::activated, this, [this] { d->run(); });
    d->timeout.setSingleShot(true);
    connect(&d->timeout, &QTimer::timeout, this, [this] { d->run(); });
    return {};
}

QString HttpFront::url() const
{
    return d->url;
}

} // namespace tidekeeper::googlesim
