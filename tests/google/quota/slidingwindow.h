// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/qglobal.h>

#include <deque>

namespace tidekeeper::googlesim {

/// The exact sum of what was charged during the last lengthUs microseconds: a charge counts from its own instant
/// t until t + lengthUs, that instant excluded. Times are monotonic and must not go back.
class SlidingWindow {
public:
    explicit SlidingWindow(qint64 lengthUs) : m_lengthUs(lengthUs) { }

    qint64 sum(qint64 nowUs);
    void add(qint64 nowUs, qint64 units);
    /// The largest sum there ever was. A sum only grows at a charge, so that is looked at there and nowhere else.
    qint64 worst() const { return m_worst; }

private:
    struct Charge {
        qint64 atUs;
        qint64 units;
    };

    qint64 m_lengthUs;
    qint64 m_sum = 0;
    qint64 m_worst = 0;
    std::deque<Charge> m_charges;
};

} // namespace tidekeeper::googlesim
