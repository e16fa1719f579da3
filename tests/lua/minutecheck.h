// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>

#include <vector>

namespace tidekeeper::test {

/// Whether any minute held more of what one scope let through than its limits allow. Times are those of a clock that
/// never steps, in µs; amounts are units.
class MinuteCheck {
public:
    /// From now on these limits; debt is what was booked beyond the level at this moment.
    void limitsChanged(qint64 atUs, qint64 capacity, qint64 refillPerMinute, double debt);
    /// The server's clock was set forward, which fills the bucket and forgives the debt.
    void steppedForward(qint64 atUs, double debt);

    /// One grant, in the order of grantUs; what the call reaches the API with at sendUs. → its number.
    size_t granted(qint64 grantUs, qint64 sendUs, qint64 cost);
    /// It was never sent.
    void refunded(size_t number) { m_grants[number].cost = 0; }

    /// Empty, or the minute that held too much. `bookedCounts`: the scope is charged at the grant and not at the send,
    /// so that what was booked and not sent when the minute began comes on top.
    QByteArray violation(bool bookedCounts) const;

private:
    struct Grant {
        qint64 grantUs;
        qint64 sendUs;
        qint64 cost;
    };
    struct Change {
        qint64 atUs;
        qint64 capacity;
        qint64 refillPerMinute;
        double extra; ///< what this change may add to a minute
    };
    double allowed(qint64 startUs) const;

    std::vector<Grant> m_grants;
    std::vector<Change> m_changes;
};

} // namespace tidekeeper::test
