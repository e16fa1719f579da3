// SPDX-License-Identifier: Apache-2.0
#include "scheduler/watchdog.h"

namespace tidekeeper::scheduler {

Watchdog::News Watchdog::see(const QString &id, std::optional<qint64> dueMs, qint64 nowMs, qint64 monotonicMs)
{
    const auto known = m_pending.find(id);
    const bool wasOverdue = known != m_pending.end() && known->overdue;
    if (!dueMs || *dueMs > nowMs) {
        m_pending.remove(id);
        return wasOverdue ? News::Recovered : News::None;
    }
    if (known == m_pending.end() || known->dueMs != *dueMs) {
        // The tick before it came after all, and this one is due already.
        m_pending.insert(id, {*dueMs, monotonicMs, false});
        return wasOverdue ? News::Recovered : News::None;
    }
    if (wasOverdue || nowMs - *dueMs <= graceMs || monotonicMs - known->seenAtMs <= graceMs)
        return News::None;
    known->overdue = true;
    return News::Overdue;
}

qint64 Watchdog::overdueSinceMs(const QString &id) const
{
    const auto known = m_pending.constFind(id);
    return known != m_pending.cend() && known->overdue ? known->dueMs : 0;
}

} // namespace tidekeeper::scheduler
