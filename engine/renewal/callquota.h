// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/outcome.h"
#include "renewal/attempt.h"
#include "renewal/ports.h"
#include "renewal/providers.h"

#include <optional>

namespace tidekeeper::renewal {

/// What the limiter said to one call.
struct CallQuota {
    std::optional<core::Outcome> refusal; ///< null: the call may be made
    QString grantId; ///< empty: there is no limiter
};

/// Asks the provider's limiter and sleeps until the call may be made. After a long sleep it asks again whether the scope
/// is frozen by now, and then gives back what it had booked.
QCoro::Task<CallQuota> acquireQuota(const Ports &ports, Provider provider, Verb verb, core::Account account);

/// Tells the limiter what became of the call: a rate answer freezes the scope for all consumers, a served one opens a
/// scope that waits for its probe. An answer that says nothing about the quota, such as a time-out, is not reported.
void reportOutcome(const Ports &ports, const Provider &provider, const core::Account &account,
                   const CallQuota &quota, const core::Outcome &outcome);

} // namespace tidekeeper::renewal
