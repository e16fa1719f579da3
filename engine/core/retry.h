// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/qglobal.h>

namespace tidekeeper::core {

/// How long a job of the queue waits after its n-th failure: 1 s doubling to 15 min. attempt counts from 1.
qint64 backOffMs(int attempt);

/// The wait with jitter of ±20 %, so that what failed together does not come back together. random is uniform in
/// [0, 1).
qint64 jitteredMs(qint64 waitMs, double random);

} // namespace tidekeeper::core
