// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QHash>
#include <QtCore/QThread>
#include <QtNetwork/QTcpServer>

#include <atomic>
#include <memory>

class QTcpSocket;

namespace tidekeeper::faults {

/// Stands between the engine and its Redis, on a free loopback port, and misbehaves as told. It works in a thread of its
/// own, so that it serves while a test waits.
class RedisProxy : public QObject {
    Q_OBJECT

public:
    enum class Mode : quint8 {
        Pass,
        Silent, ///< accepts and takes everything, hands on nothing, says nothing
        CutAnswers ///< an FCALL is executed; instead of its answer the connection ends
    };

    explicit RedisProxy(quint16 redisPort);
    ~RedisProxy() override;

    quint16 port() const { return m_port; }
    void setMode(Mode mode) { m_mode = mode; }
    /// Hangs up on everyone, so that what was kept from them is not handed on later.
    void closeAll();

private:
    void listen();
    void accept();
    void fromEngine(QTcpSocket *engine, QTcpSocket *redis);
    void fromRedis(QTcpSocket *engine, QTcpSocket *redis);

    const quint16 m_redisPort;
    std::atomic<Mode> m_mode = Mode::Pass;
    std::atomic<quint16> m_port = 0;
    QHash<QTcpSocket *, bool> m_isDecisive; ///< by the engine's side: an FCALL is on its way
    std::unique_ptr<QTcpServer> m_server; ///< lives and ends in the thread
    QThread m_thread;
};

} // namespace tidekeeper::faults
