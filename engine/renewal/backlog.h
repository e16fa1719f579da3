// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/capacity.h"
#include "core/pacing.h"
#include "renewal/ports.h"
#include "renewal/providers.h"

#include <deque>
#include <optional>

namespace tidekeeper::renewal {

/// How fast renewals are worked: which of the due ones begin now, how long one takes, and for how many this is enough.
/// Main thread.
class Backlog {
public:
    Backlog(Ports &ports, const Providers &providers) : m_ports(ports), m_providers(providers) { }

    /// Late, critical, expired or without a watch: ahead of all others, and never held back.
    bool isUrgent(const store::DueRow &row) const;

    /// Those that begin now, in the order given: the urgent ones, and of the others as many as the pace of all engines
    /// allows. What of the others was not begun after all goes back with giveBack().
    struct Admitted {
        QList<store::DueRow> rows;
        int paced = 0; ///< of rows, those that are not urgent
        int held = 0; ///< left for a later scan
    };
    QCoro::Task<Admitted> admit(QList<store::DueRow> due);
    QCoro::Task<> giveBack(int unused);

    void measured(qint64 tookMs);
    /// How long so many renewals take this engine, ms.
    qint64 estimateMs(qint64 renewals) const;
    /// For so many renewals out of turn, by project.
    core::BulkPlan planOf(const QMap<QString, qint64> &renewals) const;
    /// As core::capacityObject(); empty without a provider, or before the subscriptions were counted.
    QJsonObject capacity() const;

private:
    QCoro::Task<> count();
    core::Pace pace() const;
    const Provider *strictest() const;
    qint64 medianMs() const;

    Ports &m_ports;
    const Providers &m_providers;
    std::optional<qint64> m_subscriptions;
    qint64 m_countedAtMs = 0; ///< monotonic
    std::deque<qint64> m_tookMs;
};

} // namespace tidekeeper::renewal
