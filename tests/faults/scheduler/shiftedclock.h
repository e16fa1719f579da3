// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>

namespace tidekeeper::faults {

/// Programs started while one of these lives have a wall clock that is so far ahead; their monotonic clocks are right.
class ShiftedClock {
public:
    explicit ShiftedClock(qint64 aheadS);
    ~ShiftedClock();
    ShiftedClock(const ShiftedClock &) = delete;
    ShiftedClock &operator=(const ShiftedClock &) = delete;

private:
    QByteArray m_sanitizerOptions; ///< as they were
};

} // namespace tidekeeper::faults
