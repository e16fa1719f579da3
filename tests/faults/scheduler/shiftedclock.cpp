// SPDX-License-Identifier: Apache-2.0
#include "shiftedclock.h"

namespace tidekeeper::faults {

ShiftedClock::ShiftedClock(qint64 aheadS) : m_sanitizerOptions(qgetenv("ASAN_OPTIONS"))
{
    if (aheadS == 0)
        return;
    qputenv("LD_PRELOAD", TIDEKEEPER_WALL_CLOCK);
    qputenv("TIDEKEEPER_WALL_OFFSET_S", QByteArray::number(aheadS));
    // The sanitizer's runtime wants to be the first library; what comes before it here replaces three functions.
    qputenv("ASAN_OPTIONS", m_sanitizerOptions + ":verify_asan_link_order=0");
}

ShiftedClock::~ShiftedClock()
{
    qunsetenv("LD_PRELOAD");
    qunsetenv("TIDEKEEPER_WALL_OFFSET_S");
    qputenv("ASAN_OPTIONS", m_sanitizerOptions);
}

} // namespace tidekeeper::faults
