// SPDX-License-Identifier: Apache-2.0
#include "http/exchange.h"

#include "http/daemon.h"

#include <QtCore/QLoggingCategory>

#include <cstring>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

Q_LOGGING_CATEGORY(lcHttp, "tidekeeper.http")

// A refused body is still read, so that its sender sees the answer instead of a reset; but not without end.
constexpr qint64 readPastFactor = 16;

std::optional<Method> methodFrom(const char *name)
{
    static constexpr std::pair<const char *, Method> methods[] = {
        {"POST", Method::Post}, {"GET", Method::Get},     {"HEAD", Method::Get},
        {"PUT", Method::Put},   {"PATCH", Method::Patch}, {"DELETE", Method::Delete},
    };
    for (const auto &[known, method] : methods) {
        if (std::strcmp(known, name) == 0)
            return method;
    }
    return std::nullopt;
}

MHD_Result takeHeader(void *headers, MHD_ValueKind, const char *name, const char *value)
{
    static_cast<QHash<QByteArray, QByteArray> *>(headers)->insert(QByteArray(name).toLower(),
                                                                  QByteArray(value));
    return MHD_YES;
}

Response unauthorized(bool tokenGiven)
{
    Response response = Response::problem(Error::failure(
        u"unauthorized"_s,
        tokenGiven
            ? u"The bearer token is not known here."_s
            : u"This needs a token: send Authorization: Bearer TOKEN. The administrator's is in the file "
              "admin.token of the engine's state folder."_s));
    response.headers.emplaceBack("WWW-Authenticate", "Bearer realm=\"tidekeeper\"");
    return response;
}

Response forbidden(Role needed)
{
    return Response::problem(Error::failure(u"forbidden"_s,
                                            u"This needs the role %1."_s.arg(toString(needed)),
                                            {{u"needs_role"_s, toString(needed)}}));
}

Response options(const QString &allow)
{
    Response response;
    response.status = 204;
    response.headers.emplaceBack("Allow", allow.toLatin1());
    return response;
}

Response noSuchMethod(const QString &allow)
{
    Response response = Response::problem(Error::failure(
        u"method_not_allowed"_s, u"This path does not take that method. It takes %1."_s.arg(allow),
        {{u"allow"_s, allow}}));
    response.headers.emplaceBack("Allow", allow.toLatin1());
    return response;
}

} // namespace

Exchange::Exchange(Daemon &daemon, const char *target) : m_daemon(daemon), m_target(target) { }

bool Exchange::admit(MHD_Connection *connection, const char *method, const Router &router,
                     const Authenticator &authenticator, qint64 maxBodyBytes)
{
    m_connection = connection;
    m_maxBodyBytes = maxBodyBytes;
    readHead();
    m_response = refusal(method, router, authenticator);
    const qint64 announced = m_request.headers.value("content-length").toLongLong();
    if (announced > maxBodyBytes && !m_response)
        refuseBody();
    else if (!m_response)
        m_request.body.reserve(announced);
    return m_response && (announced > readPastFactor * maxBodyBytes || m_request.headers.contains("expect"));
}

void Exchange::readHead()
{
    const qsizetype question = m_target.indexOf('?');
    m_request.path = QString::fromUtf8(question < 0 ? m_target : m_target.left(question));
    if (question >= 0) {
        QString query = QString::fromUtf8(m_target.mid(question + 1));
        m_request.query = QUrlQuery(query.replace(u'+', u"%20"_s)); // forms write a space as +
    }
    MHD_get_connection_values(m_connection, MHD_HEADER_KIND, takeHeader, &m_request.headers);
    const MHD_ConnectionInfo *info =
        MHD_get_connection_info(m_connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context)
        m_request.remoteAddress = static_cast<const Peer *>(info->socket_context)->address;
}

std::optional<Response> Exchange::refusal(const char *method, const Router &router,
                                          const Authenticator &authenticator)
{
    const std::optional<Method> known = methodFrom(method);
    if (!known) {
        if (const QString allow = router.allowed(m_request.path); !allow.isEmpty())
            return std::strcmp(method, "OPTIONS") == 0 ? options(allow) : noSuchMethod(allow);
    }
    Result<Router::Match> match = router.match(known.value_or(Method::Get), m_request.path);
    if (!match && match.error().code == "method_not_allowed"_L1)
        return noSuchMethod(router.allowed(m_request.path));
    if (!match)
        return Response::problem(match.error());
    m_request.method = *known;
    m_request.parameters = std::move(match->parameters);
    m_handler = match->handler;
    if (match->role == Role::None)
        return std::nullopt;
    const QByteArray token = bearerToken(m_request.headers);
    if (!token.isEmpty())
        m_request.principal = authenticator(token);
    if (m_request.principal.role == Role::None)
        return unauthorized(!token.isEmpty());
    if (!mayUse(m_request.principal.role, match->role))
        return forbidden(match->role);
    return std::nullopt;
}

bool Exchange::receive(const char *data, size_t size)
{
    m_received += qint64(size);
    if (m_received > readPastFactor * m_maxBodyBytes)
        return false;
    if (m_response)
        return true;
    if (m_received > m_maxBodyBytes)
        refuseBody();
    else
        m_request.body.append(data, qsizetype(size));
    return true;
}

void Exchange::refuseBody()
{
    m_request.body = {};
    m_response = Response::problem(
        Error::failure(u"body_too_large"_s,
                       u"The body is larger than %1 bytes. Send it in smaller parts."_s.arg(m_maxBodyBytes),
                       {{u"max_bytes"_s, m_maxBodyBytes}}));
}

void Exchange::handle()
{
    if (m_response)
        return;
    run(shared_from_this());
    if (m_response)
        return;
    m_suspended = true;
    MHD_suspend_connection(m_connection);
}

QCoro::Task<> Exchange::run(std::shared_ptr<Exchange> exchange)
{
    Response response;
    try {
        QCoro::Task<Response> task = (*exchange->m_handler)(std::move(exchange->m_request));
        response = co_await task;
    } catch (const std::exception &exception) {
        qCCritical(lcHttp, "a handler failed: %s", exception.what());
        response = Response::problem(
            Error::failure(u"internal_error"_s, u"The engine failed at this request; its log says where."_s));
    }
    exchange->finish(std::move(response));
}

void Exchange::finish(Response response)
{
    m_response = std::move(response);
    resume(); // unless it was answered within handle(), or nobody waits any more
}

void Exchange::resume()
{
    if (!m_suspended || !m_connection)
        return;
    m_suspended = false;
    MHD_resume_connection(m_connection);
    m_daemon.wake();
}

MHD_Result Exchange::sendAnswer(bool closeAfterwards)
{
    // Not copied: this object stays until the connection is done with the answer.
    QByteArray &body = m_response->body;
    MHD_Response *response =
        MHD_create_response_from_buffer(size_t(body.size()), body.data(), MHD_RESPMEM_PERSISTENT);
    if (!body.isEmpty())
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, m_response->contentType.constData());
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    for (const auto &[name, value] : std::as_const(m_response->headers))
        MHD_add_response_header(response, name.constData(), value.constData());
    if (closeAfterwards)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    const MHD_Result queued = MHD_queue_response(m_connection, unsigned(m_response->status), response);
    MHD_destroy_response(response);
    return queued;
}

} // namespace tidekeeper::http
