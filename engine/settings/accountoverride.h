// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/accountoverrides.h"

#include <QtCore/QJsonObject>
#include <QtCore/QStringList>

namespace tidekeeper::settings {

/// The limits that one account has instead of its project's.
struct AccountOverride {
    limits::AccountLimits limits; ///< whole: what was not changed is the project's
    QStringList warnings; ///< what is allowed but not wise, one sentence each

    /// projects: as RateLimiter::describe() shows them. changes: one or more of account_capacity,
    /// account_refill_per_minute, bulk_reserve and slots. Failures: invalid_settings with the field, unknown_project.
    static Result<AccountOverride> from(const QJsonObject &projects, const QString &project,
                                        const QJsonObject &changes);

    static QStringList names();
};

} // namespace tidekeeper::settings
