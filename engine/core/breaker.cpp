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

Breaker::Admission Breaker::admit(qint64 nowMs, bool forced)
{
    if (!isOpen())
        return Admission::Pass;
    if (nowMs < m_probeAt && !forced)
        return Admission::Wait;
    m_probeAt = nowMs + probeLeaseMs;
    m_probing = true;
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
    m_probing = false;
    return opened;
}

bool Breaker::succeed()
{
    const bool closed = isOpen();
    m_delayMs = 0;
    m_probeAt = 0;
    m_probing = false;
    return closed;
}

void Breaker::inconclusive(qint64 nowMs, Admission admission)
{
    if (!isOpen() || admission != Admission::Probe)
        return;
    m_probeAt = nowMs + firstDelayMs;
    m_probing = false;
}

void Breaker::unused(qint64 nowMs, Admission admission)
{
    if (!isOpen() || admission != Admission::Probe)
        return;
    m_probeAt = nowMs;
    m_probing = false;
}

qint64 Breaker::waitMs(qint64 nowMs) const
{
    if (!isOpen())
        return 0;
    const qint64 leftMs = std::max<qint64>(0, m_probeAt - nowMs);
    return m_probing ? std::min(leftMs, probeAnswerMs) : leftMs;
}

} // namespace tidekeeper::core
