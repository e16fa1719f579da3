// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QHash>
#include <QtCore/QList>
#include <QtCore/QUrl>
#include <QtNetwork/QTcpServer>

#include <functional>

class QTcpSocket;

namespace tidekeeper::test {

/// A small HTTP server of the test's own on a free loopback port. The test says, request by request, which bytes go
/// back: well-formed, cut, huge or none at all.
class LocalHttp : public QObject {
    Q_OBJECT

public:
    struct Request {
        QByteArray method;
        QByteArray path; ///< with query
        QHash<QByteArray, QByteArray> headers; ///< lower-case names
        QByteArray body;
    };
    struct Answer {
        QByteArray bytes; ///< written as they are; empty = stay silent
        bool close = false; ///< then hang up
    };
    using Script = std::function<Answer(const Request &)>;

    LocalHttp(Script script = {}, QObject *parent = nullptr);

    /// A well-formed answer.
    static Answer answer(int status, const QByteArray &body, const QByteArray &extraHeaders = {});

    QString url() const; ///< http://127.0.0.1:PORT
    void setScript(Script script) { m_script = std::move(script); }
    const QList<Request> &requests() const { return m_requests; }
    int connections() const { return m_connections; } ///< that were ever made
    void clear() { m_requests.clear(); }

private:
    void read(QTcpSocket *socket);

    Script m_script;
    QHash<QTcpSocket *, QByteArray> m_buffers;
    QList<Request> m_requests;
    int m_connections = 0;
    QTcpServer m_server; // last: its sockets still report to the members above while they go
};

} // namespace tidekeeper::test
