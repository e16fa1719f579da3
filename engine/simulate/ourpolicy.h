// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pacing.h"
#include "core/subscription.h"
#include "simulate/incidents.h"
#include "simulate/policy.h"

#include <deque>
#include <set>

namespace tidekeeper::simulate {

/// The engine's own way: planner, outcome tables, back-off, breakers and waves are the engine's; what is here is the
/// order in which renewal::RenewalEngine and renewal::RenewalFlow ask them, over rows in memory.
class OurPolicy final : public Policy {
public:
    explicit OurPolicy(const Scenario &scenario);

    qint64 nextScanAt(qint64 nowMs) const override;
    void scan(qint64 nowMs) override;
    std::optional<int> next(qint64 nowMs) override;
    bool keepsToken(int account, qint64 nowMs) const override;
    void ended(int account, const Answers &answers, qint64 nowMs) override;
    bool holdsGrant(int account) const override;

    const core::Subscription &row(int account) const
    {
        return m_rows.at(static_cast<size_t>(account)).subscription;
    }
    core::AccountState state(int account) const { return m_rows.at(static_cast<size_t>(account)).state; }
    const Incidents &incidents() const { return m_incidents; }
    /// What back-off is jittered with, drawn once for each attempt.
    static Random jitterOf(const Scenario &scenario) { return Random(scenario.seed ^ 0x7e7e); }

private:
    struct Row {
        core::Subscription subscription;
        core::AccountState state = core::AccountState::Active;
        qint64 tokenUntil = 0; ///< of the cached access token
        qint64 stoppedAt = 0;
        Incidents::Ticket ticket; ///< of the attempt under way
        bool isLive = false; ///< a job for it waits or runs
    };
    using Entry = std::pair<qint64, int>; ///< an instant and the account

    Row &rowOf(int account) { return m_rows.at(static_cast<size_t>(account)); }
    /// What the provider says of itself: users.watch grants seven days.
    static qint64 declaredLifetimeMs() { return 7 * core::dayMs; }
    void save(int account, const core::Subscription &subscription);
    void takeDue(qint64 nowMs);
    bool enqueue(int account, std::deque<int> &jobs);
    bool isUrgent(const core::Subscription &row, qint64 nowMs) const;
    qint64 cycleMs() const;
    void jobDone(int account, qint64 nowMs);
    void wakeForProbe(qint64 nowMs);
    int begin(const QList<int> &calm, qint64 nowMs);
    void restoreStopped(const QString &code, qint64 sinceMs, qint64 nowMs);
    void releaseMembers(const QString &code);

    const Scenario &m_scenario;
    Random m_random;
    std::vector<Row> m_rows;
    std::set<Entry> m_waiting; ///< active rows by the instant at which they are due
    std::set<Entry> m_due; ///< active rows that are due, by expiry
    std::deque<int> m_urgent; ///< jobs
    std::deque<int> m_normal;
    core::PaceLevel m_paceLevel;
    Incidents m_incidents;
    qint64 m_nextTickAt = 0; ///< of the schedule's scans
    qint64 m_soonAt = 0; ///< a scan that was asked for; 0 = none
    qint64 m_wakeAt = 0; ///< a scan for the next probe; 0 = none
    int m_active = 0; ///< accounts
    bool m_batchWasFull = false;
    int m_liveOfLastScan = 0; ///< jobs that it asked for and that have not ended
};

} // namespace tidekeeper::simulate
