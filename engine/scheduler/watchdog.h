// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QHash>
#include <QtCore/QString>

#include <optional>

namespace tidekeeper::scheduler {

/// Notices the tick that does not come. A schedule is overdue once the same tick has been due for more than 30 s, by
/// the wall clock and as watched here by the monotonic one: neither a step of the clock nor waking from suspend makes
/// one overdue before its leader had 30 s to fire it.
class Watchdog {
public:
    static constexpr qint64 graceMs = 30'000;

    enum class News : quint8 { None, Overdue, Recovered };

    /// dueMs: when the schedule's next tick was or is to be fired, jitter included; nothing while it is not to fire.
    News see(const QString &id, std::optional<qint64> dueMs, qint64 nowMs, qint64 monotonicMs);

    qint64 overdueSinceMs(const QString &id) const; ///< when its tick was due; 0 = not overdue

private:
    struct Pending {
        qint64 dueMs = 0;
        qint64 seenAtMs = 0; ///< monotonic
        bool overdue = false;
    };
    QHash<QString, Pending> m_pending;
};

} // namespace tidekeeper::scheduler
