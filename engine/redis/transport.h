// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/endpoint.h"

#include <QtCore/QObject>

class QIODevice;
class QLocalSocket;
class QTcpSocket;

namespace tidekeeper::redis {

class ReplyReader;

/// The byte stream to one server over a Unix socket, TCP or TLS, for one attempt: made, opened, thrown away.
/// Deleting it closes the stream at once and without a signal.
class Transport : public QObject {
    Q_OBJECT

public:
    explicit Transport(Endpoint endpoint);
    ~Transport() override;

    void open();
    void write(const QByteArray &bytes); ///< hands the bytes to the kernel as far as it takes them
    bool readInto(ReplyReader &reader); ///< false when there was nothing
    /// Fetches what the kernel already holds, without waiting.
    void poll();

Q_SIGNALS:
    void connected(); ///< ready for bytes; with TLS: encrypted, and the server's name was checked
    void dataArrived();
    void failed(const QString &reason); ///< once, also when the server hangs up

private:
    void openLocal();
    void openTcp();
    void openTls();
    void watch(QTcpSocket *socket);
    void reportFailure(const QString &reason);

    Endpoint m_endpoint;
    QIODevice *m_device = nullptr; ///< one of the two below
    QLocalSocket *m_local = nullptr;
    QTcpSocket *m_tcp = nullptr;
    bool m_isConnected = false;
    bool m_hasFailed = false;
    bool m_isPolling = false;
};

} // namespace tidekeeper::redis
