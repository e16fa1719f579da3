// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::faults {

/// How much there is to do, and how fast the days pass.
struct Scale {
    int accounts = 10'000;
    qint64 realDayMs = 60'000; ///< of one virtual day
    int consumers = 48; ///< of each engine
    int batch = 2'000; ///< accounts that one scan queues

    qint64 outageMs = 86'400'000; ///< of Google, virtual

    static Scale small() { return {150, 10'000, 8, 500, 6 * 3'600'000}; }
};

} // namespace tidekeeper::faults
