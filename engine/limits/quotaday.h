// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/zones.h"

namespace tidekeeper::limits {

/// The calendar day that a day budget counts by, and the one after it: so Redis can turn over to the next day by
/// itself. Epoch ms; days of a zone with daylight saving have 23 to 25 hours.
struct QuotaDay {
    qint64 startMs = 0;
    qint64 endMs = 0;
    qint64 afterMs = 0; ///< end of the next day

    /// The day that contains nowMs.
    static QuotaDay at(qint64 nowMs, const core::Zone &zone);
};

} // namespace tidekeeper::limits
