// SPDX-License-Identifier: Apache-2.0
#include "limits/localbuckets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

using core::TokenBucket;
using core::TokenRequest;
using core::TokenVerdict;

namespace {

/// `milli` of a bucket that holds `whole`, in a bucket that holds `part`; rounded down.
qint64 scaled(qint64 milli, qint64 whole, qint64 part)
{
    return whole == part ? milli : qint64(std::floor(double(milli) * double(part) / double(whole)));
}

qint64 msUntil(qint64 us, qint64 nowUs)
{
    return std::max<qint64>(0, (us - nowUs + 999) / 1000);
}

/// Of what was granted and not sent, what has not been refilled meanwhile.
qint64 unrefilled(qint64 costMilli, qint64 refillPerMinute, qint64 us)
{
    TokenBucket since(0, 0);
    since.refill({.capacityMilli = costMilli, .refillPerMinute = refillPerMinute}, us);
    return costMilli - since.levelMilli();
}

} // namespace

void LocalBuckets::Twice::refill(const TokenBucket::Limits &limits, qint64 nowUs)
{
    inRedis.refill(limits, nowUs);
    here.refill(limits, nowUs);
}

void LocalBuckets::Twice::set(qint64 inRedisMilli, qint64 nowUs)
{
    const qint64 owed = owedMilli();
    inRedis = TokenBucket(inRedisMilli, nowUs);
    here = TokenBucket(inRedisMilli - owed, nowUs);
}

LocalBuckets::LocalBuckets(const Policy &policy, qsizetype mostAccounts)
    : m_mostAccounts(mostAccounts), m_policy(policy)
{
    divide();
    m_project.set(m_projectShare.capacityMilli, 0);
}

void LocalBuckets::setPolicy(const Policy &policy)
{
    m_policy = policy;
    divide();
}

void LocalBuckets::setOverrides(const QHash<QByteArray, Policy::Scope> &overrides)
{
    m_overrides = overrides;
    divideOverrides();
}

void LocalBuckets::setLiveEngines(int engines)
{
    engines = std::max(1, engines);
    if (engines == m_engines)
        return;
    const TokenBucket::Limits project = m_projectShare;
    QHash<QByteArray, qint64> before;
    for (auto account = m_accounts.cbegin(); account != m_accounts.cend(); ++account)
        before.insert(account.key(), shareOf(account.key()).capacityMilli);
    m_engines = engines;
    divide();

    // Each level is a share of what is in Redis; what was granted here stays as it is.
    const auto rescale = [](Twice &bucket, qint64 capacityBefore, qint64 capacity) {
        const qint64 owed = bucket.owedMilli();
        const qint64 level = scaled(bucket.inRedis.levelMilli(), capacityBefore, capacity);
        bucket.inRedis.putBack(level - bucket.inRedis.levelMilli());
        bucket.here.putBack(level - owed - bucket.here.levelMilli());
    };
    for (auto account = m_accounts.begin(); account != m_accounts.end(); ++account)
        rescale(account->bucket, before.value(account.key()), shareOf(account.key()).capacityMilli);
    rescale(m_project, project.capacityMilli, m_projectShare.capacityMilli);
}

void LocalBuckets::divide()
{
    m_accountShare = share(m_policy.account);
    m_projectShare = share(m_policy.project);
    divideOverrides();
}

void LocalBuckets::divideOverrides()
{
    m_overrideShares.clear();
    for (auto own = m_overrides.cbegin(); own != m_overrides.cend(); ++own)
        m_overrideShares.insert(own.key(), share(*own));
}

/// One engine's part of a bucket, never smaller than the most expensive call.
TokenBucket::Limits LocalBuckets::share(const Policy::Scope &scope) const
{
    const qint64 whole = scope.capacity * 1000;
    const qint64 least = std::min(whole, m_policy.largestSingleCost * 1000);
    const qint64 capacity = std::max<qint64>(1, std::clamp(whole / m_engines, least, whole));
    return {.capacityMilli = capacity,
            .refillPerMinute = std::max<qint64>(1, scope.refillPerMinute / m_engines),
            .reserveMilli = scaled(scope.reserveMilli, whole, capacity)};
}

