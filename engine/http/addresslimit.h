// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QHash>
#include <QtCore/QString>

struct sockaddr;

namespace tidekeeper::http {

/// One connection's other side.
struct Peer {
    QString address;
    QByteArray countedAs; ///< the address, or the /64 of an IPv6 one; empty = loopback, not counted
};

Peer peerOf(const sockaddr *address);

/// So that no single address takes all connections.
class AddressLimit {
public:
    explicit AddressLimit(int perAddress) : m_perAddress(perAddress) { }

    bool allows(const Peer &peer) const;
    void opened(const Peer &peer);
    void closed(const Peer &peer);

private:
    int m_perAddress;
    QHash<QByteArray, int> m_open;
};

} // namespace tidekeeper::http
