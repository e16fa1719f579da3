// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulate/figures.h"
#include "simulate/policy.h"

namespace tidekeeper::simulate {

/// Told from time to time how much of the virtual time has passed: 0 … 1.
using Progress = std::function<void(double share)>;

/// Lets a policy work through the scenario in virtual time, event by event. The same arguments give the same figures.
Figures simulate(const Scenario &scenario, PolicyKind kind, const Progress &progress = {});

} // namespace tidekeeper::simulate
