// SPDX-License-Identifier: Apache-2.0
#include "redisproxy.h"

#include <QtNetwork/QTcpSocket>

namespace tidekeeper::faults {

RedisProxy::RedisProxy(quint16 redisPort) : m_redisPort(redisPort)
{
    moveToThread(&m_thread);
    m_thread.start();
    QMetaObject::invokeMethod(
        this, [this] { listen(); }, Qt::BlockingQueuedConnection);
}

RedisProxy::~RedisProxy()
{
    QMetaObject::invokeMethod(
        this,
        [this] {
            for (QTcpSocket *engine : m_isDecisive.keys())
                engine->disconnect(this);
            m_server.reset();
        },
        Qt::BlockingQueuedConnection);
    m_thread.quit();
    m_thread.wait();
}

void RedisProxy::listen()
{
    m_server = std::make_unique<QTcpServer>();
    connect(m_server.get(), &QTcpServer::newConnection, this, [this] { accept(); });
    m_server->listen(QHostAddress::LocalHost);
    m_port = m_server->serverPort();
}

void RedisProxy::accept()
{
    QTcpSocket *engine = m_server->nextPendingConnection();
    auto *redis = new QTcpSocket(engine);
    for (QTcpSocket *socket : {engine, redis})
        socket->setSocketOption(QAbstractSocket::LowDelayOption, 1);
    redis->connectToHost(QHostAddress(QHostAddress::LocalHost), m_redisPort);
    m_isDecisive.insert(engine, false);
    connect(engine, &QTcpSocket::readyRead, this, [=, this] { fromEngine(engine, redis); });
    connect(redis, &QTcpSocket::readyRead, this, [=, this] { fromRedis(engine, redis); });
    connect(redis, &QTcpSocket::connected, this, [=, this] { fromEngine(engine, redis); });
    connect(redis, &QTcpSocket::disconnected, engine, &QTcpSocket::disconnectFromHost);
    connect(redis, &QTcpSocket::errorOccurred, engine, [engine] { engine->disconnectFromHost(); });
    connect(engine, &QTcpSocket::disconnected, this, [=, this] {
        m_isDecisive.remove(engine);
        engine->deleteLater();
    });
}

void RedisProxy::fromEngine(QTcpSocket *engine, QTcpSocket *redis)
{
    if (redis->state() != QAbstractSocket::ConnectedState)
        return; // it stays in the socket until then
    const QByteArray bytes = engine->readAll();
    if (m_mode == Mode::Silent)
        return;
    if (bytes.contains("FCALL"))
        m_isDecisive[engine] = true;
    redis->write(bytes);
    redis->flush();
}

void RedisProxy::fromRedis(QTcpSocket *engine, QTcpSocket *redis)
{
    const QByteArray bytes = redis->readAll();
    if (m_mode == Mode::Silent)
        return;
    if (m_mode == Mode::CutAnswers && m_isDecisive.value(engine)) {
        engine->abort();
        return;
    }
    m_isDecisive[engine] = false;
    engine->write(bytes);
    engine->flush();
}

void RedisProxy::closeAll()
{
    QMetaObject::invokeMethod(
        this,
        [this] {
            for (QTcpSocket *engine : m_isDecisive.keys())
                engine->abort();
        },
        Qt::BlockingQueuedConnection);
}

} // namespace tidekeeper::faults
