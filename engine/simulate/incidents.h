// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/applyoutcome.h"
#include "core/attemptwindow.h"
#include "core/breaker.h"
#include "renewal/evidence.h"

#include <optional>

namespace tidekeeper::simulate {

/// What concerns all accounts at once, as renewal::Incidents decides it, for one project and one client and without a
/// database: breakers, the pause of the project, waves of grants that only seem lost.
class Incidents {
public:
    struct Probe {
        bool configuration = false; ///< of the fault of configuration
        bool pause = false;
        bool wave = false;
    };
    struct Ticket {
        bool admitted = false;
        qint64 waitMs = 0; ///< when not
        Probe probe;
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
        explicit Stop(core::Breaker::Pace pace) : breaker(pace) { }
        core::Breaker breaker;
        renewal::Fault fault;
    };

    bool isMember(const QString &metCode) const { return !metCode.isEmpty() && metCode == m_waveCode; }
    qint64 waitMs(bool member, qint64 nowMs) const;
    bool endProbe(Stop &stop, bool isMet, const renewal::Attempted &attempted, qint64 nowMs);
    void open(Stop &stop, const renewal::Attempted &attempted, qint64 nowMs);
    void judgeLoss(const QString &code, const renewal::Attempted &attempted, qint64 nowMs, Verdict &verdict);

    Stop m_configuration{core::Breaker::Pace::Doubling};
    Stop m_pause{core::Breaker::Pace::Steady};
    Stop m_wave{core::Breaker::Pace::Doubling};
    QString m_waveCode; ///< of the open wave; empty = there is none
    core::AttemptWindow m_window;
    qint64 m_waitersUntilMs = 0;
};

} // namespace tidekeeper::simulate
