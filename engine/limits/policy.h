// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "limits/quotaday.h"

#include <QtCore/QByteArrayList>
#include <QtCore/QHash>
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
    QString dearestMethod; ///< that costs so much; may be empty
    bool failOpen = true;
    bool localFallback = true; ///< what passes without Redis is still bounded, by this engine alone
    bool enforce = true;

    enum class DayAction : quint8 { Warn, RefuseBulk, Refuse };
    qint64 dayBudget = 0; ///< units a day for the project; 0 = none
    DayAction dayAction = DayAction::Warn; ///< when it is spent; renewals pass always
    QByteArray dayZone = "UTC"; ///< IANA, exists
    qint64 places = 10; ///< that one account may hold at once
    QHash<QString, QByteArray> families; ///< by method

    /// From the form that Buckets::publish takes; invalid_policy with the field.
    static Result<Policy> from(const QJsonObject &json);

    /// The most that one request of a lane can ever be granted, in units, to an account of these limits.
    qint64 largestCost(const QString &lane, const Scope &ofAccount) const;
    qint64 largestCost(const QString &lane) const { return largestCost(lane, account); }

    /// What is allowed but not wise, one sentence each.
    QStringList warnings(const QString &projectName) const;

    /// What kind of call a method is; empty when a freeze of a family never concerns it.
    QByteArray familyOf(const QString &method) const { return families.value(method); }

    QuotaDay dayAt(qint64 nowMs) const;

    /// The arguments of tidekeeper_publish_v1; nowMs tells which day the budget is of.
    QByteArrayList arguments(qint64 nowMs) const;
};

} // namespace tidekeeper::limits
