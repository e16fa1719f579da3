// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/outcome.h"
#include "renewal/evidence.h"
#include "renewal/ports.h"
#include "renewal/providers.h"

namespace tidekeeper::renewal {

enum class Verb : quint8 { Renew, Remove };

/// One attempt at the provider: access token, quota, call; once more with a fresh token when the first one is not
/// accepted. Everything that can go wrong on the way is an outcome.
QCoro::Task<Attempted> attempt(const Ports &ports, Provider provider, Verb verb, core::Account account,
                               core::Subscription subscription);

} // namespace tidekeeper::renewal
