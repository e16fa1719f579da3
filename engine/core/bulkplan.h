// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QMap>
#include <QtCore/QString>

// How long many renewals out of turn take, and how far apart they have to be. Pure.
namespace tidekeeper::core {

/// What a project may spend; 0 = no bound is known.
struct ProjectQuota {
    qint64 unitsPerMinute = 0;
    qint64 unitsPerDay = 0;
};

struct BulkInput {
    QMap<QString, qint64> renewals; ///< by project
    QMap<QString, ProjectQuota> quotas; ///< by project
    qint64 costUnits = 0; ///< of one renewal; 0 = free
    qint64 workMs = 0; ///< that all of them take the engine
};

struct BulkPlan {
    qint64 estimateMs = 0; ///< as fast as engine and quota allow
    qint64 leastSpreadMs = 0; ///< so that half of the engine and of every quota is left to all else
    QString
        because; ///< what asks for leastSpreadMs: "project \"default\" may spend 1,090,000 units in a minute"
};
BulkPlan bulkPlan(const BulkInput &input);

} // namespace tidekeeper::core
