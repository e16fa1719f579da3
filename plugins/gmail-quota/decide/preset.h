// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "costtable.h"

#include <tidekeeper/status.h>

namespace gmailquota {

/// What one Google project may spend, and what its calls cost: the published limits and the cost table always go
/// together.
struct ProjectQuota {
    QString preset;
    CostTable costs{CostTable::Generation::Of2026};
    qint64 publishedAccount = 0; ///< units per minute that Google allows one user of the project
    qint64 publishedProject = 0; ///< units per minute that Google allows the project
    qint64 accountCapacity = 0; ///< units
    qint64 accountRefill = 0; ///< units per minute
    qint64 projectCapacity = 0;
    qint64 projectRefill = 0;
};

/// The quota of a configured project: its preset ("gmail-2026" when it names none), with the single numbers that the
/// configuration gives instead. "custom" has to give all four; its calls cost what they cost since 2026.
/// Failure: bad_configuration with the field.
tidekeeper::Status quotaOf(const QString &name, const QJsonObject &project, ProjectQuota *quota);

} // namespace gmailquota
