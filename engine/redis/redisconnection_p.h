// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/link.h"
#include "redis/redisconnection.h"

#include <QtCore/QTimer>

#include <optional>

namespace tidekeeper::redis {

/// closed → waiting → connecting (with the greeting) → ready, from anywhere back to waiting when the link breaks.
///
/// What happens to a silent server: a command whose deadline passed is answered with redis_timeout and keeps its
/// place among the pending ones (a late reply is dropped, the protocol stays in step). After breakerFailures of
/// them nothing more is sent but one PING per probe interval; when that meets silence too, the link is thrown
/// away, with all that waits in its buffers, and from then on each probe is a new link.
class RedisConnection::Private {
public:
    Private(RedisConnection *connection, Endpoint where, ConnectionOptions how);

    void open();
    void close();
    void shutDown(); ///< of the destructor
    void send(const QList<QByteArray> &arguments, Callback callback, int timeoutMs);
    void waitReady(int timeoutMs, std::function<void(bool)> callback);

    enum class State : quint8 { Closed, Waiting, Connecting, Ready };

    RedisConnection *const q;
    const Endpoint endpoint;
    const ConnectionOptions options;
    State state = State::Closed;
    bool isBreakerOpen = false;
    std::optional<qint64> greetedAtUs;
    qint64 lastLatencyUs = -1;
    QString lastError;

private:
    struct Refusal {
        Callback callback;
        Error error;
    };
    using Waiter = std::shared_ptr<std::function<void(bool)>>;

    void retry();
    void connectNow();
    void greet();
    void judgeGreeting(const QList<QByteArray> &command, const Value &reply);
    void becomeReady();
    void endLink(const QString &reason);
    void drop(const QString &reason, std::optional<int> retryInMs = {});
    int retryDelayMs();

    void onAnswered();
    void onExpired(int commands);
    bool countFailures(int count); ///< true when this opened the breaker
    void closeBreaker();
    void probe();

    void refuse(Callback callback, Error error);
    void runRefusals();
    Error unavailable() const;
    Error ended(const QString &reason) const;

    std::unique_ptr<Link> m_link;
    std::vector<Refusal> m_refusals; ///< to be called from the event loop
    std::vector<Waiter> m_waiters;
    bool m_isShutDown = false;

    QTimer m_retryTimer;
    QTimer m_connectTimer;
    int m_failures = 0; ///< in a row
    int m_attempts = 0; ///< since a link last held
    qint64 m_readyAtUs = 0;
};

} // namespace tidekeeper::redis
