// SPDX-License-Identifier: Apache-2.0
#include "cases.h"
#include "rig.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

/// Automattic/kue#1133: eight processes find the same thousand jobs due in the same moment.
Verdict promoters(unsigned seed, bool /*isSmall*/)
{
    Rig rig(seed);
    WorkerSettings settings;
    settings.leaseMs = 30'000; // nothing is taken over here
    settings.consumers = 10;
    rig.addWorkers(8, settings);
    Wish later;
    later.workMs = 1;
    later.delayMs = 3'000;
    later.hasKey = seed % 2 == 0;
    const qint64 dueFrom = steadyMs() + later.delayMs;
    rig.produce(later, 1'000);
    Verdict verdict = rig.judge(u"8 promoters"_s, {.startsOnce = true});
    for (const JournalLine &line : rig.journal()) {
        if (line.what == "started" && line.atMs < dueFrom - 1) // two clocks, each cut to whole milliseconds
            verdict.faults += u"job %1 was started before it was due"_s.arg(line.number);
    }
    return verdict;
}

} // namespace tidekeeper::faults
