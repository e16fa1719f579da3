// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quotaredis.h"

namespace tidekeeper::test {

/// What one bucket holds, as tidekeeper_levels_v1 tells it; milli-units.
struct QuotaLevel {
    qint64 level = 0;
    qint64 capacity = 0;
    qint64 refillPerMinute = 0; ///< units, at its present pace
    qint64 pace = 0; ///< 1 … 1000
    qint64 frozenUntilUs = 0;
    bool probeIsOut = false;
    QByteArray families; ///< `name until_us` pairs
};

struct QuotaAccountLevel : QuotaLevel {
    QByteArray account;
    qint64 places = 0; ///< held
    bool hasOwnLimits = false;
};

struct QuotaProjectLevel : QuotaLevel {
    qint64 used = 0; ///< units
    qint64 usedWhenDayBegan = 0;
    qint64 dayEndUs = 0;
    QByteArray marks; ///< `us:units` pairs
    qint64 refusedUnits = 0;
    qint64 refusedCalls = 0;
    qint64 clockSteps = 0;
    qint64 bookedMilli = 0;

    qint64 usedToday() const { return used - usedWhenDayBegan; }
};

struct QuotaLevels {
    qint64 nowUs = 0;
    QuotaProjectLevel project;
    qint64 active = 0; ///< members of the index
    QList<QuotaAccountLevel> accounts;
};

/// Asks for levels at a time; arguments as "top", "0", "10" or "of", "alice".
QuotaLevels levelsAt(QuotaRedis &redis, qint64 nowUs, const QByteArrayList &arguments = {"of"});
QuotaLevels levelsFrom(const redis::Value &answer);

} // namespace tidekeeper::test
