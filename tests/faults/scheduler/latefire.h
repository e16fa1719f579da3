// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rounds.h"

namespace tidekeeper::faults {

/// A leader is held until another has taken over, and then goes on with what it was about to do.
Verdict lateFire(unsigned seed, bool isSmall);

} // namespace tidekeeper::faults
