// SPDX-License-Identifier: Apache-2.0
#include "core/breaker.h"

#include "core/planner.h"

#include <algorithm>

namespace tidekeeper::core {

namespace {

constexpr qint64 firstDelayMs = minuteMs;
constexpr qint64 longestDelayMs = 15 * minuteMs;
/// A probe that never reports (its worker died) is given up after this long.
constexpr qint64 probeLeaseMs = minuteMs;

} // namespace

Breaker::Admission Breaker::admit(qint64 nowMs, bool forced)
{
    if (!isOpen())
        return Admission::Pass;
    if (nowMs < m_probeAt && !forced)
        return Admission::Wait;
    m_probeAt = nowMs + probeLeaseMs;
    return Admission::Probe;
}

bool Breaker::fail(qint64 nowMs, Admission admission)
{
    // What was under way when the breaker opened says nothing new.
    if (isOpen() && admission != Admission::Probe)
        return false;
    const bool opened = !isOpen();
    m_delayMs = opened ? firstDelayMs : std::min(2 * m_delayMs, longestDelayMs);
    m_probeAt = nowMs + m_delayMs;
    return opened;
}

bool Breaker::succeed()
{
    const bool closed = isOpen();
    m_delayMs = 0;
    m_probeAt = 0;
    return closed;
}

void Breaker::inconclusive(qint64 nowMs, Admission admission)
{
    if (isOpen() && admission == Admission::Probe)
        m_probeAt = nowMs + firstDelayMs;
}

qint64 Breaker::waitMs(qint64 nowMs) const
{
    return isOpen() ? std::max<qint64>(0, m_probeAt - nowMs) : 0;
}

} // namespace tidekeeper::core
