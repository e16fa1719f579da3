// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QDateTime>

namespace tidekeeper::faults {

constexpr qint64 virtualDayMs = 86'400'000;

/// Days that pass in seconds: for the engines by TIDEKEEPER_CLOCK, for the simulator by moving its clock forward.
class Calendar {
public:
    /// realDayMs: how long a day takes, in real milliseconds.
    explicit Calendar(qint64 realDayMs)
        : m_startMs(QDateTime::currentMSecsSinceEpoch()), m_speed(virtualDayMs / realDayMs)
    { }

    QByteArray variable() const ///< for TIDEKEEPER_CLOCK
    {
        return QByteArray::number(m_startMs) + ':' + QByteArray::number(m_speed);
    }
    qint64 speed() const { return m_speed; }
    /// Virtual milliseconds since the start.
    qint64 elapsedMs() const { return (QDateTime::currentMSecsSinceEpoch() - m_startMs) * m_speed; }
    qint64 nowMs() const { return m_startMs + elapsedMs(); }
    /// How far the simulator, whose own clock goes at the usual pace, has to be moved in all.
    qint64 aheadMs() const { return elapsedMs() / m_speed * (m_speed - 1); }

private:
    qint64 m_startMs;
    qint64 m_speed;
};

} // namespace tidekeeper::faults
