// SPDX-License-Identifier: Apache-2.0
#include "http/addresslimit.h"

#include <QtNetwork/QHostAddress>

namespace tidekeeper::http {

namespace {

QByteArray countedAs(const QHostAddress &host)
{
    if (host.isLoopback())
        return {};
    if (host.protocol() != QAbstractSocket::IPv6Protocol)
        return host.toString().toLatin1();
    const Q_IPV6ADDR bytes = host.toIPv6Address();
    return QByteArray(reinterpret_cast<const char *>(&bytes), 8);
}

} // namespace

Peer peerOf(const sockaddr *address)
{
    QHostAddress host(address);
    bool isV4 = false; // also ::ffff:192.0.2.1, as a dual-stack socket says it
    const quint32 v4 = host.toIPv4Address(&isV4);
    if (isV4)
        host.setAddress(v4);
    return {host.toString(), countedAs(host)};
}

bool AddressLimit::allows(const Peer &peer) const
{
    return peer.countedAs.isEmpty() || m_open.value(peer.countedAs) < m_perAddress;
}

void AddressLimit::opened(const Peer &peer)
{
    if (!peer.countedAs.isEmpty())
        ++m_open[peer.countedAs];
}

void AddressLimit::closed(const Peer &peer)
{
    const auto count = m_open.find(peer.countedAs);
    if (count != m_open.end() && --*count == 0)
        m_open.erase(count);
}

} // namespace tidekeeper::http
