// SPDX-License-Identifier: Apache-2.0
#include "core/retry.h"

#include <algorithm>

namespace tidekeeper::core {

qint64 backOffMs(int attempt)
{
    constexpr qint64 firstMs = 1'000;
    constexpr qint64 longestMs = 15 * 60'000;
    const int doublings = std::clamp(attempt - 1, 0, 20);
    return std::min(firstMs << doublings, longestMs);
}

qint64 jitteredMs(qint64 waitMs, double random)
{
    constexpr double spread = 0.2;
    return static_cast<qint64>(static_cast<double>(waitMs) * (1 - spread + 2 * spread * random));
}

} // namespace tidekeeper::core
