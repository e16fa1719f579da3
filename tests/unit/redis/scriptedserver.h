// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/protocol.h"

#include <QtCore/QPointer>
#include <QtCore/QTemporaryDir>
#include <QtNetwork/QLocalServer>
#include <QtNetwork/QLocalSocket>

#include <functional>

namespace tidekeeper::test {

/// A server on a Unix socket that answers each command with the bytes that a function makes of it (none = silent),
/// for all that a real Redis cannot be made to do. Runs in the event loop of the test.
class ScriptedServer : public QObject {
public:
    using Answer = std::function<QByteArray(const QList<QByteArray> &command)>;

    explicit ScriptedServer(Answer answer, const QString &path = {}) : m_answer(std::move(answer))
    {
        connect(&m_server, &QLocalServer::newConnection, this, [this] { accept(); });
        m_server.listen(path.isEmpty() ? m_folder.filePath(QStringLiteral("server.sock")) : path);
    }

    /// +OK to what a connection says first, +PONG to PING, a time to TIME.
    static QByteArray greet(const QList<QByteArray> &command)
    {
        if (command.first() == "PING")
            return "+PONG\r\n";
        if (command.first() == "TIME")
            return "*2\r\n$10\r\n1800000000\r\n$6\r\n123456\r\n";
        return command.first() == "CLIENT" || command.first() == "AUTH" || command.first() == "SELECT"
            ? "+OK\r\n"
            : "";
    }

    QString url() const { return QStringLiteral("unix:") + m_server.fullServerName(); }
    int connections() const { return m_connections; }
    const QList<QList<QByteArray>> &commands() const { return m_commands; }
    QLocalSocket *client() const { return m_client; } ///< the latest

private:
    void accept()
    {
        ++m_connections;
        m_client = m_server.nextPendingConnection();
        m_client->setParent(this);
        auto reader = std::make_shared<redis::ReplyReader>();
        connect(m_client, &QLocalSocket::readyRead, this, [this, reader, socket = m_client.data()] {
            const QByteArray bytes = socket->readAll();
            reader->feed(bytes.constData(), bytes.size());
            redis::Value value;
            while (reader->next(value) == redis::ReplyReader::Next::Complete) {
                QList<QByteArray> command;
                for (const redis::Value &item : value.items)
                    command.append(item.text);
                m_commands.append(command);
                socket->write(m_answer(command));
            }
        });
    }

    QTemporaryDir m_folder;
    QLocalServer m_server;
    Answer m_answer;
    QPointer<QLocalSocket> m_client;
    QList<QList<QByteArray>> m_commands;
    int m_connections = 0;
};

} // namespace tidekeeper::test
