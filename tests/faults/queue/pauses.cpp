// SPDX-License-Identifier: Apache-2.0
#include "cases.h"
#include "core/faultpoint.h"
#include "rig.h"
#include "waiting.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int manyStarts = 50;

qsizetype countLines(const QList<JournalLine> &journal, const QByteArray &what, const QByteArray &word)
{
    return std::count_if(journal.begin(), journal.end(),
                         [&](const JournalLine &line) { return line.what == what && line.word == word; });
}

bool hasStarted(const Rig &rig, int number)
{
    const QList<JournalLine> journal = rig.journal();
    return std::any_of(journal.begin(), journal.end(), [number](const JournalLine &line) {
        return line.what == "started" && line.number == number;
    });
}

/// A worker stopped between the work and its end continues while another runs the job: its end must not count.
QStringList lateEnd(unsigned seed)
{
    Rig rig(seed);
    const WorkerSettings settings;
    Wish slow;
    slow.hangsMs = 50; // at its first start
    slow.workMs = 1'500;
    rig.produce(slow, 1);
    rig.addWorkers(1, settings, {u"queue.worked:1:stop"_s});
    const bool isHeld = eventually(20'000, [&] { return hasStarted(rig, 1); });
    const qint64 pid = rig.workers().pid(0);
    rig.addWorkers(1, settings);
    const bool isTakenOver =
        isHeld && eventually(20'000, [&] { return countLines(rig.journal(), "started", "2") == 1; });
    rig.workers().resume(0);
    QStringList faults = rig.judge({}).faults;
    if (!isTakenOver)
        faults += u"the job of a stopped worker is not taken over"_s;
    for (const JournalLine &line : rig.journal()) {
        if (line.what == "ended" && line.pid == pid && line.word != "taken_over")
            faults += u"a late end was accepted as "_s + QString::fromLatin1(line.word);
    }
    return faults;
}

/// SIGTERM while a job of workMs runs and others lie prefetched; another worker does the rest.
QStringList drainDuring(unsigned seed, int workMs, int graceMs, bool isFinished)
{
    Rig rig(seed);
    WorkerSettings settings;
    settings.consumers = 1;
    settings.prefetch = 4;
    settings.leaseMs = 3'000;
    settings.graceMs = graceMs;
    Wish job;
    job.workMs = workMs;
    rig.produce(job, 1);
    rig.produce(Wish(), 6);
    rig.addWorkers(1, settings);
    if (!eventually(20'000, [&] { return hasStarted(rig, 1); }))
        rig.blame(u"the job does not start"_s);
    const qint64 pid = rig.workers().pid(0);
    if (rig.workers().terminate(0, graceMs + 10'000) != 0)
        rig.blame(u"no exit with code 0 in its bound"_s);
    settings.graceMs = 5'000;
    rig.addWorkers(1, settings);
    QStringList faults = rig.judge({}, {.startsOnce = isFinished}).faults;
    for (const JournalLine &line : rig.journal()) {
        if (line.what == "started" && line.word != "1")
            faults += u"a start was counted that the drain took back (job %1)"_s.arg(line.number);
        if (line.what == "ended" && line.pid == pid && line.number == 1
            && (line.word == "done") != isFinished)
            faults += u"the running job ended as "_s + QString::fromLatin1(line.word);
    }
    return faults;
}

} // namespace

/// Workers that are only slow (OptimalBits/bull#308): stopped past their lease and continued, they find that their
/// jobs are another's now, say so quietly and go on.
Verdict stopAndContinue(unsigned seed, bool isSmall)
{
    Rig rig(seed);
    WorkerSettings settings;
    settings.maxStarts = manyStarts;
    rig.addWorkers(3, settings);
    const int wanted = isSmall ? 2 : 20;
    qsizetype late = 0;
    for (int round = 0; late < wanted && round < 20 * wanted; ++round) {
        Wish slow;
        slow.workMs = rig.between(20, 1'500);
        rig.produce(slow, 6);
        rig.produce(rig.mixture(8));
        const int victim = rig.between(0, rig.workers().count() - 1);
        pass(rig.between(50, 400));
        rig.workers().pause(victim);
        pass(2 * settings.leaseMs + rig.between(0, 500));
        rig.workers().resume(victim);
        pass(200);
        late = countLines(rig.journal(), "ended", "taken_over");
    }
    Verdict verdict = rig.judge(u"%1 late ends refused"_s.arg(late));
    if (core::hasFaultPoints)
        verdict.faults += lateEnd(seed);
    if (late < wanted)
        verdict.faults += u"too few late ends to judge"_s;
    if (rig.workers().deaths() > 0)
        verdict.faults += u"%1 workers did not survive it"_s.arg(rig.workers().deaths());
    return verdict;
}

/// A handler that does not come back is let go, and its job is run by another.
Verdict hang(unsigned seed, bool isSmall)
{
    Rig rig(seed);
    WorkerSettings settings;
    settings.longestRunMs = 500;
    Wish hanging;
    hanging.hangsMs = 600'000;
    rig.produce(hanging, isSmall ? 2 : 5);
    rig.produce(rig.mixture(isSmall ? 16 : 100));
    rig.addWorkers(2, settings);
    Verdict verdict =
        rig.judge(u"%1 that hang at first"_s.arg(isSmall ? 2 : 5), {.maxStarts = settings.maxStarts});
    if (rig.workers().deaths() > 0)
        verdict.faults += u"%1 workers died of it"_s.arg(rig.workers().deaths());
    return verdict;
}

Verdict drain(unsigned seed, bool /*isSmall*/)
{
    Verdict verdict{u"a short and a long job"_s, drainDuring(seed, 300, 10'000, true)};
    verdict.faults += drainDuring(seed, 2'000, 200, false);
    return verdict;
}

} // namespace tidekeeper::faults
