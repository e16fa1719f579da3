// SPDX-License-Identifier: Apache-2.0
#include "scheduler/redisclock.h"

#include "core/faultpoint.h"

#include <QtCore/QDateTime>
#include <QtCore/QPointer>

#include <ctime>

namespace tidekeeper::scheduler {

namespace {

constexpr int everyMs = 10'000;
constexpr int firstEveryMs = 500; // until Redis has answered once

qint64 sinceBootMs()
{
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return qint64(time.tv_sec) * 1'000 + time.tv_nsec / 1'000'000;
}

} // namespace

RedisClock::RedisClock(redis::RedisConnection &connection, QObject *parent)
    : QObject(parent), m_connection(connection),
      m_offsetMs(QDateTime::currentMSecsSinceEpoch() - sinceBootMs())
{
    connect(&m_timer, &QTimer::timeout, this, &RedisClock::ask);
    connect(&m_connection, &redis::RedisConnection::ready, this, &RedisClock::ask);
}

void RedisClock::start()
{
    m_timer.start(m_synchronised ? everyMs : firstEveryMs);
    ask();
}

qint64 RedisClock::nowMs() const
{
    return core::calendarMs(monotonicMs() + m_offsetMs);
}

qint64 RedisClock::monotonicMs() const
{
    return sinceBootMs();
}

qint64 RedisClock::skewMs() const
{
    return QDateTime::currentMSecsSinceEpoch() - (monotonicMs() + m_offsetMs);
}

void RedisClock::ask()
{
    const QPointer<RedisClock> self(this);
    const qint64 askedMs = sinceBootMs();
    m_connection.send({"TIME"}, [self, askedMs](const Result<redis::Value> &reply) {
        if (self && reply && reply->items.size() == 2)
            self->onTime(*reply, askedMs);
    });
}

/// The server read its clock between question and answer; an offset that fits in between is kept, so that the
/// round trip's length does not make the clock tremble.
void RedisClock::onTime(const redis::Value &time, qint64 askedMs)
{
    const qint64 serverMs = time.items[0].toInteger() * 1'000 + time.items[1].toInteger() / 1'000;
    const qint64 answeredMs = sinceBootMs();
    const qint64 least = serverMs - answeredMs;
    const qint64 most = serverMs - askedMs + 1;
    const qint64 before = m_offsetMs;
    if (before < least || before > most)
        m_offsetMs = least + (most - least) / 2;
    if (std::abs(m_offsetMs - before) > 1'000)
        Q_EMIT stepped(m_offsetMs - before);
    if (m_synchronised.exchange(true))
        return;
    if (m_timer.isActive())
        m_timer.start(everyMs);
    Q_EMIT synchronised();
}

} // namespace tidekeeper::scheduler
