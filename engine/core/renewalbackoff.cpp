// SPDX-License-Identifier: Apache-2.0
#include "core/renewalbackoff.h"

#include "core/planner.h"

#include <algorithm>
#include <array>

namespace tidekeeper::core {

qint64 renewalBackoffMs(int failures, bool critical, double jitter)
{
    constexpr std::array<qint64, 9> stepsMinutes{1, 2, 5, 10, 20, 40, 60, 120, 240};
    constexpr qint64 longestWhenCriticalMs = 15 * minuteMs;
    const int last = static_cast<int>(stepsMinutes.size()) - 1;
    const qint64 stepMs = stepsMinutes.at(static_cast<size_t>(std::clamp(failures - 1, 0, last))) * minuteMs;
    const auto jitteredMs = static_cast<qint64>(static_cast<double>(stepMs) * (0.8 + 0.4 * jitter));
    return critical ? std::min(jitteredMs, longestWhenCriticalMs) : jitteredMs;
}

} // namespace tidekeeper::core
