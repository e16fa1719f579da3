// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/applyoutcome.h"
#include "renewal/attempt.h"
#include "renewal/incidents.h"
#include "renewal/ports.h"
#include "renewal/providers.h"

namespace tidekeeper::renewal {

/// The work of one "renew" job, from the lease on the mailbox to the saved row. Main thread.
class RenewalFlow {
public:
    RenewalFlow(Ports &ports, Providers &providers, Incidents &incidents)
        : m_ports(ports), m_providers(providers), m_incidents(incidents)
    { }

    /// Payload: {"account", "subscription", "force"}, and for the provider "take_over" and "repair". The job ends with
    /// every outcome: when it is tried again is the row's next attempt and nothing else. Only what could not begin, or
    /// not be saved, goes back to the queue.
    QCoro::Task<queue::JobOutcome> run(queue::Job job);

private:
    QCoro::Task<queue::JobOutcome> renew(store::AccountRow row, core::Subscription subscription,
                                         Provider provider, Wishes wishes);
    void measure(const core::Subscription &before, const core::Outcome &outcome, qint64 tookMs) const;
    QCoro::Task<Result<core::Applied>> save(core::Subscription subscription, core::Outcome outcome,
                                            core::ApplyContext context);
    QCoro::Task<Result<>> changeState(core::Account account, core::Outcome outcome, core::AccountState state);

    Ports &m_ports;
    Providers &m_providers;
    Incidents &m_incidents;
};

} // namespace tidekeeper::renewal
