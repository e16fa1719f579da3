// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QByteArrayList>
#include <QtCore/QJsonObject>
#include <QtCore/QStringList>

namespace tidekeeper::limits {

/// What the buckets of one project of a limiter hold and how fast they refill.
struct Policy {
    struct Scope {
        qint64 capacity = 0; ///< units
        qint64 refillPerMinute = 0; ///< units
        qint64 reserveMilli = 0; ///< what bulk leaves, milli-units
        qint64 published = 0; ///< units per minute that the API's owner allows; 0 = unknown

        /// The most that can reach the API within one minute, in units, rounded up.
        qint64 worstMinute(qint64 sendSlackMs) const;
    };

    Scope account;
    Scope project;
    qint64 keyTtlMs = 3'600'000;
    qint64 sendSlackMs = 2'000;
    qint64 largestSingleCost = 0; ///< units that one call of the API may cost; 0 = unknown
    bool failOpen = true;
    bool enforce = true;

    /// From the form that Buckets::publish takes; invalid_policy with the field.
    static Result<Policy> from(const QJsonObject &json);

    /// The most that one request of a lane can ever be granted, in units.
    qint64 largestCost(const QString &lane) const;

    /// What is allowed but not wise, one sentence each.
    QStringList warnings(const QString &projectName) const;

    /// The arguments of tidekeeper_publish_v1.
    QByteArrayList arguments() const;
};

} // namespace tidekeeper::limits
