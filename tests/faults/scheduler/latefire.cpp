// SPDX-License-Identifier: Apache-2.0
#include "latefire.h"

#include "judge.h"

#include <QtCore/QDateTime>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr auto schedule = "own";

/// Where the leader is held, and what it says in its whole life because of it; "fired" once however often.
struct Hold {
    QByteArray point; ///< empty: from outside, between two fires
    QStringList says;
    qsizetype lateFires; ///< that Redis is asked for
};

const QList<Hold> &holds()
{
    static const QList<Hold> all{
        // It had decided to fire: Redis refuses that, and no more comes of it.
        {"scheduler.fire:3:stop", {u"fired"_s, u"leads"_s, u"lost"_s, u"refused"_s}, 1},
        // Its fire was executed in time, only the answer is read late.
        {"scheduler.fired:3:stop", {u"fired"_s, u"leads"_s, u"lost"_s}, 0},
        {"", {u"fired"_s, u"leads"_s, u"lost"_s}, 0},
    };
    return all;
}

QStringList kindsOf(const QList<QJsonObject> &events)
{
    QStringList kinds;
    for (const QJsonObject &event : events) {
        const QString kind = event["event"_L1].toString();
        if (kind != u"log" && !kinds.contains(kind)) // the log is judged by itself
            kinds.append(kind);
    }
    kinds.sort();
    return kinds;
}

bool hasSaid(Fleet &fleet, int engine, const QString &kind, int times = 1)
{
    const QList<QJsonObject> &events = fleet.engine(engine).events();
    return std::count_if(events.begin(), events.end(),
                         [&](const QJsonObject &event) { return event["event"_L1] == kind; })
        >= times;
}

/// Engine 0 is held while it leads, engine 1 fires meanwhile, engine 0 goes on and then ends in order, which gives
/// back a lease that is no longer its own; engine 1 fires further.
bool play(Fleet &fleet, const Hold &hold)
{
    if (!fleet.startRedis())
        return false;
    fleet.engine(0).start(hold.point);
    if (!fleet.eventually(20'000, [&] { return hasSaid(fleet, 0, u"leads"_s); }))
        return false;
    fleet.engine(1).start();
    if (!fleet.eventually(20'000, [&] { return hasSaid(fleet, 0, u"fired"_s, 2); }))
        return false;
    if (hold.point.isEmpty())
        fleet.engine(0).hold();
    if (!fleet.eventually(30'000, [&] { return hasSaid(fleet, 1, u"fired"_s, 2) && fleet.held == 1; }))
        return false;
    return fleet.eventually(20'000, [&] { return hasSaid(fleet, 0, u"lost"_s); }) && fleet.engine(0).stop()
        && fleet.eventually(20'000, [&] { return hasSaid(fleet, 1, u"fired"_s, 5); });
}

QStringList judge(Fleet &fleet, const Hold &hold, qint64 fromMs)
{
    QStringList faults;
    const CommandLog &commands = fleet.commands();
    const auto late = std::count_if(commands.fires().begin(), commands.fires().end(),
                                    [](const CommandLog::Fire &fire) { return fire.isStale; });
    if (late != hold.lateFires)
        faults.append(u"%1 late fires"_s.arg(late));
    if (const QStringList said = kindsOf(fleet.engine(0).events()); said != hold.says)
        faults.append(u"the engine that was held said "_s + said.join(u", "_s));
    const QList<QJsonObject> &next = fleet.engine(1).events();
    if (std::count_if(next.begin(), next.end(),
                      [](const QJsonObject &event) { return event["event"_L1] == "leads"_L1; })
        != 1)
        faults.append(u"the next leader did not keep its lease"_s);
    for (const QJsonObject &event : fleet.engine(0).events()) {
        if (event["event"_L1] == "refused"_L1 && event["code"_L1] != "stale_term"_L1)
            faults.append(u"its late fire was refused as "_s + event["code"_L1].toString());
    }
    const QMap<qint64, int> jobs = jobsByNominalMs(fleet, queueNames[0], QLatin1String(schedule));
    faults += judgeTicks(jobs, 6, fromMs, QDateTime::currentMSecsSinceEpoch());
    faults += judgeCommands(commands);
    faults += replayOldTerms(fleet, commands.terms());
    return faults + judgeEvents(fleet);
}

} // namespace

Verdict lateFire(unsigned, bool isSmall)
{
    Verdict verdict;
    qsizetype late = 0, held = 0;
    for (const Hold &hold : isSmall ? holds().mid(0, 1) : holds()) {
        const QString where = hold.point.isEmpty() ? u"between fires"_s : QString::fromLatin1(hold.point);
        const qint64 fromMs = QDateTime::currentMSecsSinceEpoch();
        Fleet fleet({.engines = 2,
                     .leaseMs = 1'000,
                     .everyMs = 150,
                     .schedules = {secondly(QLatin1String(schedule), queueNames[0])}});
        const bool played = play(fleet, hold);
        if (!fleet.stopEngines())
            verdict.faults.append(where + u": an engine did not end in order"_s);
        if (!played)
            verdict.faults.append(where + u": the other engine did not take over and go on"_s);
        for (const QString &fault : judge(fleet, hold, fromMs))
            verdict.faults.append(where + u": "_s + fault);
        late += hold.lateFires;
        ++held;
    }
    verdict.figures = u"%1 leaders held, %2 late fires refused"_s.arg(held).arg(late);
    return verdict;
}

} // namespace tidekeeper::faults
