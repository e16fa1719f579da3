// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/httpserver.h"

#include <QtCore/QUrl>
#include <QtNetwork/QTcpSocket>

#include <coroutine>
#include <memory>

namespace tidekeeper::http {

/// What a client read: enough of HTTP/1.1 for answers of a server that sends Content-Length.
struct Answer {
    int status = 0; ///< 0 = the connection ended or nothing came
    QHash<QByteArray, QByteArray> headers; ///< lower-case names
    QByteArray body;

    QJsonObject json() const;
    QString code() const; ///< of a problem document
};

/// A client that says exactly what the test wants on the wire.
class RawClient {
public:
    explicit RawClient(quint16 port);

    void send(const QByteArray &bytes);
    Answer read(bool headOnly = false);
    /// true when the server closes within the time
    bool isClosedWithin(int ms);
    QTcpSocket &socket() { return m_socket; }

private:
    QTcpSocket m_socket;
    QByteArray m_buffer;
};

/// GET with the token, or without when it is empty.
QByteArray get(const QByteArray &path, const QByteArray &token = "admin-token");
QByteArray post(const QByteArray &path, const QByteArray &body);

/// Lets handlers wait until the test opens it: co_await gate.passed().
class Gate {
public:
    struct Waiter {
        Gate *gate;
        bool await_ready() const { return gate->m_open; }
        void await_suspend(std::coroutine_handle<> handle) { gate->m_waiting.append(handle); }
        void await_resume() const { }
    };
    Waiter passed() { return {this}; }

    qsizetype waiting() const { return m_waiting.size(); }
    void open();

private:
    bool m_open = false;
    QList<std::coroutine_handle<>> m_waiting;
};

/// A server on a free port with routes that show what arrived:
/// GET /open, GET /api/v1/things/{id}, POST /api/v1/echo, POST /api/v1/acquire (consumer), PUT /api/v1/admin,
/// GET /api/v1/throws, GET /api/v1/slow (waits for the gate). Tokens: "consumer-token", "viewer-token", ….
struct ServerFixture {
    explicit ServerFixture(ServerOptions options = {});

    quint16 port() const { return quint16(QUrl(server->url()).port()); }

    Gate gate;
    Router router;
    std::unique_ptr<HttpServer> server;
    Result<> listening;
};

} // namespace tidekeeper::http
