// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulate/google.h"

#include <functional>
#include <memory>

namespace tidekeeper::simulate {

/// A way to keep watches alive. It knows what it was answered, never the truth.
class Policy {
public:
    virtual ~Policy() = default;

    /// When it wants to look for work the next time.
    virtual qint64 nextScanAt(qint64 nowMs) const = 0;
    virtual void scan(qint64 nowMs) = 0;
    /// The next account to renew, from what the scans found.
    virtual std::optional<int> next(qint64 nowMs) = 0;
    /// An access token of an earlier attempt is still good.
    virtual bool keepsToken(int account, qint64 nowMs) const = 0;
    virtual void ended(int account, const Answers &answers, qint64 nowMs) = 0;
    /// It still has a grant to renew this account with, and does not believe that it is dead.
    virtual bool holdsGrant(int account) const = 0;
};

enum class PolicyKind : quint8 { ExpiryDay, FiftyPerHour, Ours };
constexpr std::array<PolicyKind, 3> allPolicies{PolicyKind::ExpiryDay, PolicyKind::FiftyPerHour,
                                                PolicyKind::Ours};

QString toString(PolicyKind kind); ///< "expiry-day", "fifty-per-hour", "ours"
std::optional<PolicyKind> policyFrom(const QString &text);
std::unique_ptr<Policy> makePolicy(PolicyKind kind, const Scenario &scenario);

} // namespace tidekeeper::simulate
