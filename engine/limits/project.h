// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/activeaccounts.h"
#include "limits/keys.h"
#include "limits/policy.h"

namespace tidekeeper::limits {

/// One project of a limiter: where it is kept in Redis and what its limits are now.
struct Project {
    QString limiter;
    QString name;
    Keys keys;
    Policy policy;
    ActiveAccounts active = ActiveAccounts();
};

} // namespace tidekeeper::limits
