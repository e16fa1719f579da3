// SPDX-License-Identifier: Apache-2.0
#include "httpfixture.h"

#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

#include <stdexcept>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

constexpr int patienceMs = 5000;

QCoro::Task<Response> echo(Request request)
{
    QJsonObject seen{
        {u"path"_s, request.path},
        {u"id"_s, request.parameters.value(u"id"_s)},
        {u"q"_s, queryValue(request, u"q"_s)},
        {u"size"_s, request.body.size()},
        {u"body"_s, QString::fromUtf8(request.body.left(1000))},
        {u"who"_s, request.principal.name},
        {u"from"_s, request.remoteAddress},
    };
    co_return Response::json(seen);
}

QCoro::Task<Response> throwing(Request)
{
    throw std::runtime_error("secret detail");
    co_return Response{};
}

QCoro::Task<Response> slow(Gate &gate, Request)
{
    co_await gate.passed();
    co_return Response::json({{u"slow"_s, true}});
}

Principal authenticate(const QByteArray &token)
{
    static const QHash<QByteArray, Role> roles{
        {"consumer-token", Role::Consumer},
        {"viewer-token", Role::Viewer},
        {"operator-token", Role::Operator},
        {"admin-token", Role::Admin},
    };
    return {QString::fromLatin1(token), roles.value(token, Role::None)};
}

ServerOptions onFreePort(ServerOptions options)
{
    options.port = 0;
    return options;
}

} // namespace

QJsonObject Answer::json() const
{
    return QJsonDocument::fromJson(body).object();
}

QString Answer::code() const
{
    return json()[u"code"_s].toString();
}

RawClient::RawClient(quint16 port)
{
    m_socket.connectToHost(u"127.0.0.1"_s, port);
    if (!QTest::qWaitFor([this] { return m_socket.state() == QAbstractSocket::ConnectedState; }, patienceMs))
        qFatal("cannot connect");
}

void RawClient::send(const QByteArray &bytes)
{
    m_socket.write(bytes);
    m_socket.flush();
}

Answer RawClient::read(bool headOnly)
{
    const auto have = [this](auto condition) {
        return QTest::qWaitFor(
            [&] {
                m_buffer += m_socket.readAll();
                return condition() || m_socket.state() == QAbstractSocket::UnconnectedState;
            },
            patienceMs);
    };
    have([this] { return m_buffer.contains("\r\n\r\n"); });
    const qsizetype end = m_buffer.indexOf("\r\n\r\n");
    if (end < 0)
        return {};
    Answer answer;
    const QList<QByteArray> lines = m_buffer.left(end).split('\n');
    answer.status = lines.first().mid(9, 3).toInt();
    for (const QByteArray &line : lines.mid(1))
        answer.headers[line.left(line.indexOf(':')).toLower()] = line.mid(line.indexOf(':') + 1).trimmed();
    const qsizetype length = headOnly ? 0 : answer.headers.value("content-length").toLongLong();
    have([&] { return m_buffer.size() >= end + 4 + length; });
    answer.body = m_buffer.mid(end + 4, length);
    m_buffer.remove(0, end + 4 + length);
    return answer;
}

bool RawClient::isClosedWithin(int ms)
{
    return QTest::qWaitFor([this] { return m_socket.state() == QAbstractSocket::UnconnectedState; }, ms);
}

QByteArray get(const QByteArray &path, const QByteArray &token)
{
    const QByteArray authorization = token.isEmpty() ? "" : "Authorization: Bearer " + token + "\r\n";
    return "GET " + path + " HTTP/1.1\r\nHost: test\r\n" + authorization + "\r\n";
}

QByteArray post(const QByteArray &path, const QByteArray &body)
{
    return "POST " + path
        + " HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer admin-token\r\n"
          "Content-Type: application/json\r\nContent-Length: "
        + QByteArray::number(body.size()) + "\r\n\r\n" + body;
}

void Gate::open()
{
    m_open = true;
    for (const std::coroutine_handle<> handle : std::exchange(m_waiting, {}))
        handle.resume();
}

ServerFixture::ServerFixture(ServerOptions options)
    : server(std::make_unique<HttpServer>(onFreePort(std::move(options)), router, authenticate))
{
    router.add(Method::Get, u"/open"_s, Role::None, echo);
    router.add(Method::Get, u"/api/v1/things/{id}"_s, Role::Viewer, echo);
    router.add(Method::Post, u"/api/v1/echo"_s, Role::Operator, echo);
    router.add(Method::Post, u"/api/v1/acquire"_s, Role::Consumer, echo);
    router.add(Method::Put, u"/api/v1/admin"_s, Role::Admin, echo);
    router.add(Method::Get, u"/api/v1/throws"_s, Role::Viewer, throwing);
    router.add(Method::Get, u"/api/v1/slow"_s, Role::Viewer,
               [this](Request request) { return slow(gate, std::move(request)); });
    listening = server->listen();
}

} // namespace tidekeeper::http
