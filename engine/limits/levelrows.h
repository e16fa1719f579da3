// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "limits/policy.h"
#include "limits/uses.h"
#include "redis/redisvalue.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::limits {

/// What a bucket holds now, as tidekeeper_levels_v1 tells it. Milli-units.
struct BucketRow {
    qint64 levelMilli = 0;
    qint64 capacityMilli = 0;
    qint64 refillPerMinute = 0; ///< units, at its present pace
    qint64 paceThousandths = 0;
    qint64 frozenUntilUs = 0; ///< 0: not frozen; past: it waits for its probe or the probe's answer
    bool probeIsOut = false;
    QByteArray frozenFamilies; ///< "family until_us …"

    double fullness() const { return double(levelMilli) / double(capacityMilli); }
};

struct AccountRow : BucketRow {
    QByteArray name; ///< as in Keys
    qint64 placesHeld = 0;
    bool hasOwnLimits = false;
};

struct ProjectRow : BucketRow {
    qint64 usedUnits = 0; ///< in all
    qint64 usedWhenDayBegan = 0;
    qint64 dayEndUs = 0;
    QByteArray marks;
    qint64 refusedUnits = 0; ///< charged, but refused by the API
    qint64 refusedCalls = 0;
    qint64 clockSteps = 0;
    qint64 bookedMilli = 0;
};

struct Levels {
    qint64 nowUs = 0;
    ProjectRow project;
    qint64 active = 0; ///< accounts in the list
    std::vector<AccountRow> accounts;
};

/// Failure: limiter_unavailable.
Result<Levels> levelsFrom(const Result<redis::Value> &answer);

/// {"account" (null when it is not known, then with "key": its name in keys), "project", "level", "capacity", "refill_per_minute", "pace" (0 … 1), "frozen_until" (epoch ms or null),
/// "probe", "frozen_families": [{"family", "until"}], "held", "override", "lanes": {lane: {"units", "calls"}}}. Units
/// are rounded down.
QJsonObject accountJson(const AccountRow &row, const QString &account, const QString &project,
                        const std::vector<Use> &lanes);

/// What was granted beyond what the buckets held may come on top of a project's minute: {"units", "allowed" (null: no
/// limit is published), "warning": a sentence or null}.
QJsonObject bookedJson(const ProjectRow &row, const Policy &policy);

/// As an account's, without what only accounts have, and with "day": {"units", "last_24h", "forecast", "budget",
/// "action", "ends_at"}, "booked", "charged_but_refused": {"units", "calls"}, "clock_steps", "callers".
QJsonObject projectJson(const Levels &levels, const QString &name, const Policy &policy,
                        const std::vector<Use> &callers);

/// [{"lane", "caller", "units", "calls"}].
QJsonArray usesJson(const std::vector<Use> &uses);

} // namespace tidekeeper::limits
