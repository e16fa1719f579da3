// SPDX-License-Identifier: Apache-2.0
#include "simulate/policy.h"

#include "simulate/ourpolicy.h"
#include "simulate/referencepolicies.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::simulate {

namespace {

constexpr std::array<QLatin1StringView, 3> names{"expiry-day"_L1, "fifty-per-hour"_L1, "ours"_L1};

} // namespace

QString toString(PolicyKind kind)
{
    return names.at(static_cast<size_t>(kind));
}

std::optional<PolicyKind> policyFrom(const QString &text)
{
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
        return std::nullopt;
    return static_cast<PolicyKind>(std::distance(names.begin(), found));
}

std::unique_ptr<Policy> makePolicy(PolicyKind kind, const Scenario &scenario)
{
    switch (kind) {
    case PolicyKind::ExpiryDay:
        return std::make_unique<TimerPolicy>(scenario, TimerPolicy::Settings{});
    case PolicyKind::FiftyPerHour:
        return std::make_unique<TimerPolicy>(scenario,
                                             TimerPolicy::Settings{core::hourMs, core::dayMs, 50, true});
    case PolicyKind::Ours:
        return std::make_unique<OurPolicy>(scenario);
    }
    Q_UNREACHABLE();
}

} // namespace tidekeeper::simulate
