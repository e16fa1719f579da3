// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::core {

/// Stops all work of one project, client or domain after a fault, and lets one probe through from time to time: after
/// 60 s, doubling to 15 min, or steadily once a minute. Pure and a plain value, so that it can be stored: instants are
/// milliseconds of the caller's clock, epoch ones where several engines share it.
class Breaker {
public:
    enum class Admission : quint8 {
        Pass, ///< closed
        Probe, ///< open, and this caller is to find out
        Wait ///< open
    };
    enum class Pace : quint8 {
        Doubling, ///< somebody has to mend it
        Steady ///< it passes by itself
    };

    struct State {
        qint64 delayMs = 0; ///< 0 = closed
        qint64 probeAt = 0; ///< while open: no probe before; while one is under way: when it is given up
        bool probing = false;
    };

    explicit Breaker(Pace pace = Pace::Doubling) : m_pace(pace) { }
    Breaker(State state, Pace pace) : m_state(state), m_pace(pace) { }
    const State &state() const { return m_state; }

    /// What admit() would say.
    Admission admission(qint64 nowMs, bool forced = false) const;
    /// forced: an operator asks, so the probe does not wait for its time.
    Admission admit(qint64 nowMs, bool forced = false);

    /// Admitted work met the fault. True when this opened the breaker: the moment for the one alert.
    bool fail(qint64 nowMs, Admission admission);
    /// Admitted work succeeded. True when this closed the breaker.
    bool succeed();
    /// The probe asked and got nothing that tells (network, overload): the next one in a minute.
    void inconclusive(qint64 nowMs, Admission admission);
    /// The probe ended before it asked anything: the next one may start at once.
    void unused(qint64 nowMs, Admission admission);

    bool isOpen() const { return m_state.delayMs > 0; }
    /// Until it is worth to ask again: the next probe, or, while one is under way, soon after. 0 when closed or when a
    /// probe may start now.
    qint64 waitMs(qint64 nowMs) const;

private:
    State m_state;
    Pace m_pace = Pace::Doubling;
};

} // namespace tidekeeper::core
