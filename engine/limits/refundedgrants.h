// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QSet>
#include <QtCore/QString>

#include <utility>

namespace tidekeeper::limits {

/// The grants that were given back lately, so that each is given back once. Memory only and bounded.
class RefundedGrants {
public:
    static constexpr qint64 keptMs = 60'000; ///< at least; no grant is given back later than this

    /// False when it is known already, or when there are too many to tell.
    bool add(const QString &grantId, qint64 nowMonotonicMs)
    {
        if (nowMonotonicMs - m_sinceMs > keptMs) {
            const bool isLongAgo = nowMonotonicMs - m_sinceMs > 2 * keptMs;
            m_before = isLongAgo ? QSet<QString>() : std::exchange(m_latest, {});
            m_latest.clear();
            m_sinceMs = nowMonotonicMs;
        }
        if (m_latest.size() >= most || m_before.contains(grantId) || m_latest.contains(grantId))
            return false;
        m_latest.insert(grantId);
        return true;
    }

private:
    static constexpr qsizetype most = 100'000;

    qint64 m_sinceMs = 0;
    QSet<QString> m_latest;
    QSet<QString> m_before; ///< of the minute before
};

} // namespace tidekeeper::limits
