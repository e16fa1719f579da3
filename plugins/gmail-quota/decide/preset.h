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
    qint64 publishedAccount = 0; ///< units per minute that Google allows one user of the project; 0 = unknown
    qint64 publishedProject = 0; ///< units per minute that Google allows the project; 0 = unknown
    qint64 accountCapacity = 0; ///< units
    qint64 accountRefill = 0; ///< units per minute
    qint64 projectCapacity = 0;
    qint64 projectRefill = 0;
    qint64 dayBudget = 0; ///< units a day; 0 = none
    QString dayAction = QStringLiteral("warn"); ///< "warn", "refuse-bulk" or "refuse"
    qint64 places = 0; ///< that one account may hold at once
    QJsonObject sources = {}; ///< "default", "preset", "file" or "operator", by the names of limitNames()
};

/// The quota of a configured project: its preset ("gmail-2026" when it names none), with the single values that the
/// configuration gives instead. "custom" has to give all four of capacity and refill; its "costs" names the preset
/// whose cost table, published limits and day budget it starts from, its "method_costs" ({method: units}) replace
/// single costs. Places are left out.
/// Failure: bad_configuration with the field.
tidekeeper::Status quotaOf(const QString &name, const QJsonObject &project, ProjectQuota *quota);

/// The single values of a project: account_capacity, …, day_budget, day_action, slots.
QStringList limitNames();

/// Replaces those that `given` names; other keys are not looked at. Failure: invalid_value with the field, whose text
/// begins with it; quota then is changed in part.
tidekeeper::Status replaceLimits(const QJsonObject &given, const QString &source, ProjectQuota *quota);

/// The failure of something inside `path`, under another code: its field and its text begin with the path.
tidekeeper::Status within(const QString &path, const QString &code, const tidekeeper::Status &inner);

/// A failure of one key: "KEY what". Code invalid_value.
tidekeeper::Status badValue(const QString &key, const QString &what);

} // namespace gmailquota
