// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QTemporaryDir>
#include <QtNetwork/QLocalServer>
#include <QtNetwork/QLocalSocket>

namespace tidekeeper::test {

/// Stands between a client and a server on Unix sockets and, when told, cuts the connection at the next answer: the
/// server has executed, and the client never learns it. Runs in the event loop of the test.
class CuttingProxy : public QObject {
public:
    explicit CuttingProxy(const QString &serverPath) : m_serverPath(serverPath)
    {
        m_listener.listen(m_folder.filePath(QStringLiteral("proxy.sock")));
        connect(&m_listener, &QLocalServer::newConnection, this, [this] { accept(); });
    }

    QString url() const { return QStringLiteral("unix:") + m_listener.fullServerName(); }
    void cutNextAnswer() { m_cuts = true; }
    int cuts() const { return m_done; }

private:
    void accept()
    {
        QLocalSocket *client = m_listener.nextPendingConnection();
        auto *server = new QLocalSocket(client);
        server->connectToServer(m_serverPath);
        connect(client, &QLocalSocket::readyRead, server, [=] { server->write(client->readAll()); });
        connect(client, &QLocalSocket::disconnected, client, &QObject::deleteLater);
        connect(server, &QLocalSocket::readyRead, client, [this, client, server] {
            const QByteArray answer = server->readAll();
            if (!std::exchange(m_cuts, false)) {
                client->write(answer);
                return;
            }
            ++m_done;
            client->abort();
            client->deleteLater();
        });
    }

    QString m_serverPath;
    QTemporaryDir m_folder;
    QLocalServer m_listener;
    bool m_cuts = false;
    int m_done = 0;
};

} // namespace tidekeeper::test
