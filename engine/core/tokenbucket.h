// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::core {

/// A weighted token bucket in this process, with the arithmetic of lua/quota.lua: whole milli-units (units × 1000), a
/// carry so that nothing is lost to rounding, refilled when it is asked. Pure: time is monotonic µs of the caller's
/// clock, and earlier than what it saw already counts as no time at all. The level may be below zero: what is booked.
class TokenBucket {
public:
    struct Limits {
        qint64 capacityMilli = 0; ///< ≤ 10¹²
        qint64 refillPerMinute = 1; ///< units, 1 … 10⁹
        qint64 reserveMilli = 0; ///< what bulk leaves
    };

    TokenBucket() = default;
    TokenBucket(qint64 levelMilli, qint64 nowUs) : m_levelMilli(levelMilli), m_atUs(nowUs) { }

    /// Brings the level up to nowUs. A level above the capacity, as after lowered limits, is cut to it.
    void refill(const Limits &limits, qint64 nowUs);
    qint64 levelMilli() const { return m_levelMilli; } ///< as of the last refill()

    void take(qint64 milli) { m_levelMilli -= milli; }
    void putBack(qint64 milli) { m_levelMilli += milli; }

    /// Milliseconds, rounded up, in which `refillPerMinute` brings this many milli-units; 0 for none.
    static qint64 msToRefill(qint64 milli, qint64 refillPerMinute);

private:
    qint64 m_levelMilli = 0;
    qint64 m_carry = 0; ///< beyond the level, in 1/60,000 milli-units
    qint64 m_atUs = 0;
};

/// A weighted request to an account's and its project's bucket at once.
struct TokenRequest {
    qint64 costMilli = 0;
    bool isBulk = false; ///< must leave the reserves
    qint64 maxWaitMs = 0; ///< how long a booking on the account may make it wait
};

struct TokenVerdict {
    enum class RefusedBy : quint8 { Nobody, Account, Project };

    RefusedBy refusedBy = RefusedBy::Nobody;
    qint64 waitMs = 0; ///< granted: until the booked amount is there
    qint64 retryAfterMs = 0; ///< refused: the same request succeeds after this long if nobody else asks
};

/// Decides over both buckets, which have been refilled, and takes from neither. A cost that is larger than the lane's
/// whole share of a bucket is granted when that share is full, and leaves the bucket in debt: shares of a
/// bucket that several engines divide may be smaller than one call.
TokenVerdict decide(const TokenRequest &request, const TokenBucket &account,
                    const TokenBucket::Limits &accountLimits, const TokenBucket &project,
                    const TokenBucket::Limits &projectLimits);

} // namespace tidekeeper::core
