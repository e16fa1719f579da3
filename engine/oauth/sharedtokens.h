// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/sealing.h"
#include "queue/leases.h"
#include "redis/redisconnection.h"

#include <QCoro/QCoroTask>

#include <functional>
#include <memory>
#include <optional>

namespace tidekeeper::oauth {

/// An access token that engines hand to each other.
struct SharedToken {
    QString token;
    qint64 expiresAt = 0; ///< epoch ms
    qint64 usableUntil = 0; ///< epoch ms, 90 % of its life
};

/// One token request per account at a time, whichever engine asks. The lease has a random owner, is longer than any
/// request and renewed while it is held; the winner leaves the token, sealed, for the others. Redis sees neither a
/// token nor whose it is: names are hashes. Without Redis every engine is on its own. Main thread.
class SharedTokens {
public:
    using Sleep = std::function<QCoro::Task<>(qint64 ms)>;

    SharedTokens(redis::RedisConnection &connection, queue::Leases &leases,
                 std::shared_ptr<const Sealing> sealing, Sleep sleep)
        : m_connection(connection), m_leases(leases), m_sealing(std::move(sealing)), m_sleep(std::move(sleep))
    { }

    /// The lease, as long as it lives.
    using Hold = std::shared_ptr<void>;

    struct Turn {
        std::optional<SharedToken> token; ///< somebody else asked: take this one
        Hold hold; ///< ask, under this lease; null without Redis
        bool timedOut = false; ///< somebody is asking and does not come to an end
    };
    /// Waits for whoever is asking. rejected: a token that is no answer.
    QCoro::Task<Turn> turn(QString name, QString rejected);

    /// Leaves the token for the others; nobody needs to wait for it.
    void leave(const QString &name, const SharedToken &token, qint64 lifeMs);

    /// What stands for `key` in Redis.
    static QString nameOf(const QString &key);

private:
    QCoro::Task<std::optional<SharedToken>> find(QString name);

    redis::RedisConnection &m_connection;
    queue::Leases &m_leases;
    std::shared_ptr<const Sealing> m_sealing;
    Sleep m_sleep;
};

} // namespace tidekeeper::oauth
