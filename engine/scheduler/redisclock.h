// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"

#include <tidekeeper/services.h>

#include <QtCore/QTimer>

#include <atomic>

namespace tidekeeper::scheduler {

/// Redis server time plus monotonic elapsed: engines that share a Redis agree, and a step of this machine's wall
/// clock changes nothing. Before Redis has answered once it is the machine's clock as of construction. The
/// monotonic part goes on while the machine is suspended.
class RedisClock final : public QObject, public Clock {
    Q_OBJECT

public:
    explicit RedisClock(redis::RedisConnection &connection, QObject *parent = nullptr);

    /// Asks now and every 10 s; twice a second until Redis has answered once.
    void start();
    void stop() { m_timer.stop(); }

    qint64 nowMs() const override;
    qint64 monotonicMs() const override;

    bool isSynchronised() const { return m_synchronised; }
    /// How far this machine's wall clock is ahead of Redis.
    qint64 skewMs() const;

Q_SIGNALS:
    void synchronised(); ///< Redis has answered for the first time
    void stepped(qint64 byMs); ///< the corrected time jumped by more than a second

private:
    void ask();
    void onTime(const redis::Value &time, qint64 askedMs);

    redis::RedisConnection &m_connection;
    QTimer m_timer;
    std::atomic<qint64> m_offsetMs;
    std::atomic<bool> m_synchronised = false;
};

} // namespace tidekeeper::scheduler
