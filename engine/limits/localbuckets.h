// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tokenbucket.h"
#include "limits/policy.h"

#include <tidekeeper/reply.h>

#include <QtCore/QHash>
#include <QtCore/QSet>

namespace tidekeeper::limits {

/// The buckets of one project as far as this engine knows them: what decides while Redis is away. Each engine has its
/// share: the policy divided by the live engines. Memory only and bounded. Pure; time is monotonic µs.
///
/// Each bucket is kept twice: as Redis would have it, and as it is after what was granted here. The difference is owed
/// to Redis and settled when it is back.
class LocalBuckets {
public:
    explicit LocalBuckets(const Policy &policy, qsizetype mostAccounts = 100'000);

    void setPolicy(const Policy &policy);
    /// Limits of single accounts' own, all of them from now on, by account key.
    void setOverrides(const QHash<QByteArray, Policy::Scope> &overrides);
    /// The undivided limits of an account: its own, or the policy's.
    Policy::Scope limitsOf(const QByteArray &accountKey) const
    {
        return m_overrides.value(accountKey, m_policy.account);
    }
    /// How many engines share the limits; counted while Redis was there. At least 1.
    void setLiveEngines(int engines);

    /// Of the undivided buckets, in milli-units.
    struct Levels {
        qint64 accountMilli;
        qint64 accountCapacityMilli;
        qint64 projectMilli;
        qint64 projectCapacityMilli;
    };
    /// What Redis said, for the time that it is away.
    void seen(const QByteArray &accountKey, const Levels &levels, qint64 nowUs);
    /// Nobody may call before untilUs: for an account or, with an empty key, for the whole project.
    void freeze(const QByteArray &accountKey, qint64 untilUs, qint64 nowUs);

    /// Decides one request, whose cost is at most the largestCost() of the lane and the account. The answer is marked as
    /// degraded and has the levels of this engine's share.
    QuotaAnswer acquire(const QByteArray &accountKey, const core::TokenRequest &request, qint64 nowUs);

    struct Amounts {
        qint64 accountMilli = 0;
        qint64 projectMilli = 0;
        bool isNothing() const { return accountMilli <= 0 && projectMilli <= 0; }
    };
    /// Gives back what was granted here at grantedUs and never sent, by the rule of tidekeeper_refund_v1, but nothing
    /// that Redis was told already. How much came back.
    Amounts refund(const QByteArray &accountKey, qint64 costMilli, qint64 grantedUs, qint64 nowUs);

    /// Whether Redis does not know all that was granted here to the account, or to the project.
    bool owes(const QByteArray &accountKey) const { return m_projectOwes || m_debtors.contains(accountKey); }
    /// An account that may owe; empty when none does.
    QByteArray anyDebtor() const { return m_debtors.isEmpty() ? QByteArray() : *m_debtors.cbegin(); }
    /// What is owed for the account, and all that is owed for the project; from now on Redis counts as told.
    Amounts takeDebt(const QByteArray &accountKey, qint64 nowUs);
    /// Redis could not be told after all.
    void putBackDebt(const QByteArray &accountKey, const Amounts &amounts);

    qsizetype size() const { return m_accounts.size(); }

private:
    struct Twice {
        core::TokenBucket inRedis; ///< this engine's share of it
        core::TokenBucket here;

        void refill(const core::TokenBucket::Limits &limits, qint64 nowUs);
        qint64 owedMilli() const { return inRedis.levelMilli() - here.levelMilli(); }
        /// Redis has this level, and is still owed what it was owed.
        void set(qint64 inRedisMilli, qint64 nowUs);
    };
    struct Account {
        Twice bucket;
        qint64 frozenUntilUs = 0;
        qint64 bookedUntilUs = 0; ///< end of the last booked wait
    };

    Account &accountOf(const QByteArray &accountKey, qint64 nowUs);
    core::TokenBucket::Limits share(const Policy::Scope &scope) const;
    const core::TokenBucket::Limits &shareOf(const QByteArray &accountKey) const;
    void take(const QByteArray &accountKey, Account &account, qint64 costMilli, qint64 sentAtUs);
    void divide();
    void divideOverrides();
    void forget(qint64 nowUs);

    qsizetype m_mostAccounts;
    Policy m_policy;
    int m_engines = 1;
    core::TokenBucket::Limits m_accountShare;
    core::TokenBucket::Limits m_projectShare;
    QHash<QByteArray, Policy::Scope> m_overrides;
    QHash<QByteArray, core::TokenBucket::Limits> m_overrideShares;
    QHash<QByteArray, Account> m_accounts;
    QSet<QByteArray> m_debtors;
    Twice m_project;
    qint64 m_projectFrozenUntilUs = 0;
    bool m_projectOwes = false;
};

} // namespace tidekeeper::limits
