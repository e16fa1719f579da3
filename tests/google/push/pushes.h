// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/faults/faults.h"
#include "google/push/notification.h"
#include "google/push/signer.h"
#include "google/world/world.h"

#include <QtCore/QObject>
#include <QtNetwork/QNetworkAccessManager>

namespace tidekeeper::googlesim {

/// Gmail's notifications on their way through Pub/Sub to the address in the settings, again and again until they are
/// acknowledged: first after push_retry_ms, then twice as late each time, at most a minute. None without an address.
class Pushes : public QObject {
    Q_OBJECT

public:
    Pushes(World &world, Faults &faults);

    /// Something happened in a watched mailbox.
    void notify(User &user);
    /// GET /oauth2/v3/certs: the keys that the tokens are signed with.
    Answer keys();

private:
    struct Message {
        std::shared_ptr<User> user;
        Notification notification;
        int tries = 0;
    };

    void sendWaiting();
    void send(Message message);
    void answered(Message message, int status);

    World &m_world;
    Faults &m_faults;
    PushSigner m_signer;
    std::unique_ptr<QNetworkAccessManager> m_network; ///< from the first push on
    std::deque<Message> m_waiting;
    int m_underWay = 0;
    quint64 m_serial = 7'514'282'652'270'000;
};

} // namespace tidekeeper::googlesim
