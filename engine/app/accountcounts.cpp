// SPDX-License-Identifier: Apache-2.0
#include "app/accountcounts.h"

#include <algorithm>

namespace tidekeeper::app {

QCoro::Task<Result<QJsonObject>> AccountCounts::read(qint64 nowMs, qint64 windowMs)
{
    if (m_kept && m_age.elapsed() < m_keptForMs) {
        const QJsonObject kept = *m_kept; // a member itself would be moved out of, and be empty for the next
        co_return kept;
    }
    QElapsedTimer took;
    took.start();
    Result<QJsonObject> counted = co_await m_accounts.summary(nowMs, windowMs);
    if (!counted) {
        m_kept.reset();
        co_return fail(counted.error());
    }
    m_kept = *counted;
    m_keptForMs = std::min(took.elapsed() * shareOfTime, oldestMs);
    m_age.start();
    co_return *counted;
}

} // namespace tidekeeper::app
