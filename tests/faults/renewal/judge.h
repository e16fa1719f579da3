// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fleet.h"
#include "rounds.h"

namespace tidekeeper::faults {

/// By the simulator's own books and the engine's rows: no watch ever lapsed, no account lost its grant or was set aside,
/// every watch lives, and nobody was watched more than mostWatches times within half a day, where one renewal is due.
Verdict judge(Fleet &fleet, int mostWatches);

} // namespace tidekeeper::faults
