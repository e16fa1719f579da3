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
    QHash<QByteArray, QString> withOwnLimits = {}; ///< accounts that have an override, by key
    qint64 awaySinceMs = 0; ///< epoch ms: since when this engine decides without Redis; 0 = it does not

    /// The account that has this name in keys. When the name does not tell it, only if this engine saw the account in the last
    /// minute or it has an override; else empty.
    QString accountNamed(const QByteArray &accountName) const
    {
        if (keys.accountNames().tellAddresses())
            return keys.accountNames().accountOf(accountName);
        const QByteArray key = keys.anyAccount() + accountName;
        const QString seen = active.accountOf(key);
        return seen.isEmpty() ? withOwnLimits.value(key) : seen;
    }
};

} // namespace tidekeeper::limits
