// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/applyoutcome.h"
#include "core/attemptwindow.h"
#include "core/breaker.h"
#include "renewal/evidence.h"

#include <array>
#include <optional>

namespace tidekeeper::simulate {

/// What concerns all accounts at once, as renewal::Incidents decides it, for one project and one client and without a
/// database: breakers, the pause of the project, a wave of grants that only seem lost (one at a time, since Google has
/// one word here for all losses).
class Incidents {
public:
    enum Kind : quint8 {
        ClientFault, ///< of configuration
        ProjectFault,
        Pause,
        Wave
    };
    static constexpr std::array<Kind, 4> kinds{ClientFault, ProjectFault, Pause, Wave};

    struct Ticket {
        bool admitted = false;
        qint64 waitMs = 0; ///< when not
        std::array<bool, kinds.size()> probes{}; ///< what the attempt is to find out
    };
    /// metCode: the failure for which a wave holds the account, or empty: it waits for itself, not for the breaker.
    Ticket admit(const QString &metCode, qint64 nowMs);

    struct Verdict {
        core::Hold hold = core::Hold::None; ///< what keeps the outcome from being held against the account
        qint64 waitMs = 0; ///< when something stops all now: until it is worth to ask again
        std::optional<qint64> waveSinceMs; ///< a wave opened: those it stopped since then are restored
        bool waveEnded = false; ///< its members become due
    };
    Verdict judge(int account, const QString &metCode, const Ticket &ticket,
                  const renewal::Attempted &attempted, qint64 nowMs);

    /// When somebody who waits may go on; nothing while nobody waits.
    std::optional<qint64> nextWakeAt(qint64 nowMs) const;

private:
    struct Stop {
        core::Breaker breaker;
        renewal::Fault fault;
    };

    bool isMember(const QString &metCode) const { return !metCode.isEmpty() && metCode == m_waveCode; }
    bool stops(Kind kind, const QString &metCode) const { return kind != Wave || !isMember(metCode); }
    qint64 waitMs(const QString &metCode, qint64 nowMs) const;
    bool isMet(Kind kind, const core::Outcome &outcome) const;
    void endProbe(Kind kind, const renewal::Attempted &attempted, qint64 nowMs);
    void open(Kind kind, const renewal::Attempted &attempted, qint64 nowMs);
    void judgeLoss(const renewal::Attempted &attempted, qint64 nowMs, Verdict &verdict);
    void judgeTrouble(const renewal::Attempted &attempted, qint64 nowMs, Verdict &verdict);
    void judgeSuccess(const QString &metCode, bool freshToken, Verdict &verdict);

    std::array<Stop, kinds.size()> m_stops{Stop{core::Breaker(core::Breaker::Pace::Doubling), {}},
                                           Stop{core::Breaker(core::Breaker::Pace::Doubling), {}},
                                           Stop{core::Breaker(core::Breaker::Pace::Steady), {}},
                                           Stop{core::Breaker(core::Breaker::Pace::Doubling), {}}};
    QString m_waveCode; ///< of the open wave; empty = there is none
    core::AttemptWindow m_window;
    qint64 m_waitersUntilMs = 0;
};

} // namespace tidekeeper::simulate
