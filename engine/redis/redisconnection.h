// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/endpoint.h"
#include "redis/redisvalue.h"

#include <QCoro/QCoroTask>
#include <QtCore/QObject>

#include <functional>
#include <memory>
#include <optional>

namespace tidekeeper::redis {

struct ConnectionOptions {
    int connectTimeoutMs = 500;
    int commandTimeoutMs = 100;
    int breakerFailures = 3; ///< failures in a row that open the breaker
    int breakerProbeIntervalMs = 1000;
    int reconnectMinMs = 50;
    int reconnectMaxMs = 1000;
    QByteArray clientName = QByteArrayLiteral("tidekeeper");
};

/// One connection: pipelined, with a deadline for each command, re-connecting by itself, without an offline
/// queue. Lives in one thread and is used only from there.
///
/// Failures of transport have the codes
///   redis_unavailable  not connected, or the breaker is open: the command was not sent
///   redis_timeout      sent or waiting to be written when its deadline passed: it may have been executed
///   redis_closed       the connection broke after it was sent: it may have been executed
/// An error reply of the server is a Value of type Error, not a failure.
///
/// The destructor answers what is pending with redis_closed, in place: callbacks must not use what their owner
/// has already destroyed. Only commands with one reply each may be sent (no SUBSCRIBE, MONITOR, CLIENT REPLY).
class RedisConnection : public QObject {
    Q_OBJECT

public:
    using Callback = std::function<void(Result<Value>)>;

    explicit RedisConnection(Endpoint endpoint, ConnectionOptions options = {}, QObject *parent = nullptr);
    ~RedisConnection() override;

    /// Starts connecting and keeps connected until close().
    void open();
    /// Fails what is pending with redis_closed and stops re-connecting.
    void close();

    bool isReady() const; ///< connected, authenticated, selected
    bool isBreakerOpen() const;
    /// µs since the epoch by the server's clock when it was greeted, just before ready(); null when it did not say.
    std::optional<qint64> greetedAtUs() const;

    /// Sends one command; commands of one event-loop turn are written together. timeoutMs 0 = the default.
    /// The callback runs exactly once, from the event loop, never from inside send().
    void send(const QList<QByteArray> &arguments, Callback callback, int timeoutMs = 0);
    /// The same, awaited.
    QCoro::Task<Result<Value>> command(QList<QByteArray> arguments, int timeoutMs = 0);

    /// Waits until ready or until timeoutMs passed; false then.
    QCoro::Task<bool> waitReady(int timeoutMs);

    const Endpoint &endpoint() const;
    qint64 lastLatencyUs() const; ///< of the last answered command; −1 before
    QString lastError() const; ///< why it is not ready, for people; empty while all is well

Q_SIGNALS:
    void ready();
    void lost(const QString &reason);
    void breakerChanged(bool open);

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace tidekeeper::redis
