// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rounds.h"

namespace tidekeeper::faults {

/// What happens to the engines while they share two schedules.
enum class Harm : quint8 {
    Stalls, ///< the leader is held for two lease lengths, between its fires and in the middle of one
    Kills, ///< it is killed so, and comes back as a new process
    RedisStalls, ///< Redis is held while a tick is due, for longer than an engine waits for an answer
    RedisRestarts ///< Redis is killed and comes back with its data; and stalls
};

/// Three engines, one of them with a wall clock that is an hour off; each tick is to be enqueued once.
Verdict hundredTicks(Harm harm, unsigned seed, bool isSmall);

} // namespace tidekeeper::faults
