// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::core {

/// Stops all work of one project, client or domain after a fault of configuration, and lets one probe through from
/// time to time: after 60 s, doubling to 15 min. Pure: instants are monotonic milliseconds of the caller's clock.
class Breaker {
public:
    enum class Admission : quint8 {
        Pass, ///< closed
        Probe, ///< open, and this caller is to find out
        Wait ///< open
    };

    /// forced: an operator asks, so the probe does not wait for its time.
    Admission admit(qint64 nowMs, bool forced = false);

    /// Admitted work met a fault of configuration. True when this opened the breaker: the moment for the one alert.
    bool fail(qint64 nowMs, Admission admission);
    /// Admitted work succeeded. True when this closed the breaker.
    bool succeed();
    /// The probe asked and got nothing that tells (network, overload): the next one in a minute.
    void inconclusive(qint64 nowMs, Admission admission);
    /// The probe ended before it asked anything: the next one may start at once.
    void unused(qint64 nowMs, Admission admission);

    bool isOpen() const { return m_delayMs > 0; }
    /// Until it is worth to ask again: the next probe, or, while one is under way, soon after. 0 when closed or when a
    /// probe may start now.
    qint64 waitMs(qint64 nowMs) const;

private:
    qint64 m_delayMs = 0; ///< 0 = closed
    qint64 m_probeAt = 0; ///< while open: no probe before
    bool m_probing = false;
};

} // namespace tidekeeper::core