const TokenBucket::Limits &LocalBuckets::shareOf(const QByteArray &accountKey) const
{
    if (m_overrideShares.isEmpty())
        return m_accountShare;
    const auto own = m_overrideShares.constFind(accountKey);
    return own == m_overrideShares.cend() ? m_accountShare : *own;
}

void LocalBuckets::seen(const QByteArray &accountKey, const Levels &levels, qint64 nowUs)
{
    Twice &account = accountOf(accountKey, nowUs).bucket;
    const TokenBucket::Limits &limits = shareOf(accountKey);
    if (m_debtors.contains(accountKey))
        account.refill(limits, nowUs); // brings what is owed up to now
    account.set(scaled(levels.accountMilli, levels.accountCapacityMilli, limits.capacityMilli), nowUs);
    if (m_projectOwes)
        m_project.refill(m_projectShare, nowUs);
    m_project.set(scaled(levels.projectMilli, levels.projectCapacityMilli, m_projectShare.capacityMilli),
                  nowUs);
}

void LocalBuckets::freeze(const QByteArray &accountKey, qint64 untilUs, qint64 nowUs)
{
    qint64 &frozenUntilUs =
        accountKey.isEmpty() ? m_projectFrozenUntilUs : accountOf(accountKey, nowUs).frozenUntilUs;
    frozenUntilUs = std::max(frozenUntilUs, untilUs);
}

QuotaAnswer LocalBuckets::acquire(const QByteArray &accountKey, const TokenRequest &request, qint64 nowUs)
{
    const TokenBucket::Limits &limits = shareOf(accountKey);
    Account &account = accountOf(accountKey, nowUs);
    account.bucket.refill(limits, nowUs);
    m_project.refill(m_projectShare, nowUs);

    QuotaAnswer answer;
    answer.degraded = true;
    answer.cost = request.costMilli / 1000;
    const TokenVerdict verdict =
        core::decide(request, account.bucket.here, limits, m_project.here, m_projectShare);
    if (std::max(account.frozenUntilUs, m_projectFrozenUntilUs) > nowUs) {
        const bool isProject = m_projectFrozenUntilUs >= account.frozenUntilUs;
        answer.refusedBy = isProject ? u"project_frozen"_s : u"account_frozen"_s;
        answer.retryAfterMs = msUntil(std::max(account.frozenUntilUs, m_projectFrozenUntilUs), nowUs);
    } else if (verdict.refusedBy != TokenVerdict::RefusedBy::Nobody) {
        answer.refusedBy =
            verdict.refusedBy == TokenVerdict::RefusedBy::Account ? u"account"_s : u"project"_s;
        answer.retryAfterMs = verdict.retryAfterMs;
    } else {
        answer.waitMs = verdict.waitMs;
        take(accountKey, account, request.costMilli, nowUs + verdict.waitMs * 1000);
    }
    answer.granted = answer.refusedBy.isEmpty() || !m_policy.enforce;
    if (answer.granted)
        answer.retryAfterMs = 0;
    answer.accountLevel = account.bucket.here.levelMilli();
    answer.accountCapacity = limits.capacityMilli;
    answer.projectLevel = m_project.here.levelMilli();
    answer.projectCapacity = m_projectShare.capacityMilli;
    return answer;
}

void LocalBuckets::take(const QByteArray &accountKey, Account &account, qint64 costMilli, qint64 sentAtUs)
{
    if (costMilli == 0)
        return;
    account.bucket.here.take(costMilli);
    account.bookedUntilUs = std::max(account.bookedUntilUs, sentAtUs);
    m_project.here.take(costMilli);
    m_debtors.insert(accountKey);
    m_projectOwes = true;
}

