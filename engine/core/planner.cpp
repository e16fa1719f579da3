// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 soonestAfterSuccessMs = 15 * minuteMs;
constexpr qint64 largestOffsetMs = 2 * hourMs;

} // namespace

double spreadOf(const QString &accountId)
{
    // FNV-1a, then a finalizer (of MurmurHash3): ids that differ in their last digit only must land far apart.
    quint64 hash = 14695981039346656037ULL;
    for (const char byte : accountId.toUtf8()) {
        hash ^= static_cast<quint8>(byte);
        hash *= 1099511628211ULL;
    }
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccdULL;
    hash ^= hash >> 33;
    hash *= 0xc4ceb9fe1a85ec53ULL;
    hash ^= hash >> 33;
    return static_cast<double>(hash >> 11) / static_cast<double>(1ULL << 53);
}

qint64 lifetimeMs(qint64 expiresAt, qint64 lastSuccessAt, qint64 declaredLifetimeMs)
{
    if (lastSuccessAt <= 0 || expiresAt <= lastSuccessAt)
        return declaredLifetimeMs;
    return expiresAt - lastSuccessAt;
}

qint64 effectiveWindowMs(qint64 windowMs, qint64 lifetimeMs)
{
    return std::min(windowMs, lifetimeMs / 7 * 6);
}

qint64 nextTarget(const PlanInput &input)
{
    if (input.expiresAt <= 0)
        return 0;
    const qint64 lifetime = lifetimeMs(input.expiresAt, input.lastSuccessAt, input.declaredLifetimeMs);
    const qint64 window = effectiveWindowMs(input.windowMs, lifetime);
    const qint64 amplitude = std::min(largestOffsetMs, window / 12);
    const auto offset =
        static_cast<qint64>((2 * spreadOf(input.account) - 1) * static_cast<double>(amplitude));
    const qint64 target = input.expiresAt - window + offset;
    return input.lastSuccessAt > 0 ? std::max(target, input.lastSuccessAt + soonestAfterSuccessMs) : target;
}

qint64 firstTarget(const QString &account, qint64 expiresAt, qint64 nowMs)
{
    if (expiresAt <= 0)
        return nowMs;
    const qint64 spare = std::max<qint64>(0, expiresAt - nowMs - dayMs);
    return nowMs + static_cast<qint64>(spreadOf(account) * static_cast<double>(std::min(dayMs, spare)));
}

qint64 pulledTarget(const QString &account, qint64 nowMs, qint64 spreadMs)
{
    return nowMs + static_cast<qint64>(spreadOf(account) * static_cast<double>(spreadMs));
}

bool isInShare(const QString &account, double share)
{
    return spreadOf(u"share/"_s + account) < share;
}

qint64 dueAt(qint64 expiresAt, qint64 nextTargetAt, qint64 nextAttemptAt)
{
    const qint64 target = expiresAt > 0 ? nextTargetAt : 0;
    return std::max<qint64>({target, nextAttemptAt, 0});
}

} // namespace tidekeeper::core
