// SPDX-License-Identifier: Apache-2.0
#include "cases.h"
#include "queue/worker.h"
#include "rig.h"
#include "waiting.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

/// ms from the kill of a worker to the start of its job by another; −1: not within a minute.
qint64 recoverOnce(unsigned seed, const WorkerSettings &settings, QStringList &faults)
{
    Rig rig(seed);
    rig.workers().setRestarts(false);
    Wish job;
    job.hangsMs = 600'000; // at its first start
    rig.produce(job, 1);
    const auto starts = [&rig] {
        QList<JournalLine> lines = rig.journal();
        lines.removeIf([](const JournalLine &line) { return line.what != "started"; });
        return lines;
    };
    rig.addWorkers(1, settings);
    if (!eventually(20'000, [&] { return starts().size() == 1; }))
        faults += u"the job does not start"_s;
    rig.addWorkers(1, settings);
    pass(rig.between(1'000, 1'000 + settings.heartbeatMs)); // anywhere between two heartbeats
    const qint64 killedAt = steadyMs();
    rig.workers().kill(0);
    const bool isBack = eventually(60'000, [&] { return starts().size() == 2; });
    const qint64 ms = isBack ? starts().last().atMs - killedAt : -1;
    faults += rig.judge({}).faults;
    return ms;
}

Verdict recoveries(unsigned seed, const WorkerSettings &settings, int times, qint64 judgedMs)
{
    Verdict verdict;
    QList<qint64> all;
    for (int i = 0; i < times; ++i)
        all.append(recoverOnce(seed + unsigned(i), settings, verdict.faults));
    std::sort(all.begin(), all.end());
    verdict.figures =
        u"lease %1 ms, started by another after %2 to %3 ms, median %4 ms"_s.arg(settings.leaseMs)
            .arg(all.first())
            .arg(all.last())
            .arg(all[all.size() / 2]);
    if (all.first() < 0)
        verdict.faults += u"not taken over within a minute"_s;
    if (judgedMs > 0 && all.last() > judgedMs)
        verdict.faults += u"later than %1 ms"_s.arg(judgedMs);
    return verdict;
}

} // namespace

/// With the settings that a worker has by itself.
Verdict recovery(unsigned seed, bool isSmall)
{
    if (isSmall)
        return {u"skipped, a matter of time only"_s, {}};
    const queue::WorkerOptions own;
    WorkerSettings settings;
    settings.leaseMs = own.leaseMs;
    settings.heartbeatMs = own.heartbeatMs;
    settings.consumers = own.consumers;
    settings.prefetch = own.prefetch;
    return recoveries(seed, settings, 5, 15'000);
}

Verdict shortRecovery(unsigned seed, bool isSmall)
{
    WorkerSettings settings;
    settings.leaseMs = 3'000;
    settings.heartbeatMs = 1'000;
    return recoveries(seed, settings, isSmall ? 1 : 10, isSmall ? 0 : 5'000);
}

} // namespace tidekeeper::faults
