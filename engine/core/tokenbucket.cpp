// SPDX-License-Identifier: Apache-2.0
#include "core/tokenbucket.h"

#include <algorithm>

namespace tidekeeper::core {

namespace {

/// Elapsed µs × units per minute ÷ this = milli-units.
constexpr qint64 parts = 60'000;

} // namespace

void TokenBucket::refill(const Limits &limits, qint64 nowUs)
{
    const qint64 elapsedUs = std::max<qint64>(0, nowUs - m_atUs);
    m_atUs += elapsedUs;
    const qint64 periods = elapsedUs / parts; // each brings refillPerMinute milli-units
    const qint64 missing = limits.capacityMilli - m_levelMilli;
    if (missing <= 0 || periods > missing / limits.refillPerMinute) {
        m_levelMilli = limits.capacityMilli;
        m_carry = 0;
        return;
    }
    const qint64 rest = elapsedUs % parts * limits.refillPerMinute + m_carry;
    m_levelMilli += periods * limits.refillPerMinute + rest / parts;
    m_carry = rest % parts;
    if (m_levelMilli >= limits.capacityMilli) {
        m_levelMilli = limits.capacityMilli;
        m_carry = 0;
    }
}

qint64 TokenBucket::msToRefill(qint64 milli, qint64 refillPerMinute)
{
    return milli > 0 ? (milli * 60 + refillPerMinute - 1) / refillPerMinute : 0;
}

TokenVerdict decide(const TokenRequest &request, const TokenBucket &account,
                    const TokenBucket::Limits &accountLimits, const TokenBucket &project,
                    const TokenBucket::Limits &projectLimits)
{
    if (request.costMilli == 0)
        return {};
    // What has to be there: the lane's floor and the cost, or as much of it as the bucket ever holds above the floor.
    const auto needed = [&request](const TokenBucket::Limits &limits) {
        const qint64 floorMilli = request.isBulk ? limits.reserveMilli : 0;
        return std::min(request.costMilli + floorMilli, limits.capacityMilli);
    };
    qint64 bookable = accountLimits.refillPerMinute * request.maxWaitMs / 60;
    // Bookings of bulk may use half of the reserve at most, or they would starve realtime for ever.
    if (request.isBulk)
        bookable = std::min(bookable, accountLimits.reserveMilli / 2);

    const qint64 missing = needed(accountLimits) - account.levelMilli();
    const qint64 accountMs = TokenBucket::msToRefill(missing - bookable, accountLimits.refillPerMinute);
    const qint64 projectMs =
        TokenBucket::msToRefill(needed(projectLimits) - project.levelMilli(), projectLimits.refillPerMinute);
    if (accountMs == 0 && projectMs == 0)
        return {.waitMs = TokenBucket::msToRefill(missing, accountLimits.refillPerMinute)};
    if (projectMs > accountMs)
        return {.refusedBy = TokenVerdict::RefusedBy::Project, .retryAfterMs = projectMs};
    return {.refusedBy = TokenVerdict::RefusedBy::Account, .retryAfterMs = accountMs};
}

} // namespace tidekeeper::core
