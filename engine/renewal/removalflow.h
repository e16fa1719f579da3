// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "renewal/ports.h"
#include "renewal/providers.h"

namespace tidekeeper::renewal {

/// The work of one "remove" job: stops what a leaving account still has at its providers, then forgets the account
/// with its grant. Main thread.
class RemovalFlow {
public:
    RemovalFlow(Ports &ports, Providers &providers) : m_ports(ports), m_providers(providers) { }

    /// Payload: {"account"}. A provider that cannot be reached is tried again by the queue's back-off; after a few
    /// failures the account is forgotten all the same, since what it has there lapses by itself.
    QCoro::Task<queue::JobOutcome> run(queue::Job job);

private:
    QCoro::Task<std::optional<core::Outcome>> stopAll(store::AccountRow row);

    Ports &m_ports;
    Providers &m_providers;
};

} // namespace tidekeeper::renewal
