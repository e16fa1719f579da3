// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::core {

/// How long a subscription waits after its n-th failure in a row (n ≥ 1): 1, 2, 5, 10, 20, 40 min, 1, 2, then 4 h
/// for ever, times 0.8 … 1.2 by jitter (0 … 1), and never more than 15 min while it is critical (little time is left).
qint64 renewalBackoffMs(int failures, bool critical, double jitter);

} // namespace tidekeeper::core
