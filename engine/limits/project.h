// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/activeaccounts.h"
#include "limits/keys.h"
#include "limits/localbuckets.h"
#include "limits/policy.h"

namespace tidekeeper::limits {

/// One project of a limiter: where it is kept in Redis and what its limits are now.
struct Project {
    QString limiter;
    QString name;
    Keys keys;
    Policy policy;
    ActiveAccounts active = ActiveAccounts();
    LocalBuckets local = LocalBuckets(policy);
    qint64 awaySinceMs = 0; ///< epoch ms: since when this engine decides without Redis; 0 = it does not
};

} // namespace tidekeeper::limits
