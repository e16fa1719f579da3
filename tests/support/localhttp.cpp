// SPDX-License-Identifier: Apache-2.0
#include "support/localhttp.h"

#include <QtNetwork/QTcpSocket>

#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

namespace {

/// Takes one whole request from the front of buffer.
std::optional<LocalHttp::Request> takeRequest(QByteArray &buffer)
{
    const qsizetype end = buffer.indexOf("\r\n\r\n");
    if (end < 0)
        return std::nullopt;
    const QList<QByteArray> lines = buffer.left(end).split('\n');
    const QList<QByteArray> first = lines.first().trimmed().split(' ');
    LocalHttp::Request request{first.value(0), first.value(1), {}, {}};
    for (const QByteArray &line : lines.mid(1)) {
        const qsizetype colon = line.indexOf(':');
        request.headers.insert(line.left(colon).toLower(), line.mid(colon + 1).trimmed());
    }
    const qsizetype length = request.headers.value("content-length").toLongLong();
    if (buffer.size() < end + 4 + length)
        return std::nullopt;
    request.body = buffer.mid(end + 4, length);
    buffer.remove(0, end + 4 + length);
    return request;
}

} // namespace

LocalHttp::LocalHttp(Script script, QObject *parent) : QObject(parent), m_script(std::move(script))
{
    m_server.listen(QHostAddress::LocalHost);
    connect(&m_server, &QTcpServer::newConnection, this, [this] {
        while (QTcpSocket *socket = m_server.nextPendingConnection()) {
            ++m_connections;
            connect(socket, &QTcpSocket::readyRead, this, [this, socket] { read(socket); });
            connect(socket, &QTcpSocket::disconnected, this, [this, socket] {
                m_buffers.remove(socket);
                socket->deleteLater();
            });
        }
    });
}

LocalHttp::Answer LocalHttp::answer(int status, const QByteArray &body, const QByteArray &extraHeaders)
{
    return {"HTTP/1.1 " + QByteArray::number(status)
                + " Text\r\nContent-Type: application/json\r\nContent-Length: "
                + QByteArray::number(body.size()) + "\r\n" + extraHeaders + "\r\n" + body,
            false};
}

QString LocalHttp::url() const
{
    return u"http://127.0.0.1:%1"_s.arg(m_server.serverPort());
}

void LocalHttp::read(QTcpSocket *socket)
{
    QByteArray &buffer = m_buffers[socket];
    buffer += socket->readAll();
    while (const std::optional<Request> request = takeRequest(buffer)) {
        m_requests.append(*request);
        const Answer answer = m_script ? m_script(*request) : Answer{};
        socket->write(answer.bytes);
        if (answer.close) {
            socket->disconnectFromHost();
            return;
        }
    }
}

} // namespace tidekeeper::test
