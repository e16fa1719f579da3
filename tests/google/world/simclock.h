// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QDateTime>
#include <QtCore/QElapsedTimer>

namespace tidekeeper::googlesim {

/// The simulator's time, which may be pushed forward. Limits, tokens and faults run on the monotonic side, what is
/// said to clients (expiries, "Retry after …") on the wall side.
class SimClock {
public:
    enum class Mode : quint8 { Running, Manual }; ///< Manual: moves only by advance()

    explicit SimClock(Mode mode = Mode::Running) : m_mode(mode) { m_timer.start(); }

    qint64 monotonicUs() const
    {
        return m_advancedUs + (m_mode == Mode::Running ? m_timer.nsecsElapsed() / 1000 : 0);
    }
    qint64 wallMs() const
    {
        return m_advancedUs / 1000
            + (m_mode == Mode::Running ? QDateTime::currentMSecsSinceEpoch() : m_manualStartMs);
    }
    void advance(qint64 us) { m_advancedUs += us; }

private:
    static constexpr qint64 m_manualStartMs = 1'800'000'000'000;

    Mode m_mode;
    QElapsedTimer m_timer;
    qint64 m_advancedUs = 0;
};

} // namespace tidekeeper::googlesim
