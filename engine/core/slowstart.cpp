// SPDX-License-Identifier: Apache-2.0
#include "core/slowstart.h"

namespace tidekeeper::core {

bool SlowStart::hasRoom(qint64 nowMs)
{
    if (m_inFlight == 0 && nowMs - m_lastUseMs >= idleMs)
        m_room = 1;
    return m_inFlight < m_room;
}

qint64 SlowStart::started(qint64 nowMs)
{
    ++m_inFlight;
    m_lastUseMs = nowMs;
    return ++m_lastTicket;
}

void SlowStart::succeeded(qint64 ticket, qint64 nowMs)
{
    // Room that nobody used proves nothing about more of it.
    if (ticket > m_restartedAt && m_inFlight >= m_room && m_room < m_most)
        ++m_room;
    ended(nowMs);
}

void SlowStart::failed(qint64 ticket, qint64 nowMs)
{
    // The others of the same burst met the same fault: it counts once.
    if (ticket > m_restartedAt) {
        m_room = 1;
        m_restartedAt = m_lastTicket;
    }
    ended(nowMs);
}

void SlowStart::ended(qint64 nowMs)
{
    --m_inFlight;
    m_lastUseMs = nowMs;
}

} // namespace tidekeeper::core
