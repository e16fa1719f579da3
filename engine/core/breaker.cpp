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
/// Most probes end far sooner: whoever comes meanwhile looks again after this.
constexpr qint64 probeAnswerMs = 5'000;

} // namespace

Breaker::Admission Breaker::admission(qint64 nowMs, bool forced) const
{
    if (!isOpen())
        return Admission::Pass;
    return nowMs < m_state.probeAt && !forced ? Admission::Wait : Admission::Probe;
}

Breaker::Admission Breaker::admit(qint64 nowMs, bool forced)
{
    const Admission granted = admission(nowMs, forced);
    if (granted == Admission::Probe) {
        m_state.probeAt = nowMs + probeLeaseMs;
        m_state.probing = true;
    }
    return granted;
}

bool Breaker::fail(qint64 nowMs, Admission admission)
{
    // What was under way when the breaker opened says nothing new.
    if (isOpen() && admission != Admission::Probe)
        return false;
    const bool opened = !isOpen();
    const qint64 longestMs = m_pace == Pace::Steady ? firstDelayMs : longestDelayMs;
    m_state.delayMs = opened ? firstDelayMs : std::min(2 * m_state.delayMs, longestMs);
    m_state.probeAt = nowMs + m_state.delayMs;
    m_state.probing = false;
    return opened;
}

bool Breaker::succeed()
{
    const bool closed = isOpen();
    m_state = {};
    return closed;
}

void Breaker::inconclusive(qint64 nowMs, Admission admission)
{
    if (!isOpen() || admission != Admission::Probe)
        return;
    m_state.probeAt = nowMs + firstDelayMs;
    m_state.probing = false;
}

void Breaker::unused(qint64 nowMs, Admission admission)
{
    if (!isOpen() || admission != Admission::Probe)
        return;
    m_state.probeAt = nowMs;
    m_state.probing = false;
}

qint64 Breaker::waitMs(qint64 nowMs) const
{
    if (!isOpen())
        return 0;
    const qint64 leftMs = std::max<qint64>(0, m_state.probeAt - nowMs);
    return m_state.probing ? std::min(leftMs, probeAnswerMs) : leftMs;
}

} // namespace tidekeeper::core
