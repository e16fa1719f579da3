// SPDX-License-Identifier: Apache-2.0
#include "redis/transport.h"

#include "redis/protocol.h"

#include <QtCore/QFile>
#include <QtNetwork/QLocalSocket>
#include <QtNetwork/QNetworkProxy>
#include <QtNetwork/QSslConfiguration>
#include <QtNetwork/QSslSocket>

#include <array>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

/// A connected socket, or the reason why there is none; errno is set then. A Unix socket connects at once or not at
/// all: EAGAIN says that the server accepts nobody and its queue is full.
int connectLocally(const QByteArray &path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= qsizetype(sizeof address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    std::memcpy(address.sun_path, path.constData(), size_t(path.size()));
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0 || ::connect(socket, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0)
        return socket;
    const int reason = errno;
    ::close(socket);
    errno = reason;
    return -1;
}

} // namespace

Transport::Transport(Endpoint endpoint) : m_endpoint(std::move(endpoint)) { }

Transport::~Transport()
{
    if (m_device)
        m_device->disconnect(this);
    if (m_local)
        m_local->abort();
    if (m_tcp)
        m_tcp->abort();
}

void Transport::open()
{
    switch (m_endpoint.transport) {
    case Endpoint::Transport::Unix:
        return openLocal();
    case Endpoint::Transport::Tcp:
        return openTcp();
    case Endpoint::Transport::Tls:
        return openTls();
    }
}

/// Connects by itself: QLocalSocket waits for a full queue by asking again as fast as the processor can.
void Transport::openLocal()
{
    m_device = m_local = new QLocalSocket(this);
    connect(m_local, &QLocalSocket::readyRead, this, &Transport::dataArrived);
    connect(m_local, &QLocalSocket::errorOccurred, this, [this](QLocalSocket::LocalSocketError error) {
        if (m_isPolling && error == QLocalSocket::SocketTimeoutError)
            return; // nothing was there, no more than that
        reportFailure(error == QLocalSocket::PeerClosedError ? u"the server closed the connection"_s
                                                             : m_local->errorString());
    });
    const int socket = connectLocally(QFile::encodeName(m_endpoint.path));
    if (socket < 0 || !m_local->setSocketDescriptor(socket))
        return reportFailure(QString::fromLocal8Bit(std::strerror(errno)));
    m_isConnected = true;
    Q_EMIT connected();
}

void Transport::openTcp()
{
    auto *socket = new QTcpSocket(this);
    watch(socket);
    connect(socket, &QTcpSocket::connected, this, [this] {
        m_isConnected = true;
        Q_EMIT connected();
    });
    socket->connectToHost(m_endpoint.host, m_endpoint.port);
}

void Transport::openTls()
{
    auto *socket = new QSslSocket(this);
    watch(socket);
    QSslConfiguration tls = QSslConfiguration::defaultConfiguration();
    tls.setProtocol(QSsl::TlsV1_2OrLater);
    tls.setPeerVerifyMode(QSslSocket::VerifyPeer);
    if (!m_endpoint.caFile.isEmpty()) {
        const QList<QSslCertificate> authorities = QSslCertificate::fromPath(m_endpoint.caFile);
        if (authorities.isEmpty())
            return reportFailure(
                u"the CA file %1 cannot be read or holds no certificate"_s.arg(m_endpoint.caFile));
        tls.setCaCertificates(authorities);
    }
    socket->setSslConfiguration(tls);
    connect(socket, &QSslSocket::encrypted, this, [this] {
        m_isConnected = true;
        Q_EMIT connected();
    });
    socket->connectToHostEncrypted(m_endpoint.host, m_endpoint.port);
}

void Transport::watch(QTcpSocket *socket)
{
    m_device = m_tcp = socket;
    socket->setProxy(QNetworkProxy::NoProxy);
    socket->setSocketOption(QAbstractSocket::LowDelayOption, 1);
    socket->setSocketOption(QAbstractSocket::KeepAliveOption, 1);
    connect(socket, &QTcpSocket::readyRead, this, &Transport::dataArrived);
    connect(socket, &QTcpSocket::errorOccurred, this, [this](QAbstractSocket::SocketError error) {
        if (m_isPolling && error == QAbstractSocket::SocketTimeoutError)
            return; // nothing was there, no more than that
        reportFailure(error == QAbstractSocket::RemoteHostClosedError ? u"the server closed the connection"_s
                                                                      : m_tcp->errorString());
    });
}

void Transport::reportFailure(const QString &reason)
{
    if (!std::exchange(m_hasFailed, true))
        Q_EMIT failed(reason);
}

void Transport::write(const QByteArray &bytes)
{
    if (m_hasFailed)
        return;
    m_device->write(bytes);
    if (m_local)
        m_local->flush();
    else
        m_tcp->flush();
}

bool Transport::readInto(ReplyReader &reader)
{
    std::array<char, 16'384> chunk;
    bool hasRead = false;
    while (m_device->bytesAvailable() > 0) {
        const qint64 size = m_device->read(chunk.data(), chunk.size());
        if (size <= 0)
            break;
        reader.feed(chunk.data(), size);
        hasRead = true;
    }
    return hasRead;
}

void Transport::poll()
{
    if (!m_isConnected || m_hasFailed)
        return;
    m_isPolling = true;
    m_device->waitForReadyRead(0);
    m_isPolling = false;
}

} // namespace tidekeeper::redis
