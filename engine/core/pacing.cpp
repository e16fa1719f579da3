// SPDX-License-Identifier: Apache-2.0
#include "core/pacing.h"

#include "core/planner.h"

#include <algorithm>

namespace tidekeeper::core {

namespace {

// So that an hour stays within twice the mean together with what was saved up, probes and second tries.
constexpr double timesTheMean = 1.8;
constexpr double leastPerMinute = 1;
constexpr qint64 leastAtOnce = 20;
constexpr qint64 savedUpMs =
    2 * minuteMs; // a scan a minute may come late, and takes then what the last one left
constexpr qint64 milli = 1'000;

} // namespace

Pace backlogPace(qint64 subscriptions, qint64 cycleMs)
{
    const double meanPerMs =
        static_cast<double>(subscriptions) / static_cast<double>(std::max(cycleMs, minuteMs));
    Pace pace;
    pace.milliPerMs = milli * std::max(timesTheMean * meanPerMs, leastPerMinute / minuteMs);
    pace.capacityMilli =
        std::max(leastAtOnce * milli, static_cast<qint64>(pace.milliPerMs * static_cast<double>(savedUpMs)));
    return pace;
}

int takePaced(PaceLevel &level, const Pace &pace, int wanted, qint64 nowMs)
{
    if (level.at <= 0)
        level = {pace.capacityMilli, nowMs};
    // A clock that was set back refills nothing and does not stop the bucket either.
    const qint64 elapsedMs = std::max<qint64>(0, nowMs - level.at);
    const double refilled =
        static_cast<double>(level.milli) + pace.milliPerMs * static_cast<double>(elapsedMs);
    level.milli = static_cast<qint64>(std::min(refilled, static_cast<double>(pace.capacityMilli)));
    level.at = nowMs;
    const int taken = std::min(wanted, static_cast<int>(std::max<qint64>(0, level.milli) / milli));
    level.milli -= taken * milli;
    return taken;
}

void returnPaced(PaceLevel &level, const Pace &pace, int unused)
{
    level.milli = std::min(pace.capacityMilli, level.milli + unused * milli);
}

} // namespace tidekeeper::core
