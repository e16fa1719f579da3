// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rounds.h"

namespace tidekeeper::faults {

/// Three engines of the product on one Redis, a schedule of theirs every second, and the leader is killed again and
/// again. Times from the kill to the next fire; not judged when isSmall.
Verdict takeOver(unsigned seed, bool isSmall);

} // namespace tidekeeper::faults
