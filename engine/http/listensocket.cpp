// SPDX-License-Identifier: Apache-2.0
#include "http/listensocket.h"

#include <QtNetwork/QHostAddress>

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

QHostAddress addressOf(const QString &host)
{
    return host == "localhost"_L1 ? QHostAddress(QHostAddress::LocalHost) : QHostAddress(host);
}

socklen_t fill(sockaddr_storage &storage, const QHostAddress &address, quint16 port)
{
    std::memset(&storage, 0, sizeof storage);
    if (address.protocol() == QAbstractSocket::IPv6Protocol) {
        auto *v6 = reinterpret_cast<sockaddr_in6 *>(&storage);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        const Q_IPV6ADDR bytes = address.toIPv6Address();
        std::memcpy(&v6->sin6_addr, &bytes, sizeof bytes);
        return sizeof *v6;
    }
    auto *v4 = reinterpret_cast<sockaddr_in *>(&storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    v4->sin_addr.s_addr = htonl(address.toIPv4Address());
    return sizeof *v4;
}

quint16 boundPort(int fd)
{
    sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (::getsockname(fd, reinterpret_cast<sockaddr *>(&storage), &length) != 0)
        return 0;
    return storage.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6 *>(&storage)->sin6_port)
                                         : ntohs(reinterpret_cast<sockaddr_in *>(&storage)->sin_port);
}

Error refused(const QString &where, int error)
{
    if (error == EADDRINUSE) {
        return Error::failure(u"port_in_use"_s,
                              u"Another program already listens on %1. Stop it, or choose another port with "
                              "http.listen or --listen (port 0 takes a free one)."_s.arg(where),
                              {{u"address"_s, where}});
    }
    QString remedy = u"Choose another address with http.listen or --listen."_s;
    if (error == EACCES)
        remedy = u"Ports below 1024 need a privilege; choose a higher one with http.listen or --listen."_s;
    return Error::failure(
        u"address_refused"_s,
        u"Cannot listen on %1: %2. %3"_s.arg(where, QString::fromLocal8Bit(std::strerror(error)), remedy),
        {{u"address"_s, where}});
}

} // namespace

Result<ListenSocket> openListenSocket(const QString &host, quint16 port)
{
    const QString where = hostAndPort(host, port);
    const QHostAddress address = addressOf(host);
    if (address.isNull()) {
        return fail(u"address_refused"_s,
                    u"%1 is not an address to listen on. Write an IP address, for example 127.0.0.1:8787 or "
                    "[::1]:8787."_s.arg(where),
                    {{u"address"_s, where}});
    }
    sockaddr_storage storage;
    const socklen_t length = fill(storage, address, port);
    const int fd = ::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(refused(where, errno));
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, reinterpret_cast<sockaddr *>(&storage), length) != 0 || ::listen(fd, SOMAXCONN) != 0) {
        const int error = errno;
        ::close(fd);
        return fail(refused(where, error));
    }
    return ListenSocket{fd, address.toString(), boundPort(fd), address.isLoopback()};
}

QString hostAndPort(const QString &host, quint16 port)
{
    return (host.contains(u':') ? u"[%1]:%2"_s : u"%1:%2"_s).arg(host).arg(port);
}

bool isLoopback(const QString &host)
{
    return addressOf(host).isLoopback();
}

} // namespace tidekeeper::http
