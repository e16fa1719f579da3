// SPDX-License-Identifier: Apache-2.0
#include "limits/quotaday.h"

namespace tidekeeper::limits {

namespace {

constexpr qint64 dayS = 86'400;

qint64 floorDiv(qint64 value, qint64 by)
{
    return value / by - (value % by < 0 ? 1 : 0);
}

} // namespace

QuotaDay QuotaDay::at(qint64 nowMs, const core::Zone &zone)
{
    const qint64 utcS = floorDiv(nowMs, 1'000);
    const qint64 day = floorDiv(utcS + zone.spanAt(utcS).offsetS, dayS);
    const auto beginMs = [&zone](qint64 localDay) { return zone.instantOf(localDay * dayS) * 1'000; };
    return {beginMs(day), beginMs(day + 1), beginMs(day + 2)};
}

} // namespace tidekeeper::limits
