// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulate/policy.h"

#include <deque>

// Two ways that are common in published code, to compare with.
namespace tidekeeper::simulate {

/// A job of a timer's that renews whatever expires soon, earliest first, one list at each run.
class TimerPolicy : public Policy {
public:
    struct Settings {
        qint64 everyMs = core::dayMs; ///< at whole multiples of it, UTC
        qint64 windowMs = core::dayMs; ///< renews what expires within
        int atMost = 0; ///< in one run; 0 = all
        bool wipesGrants = false; ///< forgets the grant at any error of its refresh
    };

    TimerPolicy(const Scenario &scenario, Settings settings);

    qint64 nextScanAt(qint64 nowMs) const override;
    void scan(qint64 nowMs) override;
    std::optional<int> next(qint64 nowMs) override;
    bool keepsToken(int, qint64) const override { return false; }
    void ended(int account, const Answers &answers, qint64 nowMs) override;
    bool holdsGrant(int account) const override { return m_rows.at(account).hasGrant; }

private:
    struct Row {
        qint64 expiresAt = 0;
        bool hasGrant = true;
    };

    Settings m_settings;
    qint64 m_lastScanAt = 0;
    QList<Row> m_rows;
    std::deque<int> m_list;
};

} // namespace tidekeeper::simulate
