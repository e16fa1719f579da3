// SPDX-License-Identifier: Apache-2.0
#include "cases.h"
#include "core/faultpoint.h"
#include "rig.h"
#include "waiting.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

/// Kills may make a job start more often than a worker's default permits; how that is counted, poison() judges.
constexpr int manyStarts = 50;
constexpr int latestPassage = 6;

enum class Load : quint8 { Mixture, Failing, Deferred, Released, Hopeless };

struct Step {
    const char *point;
    Load load = Load::Mixture; ///< for the points that several kinds of end pass
    bool isInSmall = true; ///< the kinds of end share their code, so a small run takes each kind once
};

constexpr Step steps[] = {
    {"queue.taken"}, // in hand
    {"queue.start.sent"},
    {"queue.started"}, // counted, the handler not begun
    {"queue.worked"}, // the handler is through, nobody knows
    {"queue.end.sent"},
    {"queue.turn.answered"}, // taken, started, acknowledged, and the worker does not know it
    {"queue.ended"}, // everybody knows
    {"queue.end.sent", Load::Failing},
    {"queue.ended", Load::Failing, false},
    {"queue.end.sent", Load::Deferred, false},
    {"queue.ended", Load::Deferred},
    {"queue.end.sent", Load::Released},
    {"queue.ended", Load::Released, false},
    {"queue.end.sent", Load::Hopeless, false},
    {"queue.ended", Load::Hopeless},
};

QList<Wish> wishesOf(Rig &rig, Load load, int count)
{
    QList<Wish> wishes = rig.mixture(count);
    if (load == Load::Mixture)
        return wishes;
    for (Wish &wish : wishes) {
        wish = Wish();
        wish.fails = load == Load::Failing;
        wish.defers = load == Load::Deferred;
        wish.releases = load == Load::Released;
        wish.isHopeless = load == Load::Hopeless;
    }
    return wishes;
}

/// Two workers each die there in their first life.
QStringList killAt(const Step &step, unsigned seed, int jobs)
{
    Rig rig(seed);
    WorkerSettings settings;
    settings.maxStarts = manyStarts;
    settings.leaseMs = 400;
    for (int i = 0; i < 2; ++i)
        rig.addWorkers(1, settings,
                       {u"%1:%2:kill"_s.arg(QLatin1String(step.point)).arg(rig.between(1, latestPassage))});
    rig.produce(wishesOf(rig, step.load, jobs));
    QStringList faults = rig.judge({}).faults;
    if (rig.workers().deaths() == 0)
        faults += u"nobody died there"_s;
    for (QString &fault : faults)
        fault = u"%1: %2"_s.arg(QLatin1String(step.point), fault);
    return faults;
}

} // namespace

Verdict killAtEachStep(unsigned seed, bool isSmall)
{
    if (!core::hasFaultPoints)
        return {u"skipped, this build has no fault points (TIDEKEEPER_FAULT_POINTS)"_s, {}};
    Verdict verdict;
    int ran = 0;
    for (const Step &step : steps) {
        if (isSmall && !step.isInSmall)
            continue;
        verdict.faults += killAt(step, seed, isSmall ? 24 : 120);
        ++ran;
    }
    verdict.figures = u"%1 steps"_s.arg(ran);
    return verdict;
}

Verdict killAtRandom(unsigned seed, bool isSmall)
{
    Rig rig(seed);
    const int kills = isSmall ? 6 : 60;
    WorkerSettings settings;
    settings.maxStarts = manyStarts;
    rig.addWorkers(4, settings);
    for (int i = 0; i < kills; ++i) {
        rig.produce(rig.mixture(isSmall ? 16 : 40));
        pass(rig.between(0, 300));
        rig.workers().kill(rig.between(0, rig.workers().count() - 1));
    }
    return rig.judge(u"%1 kills"_s.arg(kills));
}

/// One job that kills its worker (pipeshub-ai/pipeshub-ai#3037): a dead letter after three starts, while what lay
/// beside it in the worker's hands is started once, later.
Verdict poison(unsigned seed, bool isSmall)
{
    Rig rig(seed);
    WorkerSettings settings;
    settings.consumers = 1;
    settings.prefetch = 4;
    settings.leaseMs = 500;
    Wish deadly;
    deadly.diesAt = 1'000;
    deadly.hasKey = seed % 2 == 0;
    rig.produce(deadly, 1); // the first of four in hand
    rig.produce(Wish(), isSmall ? 12 : 100);
    rig.addWorkers(1, settings);
    Verdict verdict = rig.judge(u"%1 deaths"_s.arg(settings.maxStarts), {.maxStarts = settings.maxStarts});
    if (rig.workers().deaths() != settings.maxStarts)
        verdict.faults += u"%1 deaths"_s.arg(rig.workers().deaths());
    for (const JournalLine &line : rig.journal()) {
        if (line.what == "started" && line.number > 1 && line.word != "1")
            verdict.faults += u"neighbour %1 was started as number %2"_s.arg(line.number)
                                  .arg(QString::fromLatin1(line.word));
    }
    return verdict;
}

} // namespace tidekeeper::faults
