// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

#include <algorithm>
#include <limits>
#include <optional>

namespace tidekeeper::limits {

/// Redis server time as far as its answers tell. An answer is always older than its arrival, so of recent answers the
/// one that puts the server's clock furthest ahead is nearest to the truth; a step back is believed after 20 s.
class ServerClock {
public:
    /// nowUs: the server's time inside an answer that arrived at monotonicMs.
    void seen(qint64 nowUs, qint64 monotonicMs)
    {
        if (monotonicMs - m_windowStartMs > windowMs) {
            m_before = monotonicMs - m_windowStartMs > 2 * windowMs ? unknown : m_latest;
            m_latest = unknown;
            m_windowStartMs = monotonicMs;
        }
        // + 1: monotonicMs is rounded down, and it is better to believe the server a little behind.
        m_latest = std::max(m_latest, nowUs - (monotonicMs + 1) * 1000);
    }

    /// Server time in µs; null before the first answer.
    std::optional<qint64> at(qint64 monotonicMs) const
    {
        const qint64 offsetUs = std::max(m_latest, m_before);
        if (offsetUs == unknown)
            return std::nullopt;
        return monotonicMs * 1000 + offsetUs;
    }

private:
    static constexpr qint64 windowMs = 10'000;
    static constexpr qint64 unknown = std::numeric_limits<qint64>::min();

    qint64 m_windowStartMs = 0;
    qint64 m_latest = unknown;
    qint64 m_before = unknown;
};

} // namespace tidekeeper::limits
