// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QThread>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int openInFlight = 8;
constexpr int boundShots = 50;
constexpr int boundCost = 60;
constexpr int settledMs = 5'000;

/// The verdict that the switches say for a call that Redis does not decide.
bool isByTheSwitches(const Shot &shot, const Switches &switches)
{
    return switches.failOpen ? shot.status == 200 && shot.granted && shot.degraded : shot.status == 503;
}

bool isVerdict(const Shot &shot, Scenario::Kind kind, const Switches &switches)
{
    const bool isByRedis = shot.status == 200 && shot.granted && !shot.degraded;
    switch (kind) {
    case Scenario::Kind::Away:
        return isByTheSwitches(shot, switches);
    case Scenario::Kind::OurFault:
        return isByRedis || shot.status == 503;
    case Scenario::Kind::Passing:
        return isByRedis || isByTheSwitches(shot, switches);
    }
    return false;
}

void count(const QList<Shot> &shots, Trial &trial)
{
    for (const Shot &shot : shots) {
        trial.granted += shot.granted && !shot.degraded;
        trial.degraded += shot.granted && shot.degraded;
        trial.refused += shot.status == 429;
        trial.unavailable += shot.status == 503;
    }
}

void judgeVerdicts(const QList<Shot> &shots, const Scenario &scenario, const Switches &switches, Trial &trial)
{
    const auto unanswered =
        std::count_if(shots.begin(), shots.end(), [](const Shot &shot) { return shot.status == 0; });
    if (unanswered > 0)
        trial.faults += u"%1 without an answer"_s.arg(unanswered);
    const auto wrong = std::count_if(shots.begin(), shots.end(), [&](const Shot &shot) {
        return shot.status != 0 && !isVerdict(shot, scenario.kind, switches);
    });
    if (wrong > 0)
        trial.faults += u"%1 with another verdict than the switches say"_s.arg(wrong);
}

/// With local_fallback this engine's own bucket bounds one account; without it nothing does.
void judgeBound(Rig &rig, Trial &trial)
{
    QList<Shot> shots = rig.shotsAtOneAccount(boundShots, boundCost);
    rig.shoot(shots, openInFlight);
    const auto granted =
        std::count_if(shots.begin(), shots.end(), [](const Shot &shot) { return shot.granted; });
    const Switches &how = rig.switches();
    const int expected = !how.failOpen ? 0 : how.localFallback ? Rig::capacity / boundCost : boundShots;
    if (granted != expected)
        trial.faults += u"%1 grants to one account instead of %2"_s.arg(granted).arg(expected);
}

/// What Redis charged against what was answered: what it granted, and what was granted without it and settled.
QString chargeFault(Rig &rig, const Scenario &scenario, const QList<Shot> &shots)
{
    const QList<int> charged = rig.chargedUnits(shots);
    const bool isSettled = rig.switches().failOpen && rig.switches().localFallback;
    int wrong = 0;
    QString example;
    for (qsizetype i = 0; i < shots.size(); ++i) {
        const Shot &shot = shots[i];
        const int due = shot.granted && (!shot.degraded || isSettled) ? shot.cost : 0;
        const bool isCut =
            scenario.mayCut && (shot.degraded || !shot.granted) && charged[i] == due + shot.cost;
        if (charged[i] == due || isCut)
            continue;
        ++wrong;
        example = u"%1 units instead of %2"_s.arg(charged[i]).arg(due);
    }
    return wrong == 0 ? QString() : u"%1 charged wrongly, such as %2"_s.arg(wrong).arg(example);
}

/// Until Redis decides again; −1: it does not.
qint64 waitBack(Rig &rig, int mostMs)
{
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() <= mostMs) {
        const Shot shot = rig.ask();
        if (shot.granted && !shot.degraded)
            return timer.elapsed();
        QThread::msleep(10);
    }
    return -1;
}

} // namespace

Effort Effort::small()
{
    return {.acquires = 200, .inFlight = 20, .slowestMs = 5'000, .openP99Ms = 0, .backMs = 20'000};
}

Trial run(const Scenario &scenario, const Switches &switches, const Effort &effort, unsigned seed)
{
    Trial trial{.scenario = scenario.name, .switches = switches.name()};
    const QString address = scenario.usesProxy ? QString()
        : scenario.needsNamespace              ? namespaceAddress
                                               : u"127.0.0.1"_s;
    Rig rig(switches, address, seed);
    if (!rig.start()) {
        trial.faults += u"the engine did not start: "_s + QString::fromUtf8(rig.engineLog().right(500));
        return trial;
    }

    QList<Shot> load = rig.newShots(effort.acquires);
    scenario.begin(rig);
    std::function<void(int)> meanwhile;
    if (scenario.during)
        meanwhile = [&](int answered) { scenario.during(rig, answered); };
    rig.shoot(load, effort.inFlight, meanwhile);
    count(load, trial);
    trial.p50Ms = percentileMs(load, 0.5);
    trial.p99Ms = percentileMs(load, 0.99);
    trial.slowestMs = percentileMs(load, 1);
    judgeVerdicts(load, scenario, switches, trial);
    if (trial.slowestMs > effort.slowestMs)
        trial.faults += u"one took %1 ms"_s.arg(trial.slowestMs, 0, 'f', 1);

    QList<Shot> open;
    if (scenario.kind == Scenario::Kind::Away) {
        open = rig.newShots(effort.acquires);
        rig.shoot(open, openInFlight);
        judgeVerdicts(open, scenario, switches, trial);
        trial.openP99Ms = percentileMs(open, 0.99);
        if (scenario.opensBreaker && effort.openP99Ms > 0 && trial.openP99Ms > effort.openP99Ms)
            trial.faults += u"while open p99 was %1 ms"_s.arg(trial.openP99Ms, 0, 'f', 2);
        judgeBound(rig, trial);
    }

    scenario.end(rig);
    trial.backMs = waitBack(rig, effort.backMs);
    if (trial.backMs < 0)
        trial.faults += u"not back within %1 ms"_s.arg(effort.backMs);
    QString fault;
    const QList<Shot> all = load + open;
    test::Product::eventually(settledMs, [&] {
        fault = chargeFault(rig, scenario, all);
        return fault.isEmpty();
    });
    if (!fault.isEmpty())
        trial.faults += fault;
    return trial;
}

} // namespace tidekeeper::faults
