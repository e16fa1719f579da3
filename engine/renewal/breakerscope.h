// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/breaker.h"
#include "renewal/evidence.h"
#include "store/breakerstore.h"

// How a breaker names whom it stops, and what it remembers of its fault, as both stand in the database.
namespace tidekeeper::renewal {

enum class BreakerKind : quint8 {
    Configuration, ///< somebody has to mend something
    Transient, ///< the other side is in trouble: a project pauses and probes once a minute
    Wave ///< many grants seem lost at once
};

BreakerKind kindOf(const store::BreakerRow &row);
core::Breaker::Pace paceOf(const store::BreakerRow &row);
Fault faultOf(const store::BreakerRow &row);

/// The scope of a fault of configuration of this account.
QString scopeOf(core::FaultScope scope, const core::Account &account);
QString pauseScope(const QString &project);
/// A wave's breaker has a scope by its number: whether this one stops the account is in its fault.
bool stops(const store::BreakerRow &row, const core::Account &account);

/// {"kind", "scope", "project", "client", "domain", "code", "text", "remedy", "step", "grant_kind"}.
QJsonObject faultObject(BreakerKind kind, const core::Account &account, const Attempted &attempted);

/// The breaker as it is shown and told: without what only evidence needs.
QJsonObject shown(const store::BreakerRow &row);

} // namespace tidekeeper::renewal
