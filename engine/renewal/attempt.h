// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/outcome.h"
#include "renewal/evidence.h"
#include "renewal/ports.h"
#include "renewal/providers.h"

namespace tidekeeper::renewal {

enum class Verb : quint8 { Renew, Remove };

/// What somebody asked of one renewal, beyond that it be done; see SubscriptionProvider::renew().
struct Wishes {
    bool force = false; ///< before its time
    bool takeOver = false;
    bool repair = false;
};

/// One attempt at the provider: access token, quota, call; once more with a fresh token when the first one is not
/// accepted. Everything that can go wrong on the way is an outcome.
QCoro::Task<Attempted> attempt(const Ports &ports, Provider provider, Verb verb, core::Account account,
                               core::Subscription subscription, Wishes wishes = {});

} // namespace tidekeeper::renewal
