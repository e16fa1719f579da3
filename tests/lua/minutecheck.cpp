// SPDX-License-Identifier: Apache-2.0
#include "minutecheck.h"

#include <algorithm>

namespace tidekeeper::test {

namespace {

constexpr qint64 minuteUs = 60'000'000;
constexpr qint64 longestBookingUs = 30'000'000;
constexpr qint64 roundingUs = 1'000; ///< waits are whole milliseconds

} // namespace

void MinuteCheck::limitsChanged(qint64 atUs, qint64 capacity, qint64 refillPerMinute, double debt)
{
    m_changes.push_back({atUs, capacity, refillPerMinute, debt});
}

void MinuteCheck::steppedForward(qint64 atUs, double debt)
{
    const Change now = m_changes.back();
    m_changes.push_back({atUs, now.capacity, now.refillPerMinute, double(now.capacity) + debt});
}

size_t MinuteCheck::granted(qint64 grantUs, qint64 sendUs, qint64 cost)
{
    m_grants.push_back({grantUs, sendUs, cost});
    return m_grants.size() - 1;
}

/// The largest capacity, the refill that ran, and what changes added: also of limits whose bookings are sent only now.
double MinuteCheck::allowed(qint64 startUs) const
{
    const qint64 endUs = startUs + minuteUs + roundingUs;
    qint64 capacity = 0;
    double sum = 1; // what is cut off a milli-unit here and there
    for (size_t i = 0; i < m_changes.size(); ++i) {
        const Change &change = m_changes[i];
        const qint64 fromUs = std::max(startUs, change.atUs);
        const qint64 untilUs = std::min(endUs, i + 1 < m_changes.size() ? m_changes[i + 1].atUs : endUs);
        if (change.atUs > startUs - longestBookingUs && change.atUs <= endUs)
            sum += change.extra;
        if (change.atUs <= endUs && untilUs >= startUs - longestBookingUs)
            capacity = std::max(capacity, change.capacity);
        if (untilUs > fromUs)
            sum += double(change.refillPerMinute) * double(untilUs - fromUs) / double(minuteUs);
    }
    return sum + double(capacity);
}

QByteArray MinuteCheck::violation(bool bookedCounts) const
{
    std::vector<Grant> sends = m_grants;
    std::sort(sends.begin(), sends.end(), [](const Grant &a, const Grant &b) { return a.sendUs < b.sendUs; });
    size_t end = 0, granted = 0, sent = 0;
    qint64 inMinute = 0, grantedBefore = 0, sentBefore = 0;
    for (size_t begin = 0; begin < sends.size(); ++begin) {
        const qint64 startUs = sends[begin].sendUs;
        for (; end < sends.size() && sends[end].sendUs < startUs + minuteUs; ++end)
            inMinute += sends[end].cost;
        for (; granted < m_grants.size() && m_grants[granted].grantUs < startUs; ++granted)
            grantedBefore += m_grants[granted].cost;
        for (; sends[sent].sendUs < startUs; ++sent)
            sentBefore += sends[sent].cost;
        const double booked = bookedCounts ? double(grantedBefore - sentBefore) : 0;
        if (const double most = allowed(startUs) + booked; double(inMinute) > most) {
            return QByteArray::number(inMinute) + " units in the minute from " + QByteArray::number(startUs)
                + " µs, allowed are " + QByteArray::number(most);
        }
        inMinute -= sends[begin].cost;
    }
    return {};
}

} // namespace tidekeeper::test
