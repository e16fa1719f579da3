// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/services.h>

namespace tidekeeper::app {

/// The machine's own clocks. [any]
class SystemClock final : public Clock {
public:
    qint64 nowMs() const override;
    qint64 monotonicMs() const override;
};

} // namespace tidekeeper::app
