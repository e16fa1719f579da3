// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/pendingcommands.h"
#include "redis/protocol.h"
#include "redis/redisconnection.h"
#include "redis/transport.h"

#include <QtCore/QTimer>

#include <optional>

namespace tidekeeper::redis {

/// closed → waiting → connecting → greeting → ready, from anywhere back to waiting when the connection breaks.
///
/// Every signal of the transport and every callback is run from an event of its own, so that a callback may do
/// what it likes: send, close, delete the connection, run an event loop.
///
/// What happens to a silent server: a command whose deadline passed is answered with redis_timeout and keeps its
/// place among the pending ones (a late reply is dropped, the protocol stays in step). After breakerFailures of
/// them nothing more is sent but one PING per probe interval; when that meets silence too, the connection is
/// reset, with all that waits in its buffers, and from then on each probe is a new connection.
class RedisConnection::Private {
public:
    Private(RedisConnection *connection, Endpoint where, ConnectionOptions how);

    void open();
    void close();
    void shutDown(); ///< of the destructor
    void send(const QList<QByteArray> &arguments, Callback callback, int timeoutMs);
    void waitReady(int timeoutMs, std::function<void(bool)> callback);

    enum class State : quint8 { Closed, Waiting, Connecting, Greeting, Ready };

    RedisConnection *const q;
    const Endpoint endpoint;
    const ConnectionOptions options;
    State state = State::Closed;
    bool isBreakerOpen = false;
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
    void disconnectNow(const QString &reason);
    void drop(const QString &reason, std::optional<int> retryInMs = {});
    int retryDelayMs();

    void enqueue(const QList<QByteArray> &arguments, Callback callback, qint64 timeoutUs);
    void writeOut();
    void takeReplies();
    void answer(PendingCommands::Command command, Value value, qint64 nowUs);
    void armDeadline(qint64 deadlineUs);
    void expireCommands();

    bool countFailures(int count); ///< true when this opened the breaker
    void closeBreaker();
    void probe();

    void refuse(Callback callback, Error error);
    void runRefusals();
    Error unavailable() const;
    Error closedError(const QString &reason) const;

    std::unique_ptr<Transport> m_transport;
    quint64 m_generation = 0; ///< of the transport; its queued signals may come after its end
    ReplyReader m_reader;
    QByteArray m_out; ///< the commands of this event-loop turn
    bool m_isWriteScheduled = false;
    PendingCommands m_pending;
    std::vector<Refusal> m_refusals;
    std::vector<Waiter> m_waiters;
    bool m_isShutDown = false;

    QTimer m_retryTimer;
    QTimer m_connectTimer;
    QTimer m_deadlineTimer;
    qint64 m_armedDeadlineUs = PendingCommands::never;

    int m_failures = 0; ///< in a row
    int m_attempts = 0; ///< since a connection last held
    qint64 m_readyAtUs = 0;
    qint64 m_heardAtUs = 0;
};

} // namespace tidekeeper::redis
