// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "core/outcome.h"

namespace tidekeeper::renewal {

/// The steps of an attempt, in their order: whom it asked last.
enum class Step : quint8 { Token, Quota, Watch };

struct Attempted {
    core::Outcome outcome;
    Step step = Step::Token; ///< where the outcome was met
    bool freshToken = false; ///< the token endpoint gave one for this attempt
};

/// Where and with whom a fault of configuration was met.
struct Fault {
    core::FaultScope scope = core::FaultScope::Client;
    Step step = Step::Token;
    core::GrantKind grant = core::GrantKind::Stored; ///< None: another engine met it, with one not known here
};

/// What an attempt that did not meet the fault again tells about it.
enum class Evidence : quint8 {
    Sound, ///< the faulty part works
    Unclear, ///< asked, and nothing learnt: network, overload
    Unasked ///< the faulty part was never asked: no grant, no quota, a fault of our own
};

Evidence evidenceOf(const Fault &fault, const Attempted &attempted, core::GrantKind grant);

} // namespace tidekeeper::renewal
