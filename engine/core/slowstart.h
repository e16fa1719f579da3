// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::core {

/// How many requests may be in flight to one other side: one at first, one more for each answer that used the whole
/// room (1, 2, 4 … per round trip) up to a bound, back to one when the other side fails. After a time without requests
/// it starts at one again: whatever stopped them, an outage, a breaker or a pause, has left a backlog behind.
/// Pure; instants are monotonic milliseconds.
class SlowStart {
public:
    static constexpr qint64 idleMs = 30'000;

    explicit SlowStart(int most) : m_most(most) { }

    bool hasRoom(qint64 nowMs);
    /// Takes room; the ticket goes back with the answer.
    qint64 started(qint64 nowMs);
    void succeeded(qint64 ticket, qint64 nowMs);
    void failed(qint64 ticket, qint64 nowMs); ///< a fault of the other side, not of this request

    int inFlight() const { return m_inFlight; }
    int room() const { return m_room; }

private:
    void ended(qint64 nowMs);

    int m_most = 1;
    int m_room = 1;
    int m_inFlight = 0;
    qint64 m_lastTicket = 0;
    qint64 m_restartedAt = 0; ///< answers to tickets up to this one say nothing about now
    qint64 m_lastUseMs = 0;
};

} // namespace tidekeeper::core
