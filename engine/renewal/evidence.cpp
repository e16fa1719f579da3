// SPDX-License-Identifier: Apache-2.0
#include "renewal/evidence.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

/// The step that met the fault was reached and gave another answer.
Evidence otherAnswer(const Fault &fault, const core::Outcome &outcome)
{
    const bool token = fault.step == Step::Token;
    switch (outcome.kind) {
    case core::OutcomeKind::Local:
        return Evidence::Unasked;
    case core::OutcomeKind::Rate:
        return fault.step == Step::Quota ? Evidence::Unasked : Evidence::Unclear;
    case core::OutcomeKind::Account:
        if (token && outcome.code == "no_grant"_L1)
            return Evidence::Unasked;
        [[fallthrough]];
    case core::OutcomeKind::Revoked:
        // An unknown user may be refused before the delegation of the domain is looked at.
        return token && fault.scope == core::FaultScope::Domain ? Evidence::Unclear : Evidence::Sound;
    case core::OutcomeKind::OwnedElsewhere:
        return Evidence::Sound;
    default:
        return Evidence::Unclear;
    }
}

} // namespace

Evidence evidenceOf(const Fault &fault, const Attempted &attempted, core::GrantKind grant)
{
    const core::OutcomeKind kind = attempted.outcome.kind;
    // Each kind of grant asks for its token in its own way: one says nothing about another's.
    if (fault.step == Step::Token && fault.grant != core::GrantKind::None && grant != fault.grant)
        return Evidence::Unasked;
    if (fault.step == Step::Token && attempted.step > Step::Token)
        return attempted.freshToken ? Evidence::Sound : Evidence::Unasked;
    if (kind == core::OutcomeKind::Renewed || kind == core::OutcomeKind::Gone)
        return Evidence::Sound;
    if (attempted.step == fault.step)
        return otherAnswer(fault, attempted.outcome);
    if (attempted.step < fault.step) // a network that is away stops the probes too, not only this account
        return kind == core::OutcomeKind::Transient ? Evidence::Unclear : Evidence::Unasked;
    return Evidence::Sound; // the limiter granted
}

} // namespace tidekeeper::renewal
