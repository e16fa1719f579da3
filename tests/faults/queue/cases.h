// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rounds.h"

namespace tidekeeper::faults {

// kills.cpp
Verdict killAtEachStep(unsigned seed, bool isSmall);
Verdict killAtRandom(unsigned seed, bool isSmall);
Verdict poison(unsigned seed, bool isSmall);

// pauses.cpp
Verdict stopAndContinue(unsigned seed, bool isSmall);
Verdict hang(unsigned seed, bool isSmall);
Verdict drain(unsigned seed, bool isSmall);

// outages.cpp
Verdict redisRestart(unsigned seed, bool isSmall);
Verdict replyCut(unsigned seed, bool isSmall);

// promoters.cpp
Verdict promoters(unsigned seed, bool isSmall);

// recovery.cpp
Verdict recovery(unsigned seed, bool isSmall);
Verdict shortRecovery(unsigned seed, bool isSmall);

} // namespace tidekeeper::faults
