// SPDX-License-Identifier: Apache-2.0
// Two engines keep watches alive through days of trouble. See README.md.
#include "judge.h"

#include "core/faultpoint.h"

#include <CLI/CLI.hpp>

#include <QtCore/QCoreApplication>

#include <random>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::faults;

namespace {

constexpr qint64 hourMs = 3'600'000;

/// Something bad, and its end; the text says what did not work.
using Harm = std::function<QString(Fleet &fleet, std::mt19937 &random)>;

QString engineKilled(Fleet &fleet, std::mt19937 &random)
{
    const int victim = int(random() % Fleet::engineCount);
    fleet.killEngine(victim);
    fleet.live(6 * hourMs);
    return fleet.startEngine(victim);
}

QString redisKilled(Fleet &fleet, std::mt19937 &)
{
    fleet.redis().kill();
    fleet.live(hourMs);
    return fleet.redis().start() ? QString() : u"Redis does not start again"_s;
}

/// A fault of Google's, for so long.
QString googleFault(Fleet &fleet, const QJsonObject &fault, qint64 virtualMs)
{
    const demo::JsonAnswer begun = fleet.google(u"/sim/faults"_s, fault);
    fleet.live(virtualMs);
    const demo::JsonAnswer ended = fleet.google(u"/sim/faults"_s, {{u"clear"_s, true}});
    return begun.good() && ended.good() ? QString() : u"the simulator took no fault"_s;
}

QString googleDown(Fleet &fleet, std::mt19937 &)
{
    return googleFault(fleet, {{u"kind"_s, u"error"_s}, {u"status"_s, 503}}, fleet.scale().outageMs);
}

/// Watches and refreshed tokens that took effect although their answer broke.
QString answersCut(Fleet &fleet, std::mt19937 &)
{
    return googleFault(fleet, {{u"kind"_s, u"cut"_s}, {u"share"_s, 0.1}}, fleet.scale().outageMs);
}

QString wrongSecret(Fleet &fleet, std::mt19937 &)
{
    return googleFault(fleet, {{u"kind"_s, u"wrong_client_secret"_s}}, 2 * hourMs);
}

QString databaseDown(Fleet &fleet, std::mt19937 &)
{
    fleet.postgres().kill();
    fleet.live(3 * hourMs);
    return fleet.postgres().start() ? QString() : u"PostgreSQL does not start again"_s;
}

/// One trouble after the other, with quiet hours between them, and two quiet days after the last.
Verdict days(const QList<Harm> &harms, int mostWatches, unsigned seed, bool isSmall)
{
    std::mt19937 random(seed);
    Fleet fleet(isSmall ? Scale::small() : Scale{});
    if (const QString problem = fleet.start(); !problem.isEmpty())
        return {{}, {problem}};
    for (const Harm &harm : harms) {
        fleet.live(hourMs * qint64(2 + random() % 10));
        if (const QString problem = harm(fleet, random); !problem.isEmpty())
            return {{}, {problem}};
    }
    fleet.live(2 * virtualDayMs);
    return judge(fleet, mostWatches);
}

/// mostWatches: of one account within half a day, where one renewal is due.
Case caseOf(const QString &name, const QList<Harm> &harms, int mostWatches = 2)
{
    return {name, [harms, mostWatches](unsigned seed, bool isSmall) {
                return days(harms, mostWatches, seed, isSmall);
            }};
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    CLI::App cli("Lets two engines keep watches alive through days of trouble, and counts what lapsed.");
    Options options;
    options.addTo(cli);
    CLI11_PARSE(cli, argc, argv);
    if (!core::hasFaultPoints) {
        std::fputs("This build has no fault points: configure with -DTIDEKEEPER_FAULT_POINTS=ON.\n", stderr);
        return 2;
    }
    QList<Case> cases{
        caseOf(u"all"_s, {engineKilled, redisKilled, googleDown, databaseDown, wrongSecret}),
        // A tenth of the answers is lost: whoever meets that twice in a row has to be watched a third time.
        caseOf(u"answers-cut"_s, {answersCut}, 4),
    };
    if (!options.isSmall) { // small, all together show as much
        cases += {caseOf(u"engine-killed"_s, {engineKilled}), caseOf(u"redis-killed"_s, {redisKilled}),
                  caseOf(u"google-down"_s, {googleDown}), caseOf(u"database-down"_s, {databaseDown}),
                  caseOf(u"wrong-secret"_s, {wrongSecret})};
    }
    return runRounds(options, cases);
}
