// SPDX-License-Identifier: Apache-2.0
#include "settings/limiterstate.h"

namespace tidekeeper::settings {

void LimiterState::takeOverrides(const QString &limiter, const QMap<QString, QJsonObject> &rows,
                                 const QJsonObject &policies)
{
    overrideRows = rows;
    overridePolicies = policies;
    overrides.clear();
    strayOverrides.clear();
    for (auto row = rows.constBegin(); row != rows.constEnd(); ++row) {
        const std::optional<OverrideName> name = overrideNameFrom(limiter, row.key());
        if (name)
            overrides.insert_or_assign(*name,
                                       Override{row.key(), row.value(),
                                                AccountOverride::from(policies, name->project, row.value())});
        else
            strayOverrides.append(row.key());
    }
}

} // namespace tidekeeper::settings