LocalBuckets::Amounts LocalBuckets::refund(const QByteArray &accountKey, qint64 costMilli, qint64 grantedUs,
                                           qint64 nowUs)
{
    const auto found = m_accounts.find(accountKey);
    if (found == m_accounts.end())
        return {};
    found->bucket.refill(shareOf(accountKey), nowUs);
    m_project.refill(m_projectShare, nowUs);
    const qint64 sinceUs = std::max(nowUs, found->bookedUntilUs) - grantedUs;
    const auto putBack = [&](Twice &bucket, const TokenBucket::Limits &limits) {
        const qint64 milli =
            std::clamp(unrefilled(costMilli, limits.refillPerMinute, sinceUs), qint64(0), bucket.owedMilli());
        bucket.here.putBack(milli);
        return milli;
    };
    return {putBack(found->bucket, shareOf(accountKey)), putBack(m_project, m_projectShare)};
}

LocalBuckets::Amounts LocalBuckets::takeDebt(const QByteArray &accountKey, qint64 nowUs)
{
    Amounts owed;
    const auto settle = [nowUs](Twice &bucket, const TokenBucket::Limits &limits) {
        bucket.refill(limits, nowUs);
        const qint64 milli = bucket.owedMilli();
        bucket.inRedis = bucket.here;
        return milli;
    };
    if (m_debtors.remove(accountKey))
        owed.accountMilli = settle(m_accounts[accountKey].bucket, shareOf(accountKey));
    if (std::exchange(m_projectOwes, false))
        owed.projectMilli = settle(m_project, m_projectShare);
    return owed;
}

void LocalBuckets::putBackDebt(const QByteArray &accountKey, const Amounts &amounts)
{
    const auto found = m_accounts.find(accountKey);
    if (found != m_accounts.end() && amounts.accountMilli > 0) {
        found->bucket.inRedis.putBack(amounts.accountMilli);
        m_debtors.insert(accountKey);
    }
    if (amounts.projectMilli > 0) {
        m_project.inRedis.putBack(amounts.projectMilli);
        m_projectOwes = true;
    }
}

LocalBuckets::Account &LocalBuckets::accountOf(const QByteArray &accountKey, qint64 nowUs)
{
    if (const auto found = m_accounts.find(accountKey); found != m_accounts.end())
        return *found;
    if (m_accounts.size() >= m_mostAccounts)
        forget(nowUs);
    Account &added = m_accounts[accountKey];
    added.bucket.set(shareOf(accountKey).capacityMilli, nowUs);
    return added;
}

/// Makes room for a quarter: full buckets go without loss, then those that are the least drained.
void LocalBuckets::forget(qint64 nowUs)
{
    QHash<QByteArray, Account> kept;
    std::vector<std::pair<qint64, QByteArray>> byMissing;
    for (auto account = m_accounts.begin(); account != m_accounts.end(); ++account) {
        const TokenBucket::Limits &limits = shareOf(account.key());
        account->bucket.refill(limits, nowUs);
        const qint64 missing = limits.capacityMilli - account->bucket.here.levelMilli();
        if (missing > 0 || account->frozenUntilUs > nowUs)
            byMissing.emplace_back(missing, account.key());
    }
    const size_t most = size_t(m_mostAccounts) * 3 / 4;
    if (byMissing.size() > most) {
        std::nth_element(byMissing.begin(), byMissing.begin() + qsizetype(most), byMissing.end(),
                         std::greater<>());
        byMissing.resize(most);
    }
    for (const auto &[missing, accountKey] : byMissing)
        kept.insert(accountKey, m_accounts.value(accountKey));
    m_accounts = std::move(kept);
    m_debtors.removeIf([this](const QByteArray &accountKey) { return !m_accounts.contains(accountKey); });
}

} // namespace tidekeeper::limits
