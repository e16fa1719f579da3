// SPDX-License-Identifier: Apache-2.0
// Engines that share one Redis lose their leader in every way that happens. See README.md.
#include "hundredticks.h"
#include "latefire.h"
#include "takeover.h"

#include "core/faultpoint.h"

#include <CLI/CLI.hpp>

#include <QtCore/QCoreApplication>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::faults;

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    CLI::App cli("Takes the leader away from engines that share one Redis, and counts the ticks.");
    Options options;
    options.addTo(cli);
    CLI11_PARSE(cli, argc, argv);
    if (!core::hasFaultPoints) {
        std::fputs("This build has no fault points: configure with -DTIDEKEEPER_FAULT_POINTS=ON.\n", stderr);
        return 2;
    }
    const auto ticks = [](Harm harm) {
        return [harm](unsigned seed, bool isSmall) { return hundredTicks(harm, seed, isSmall); };
    };
    return runRounds(options,
                     {{u"stalls"_s, ticks(Harm::Stalls)},
                      {u"kills"_s, ticks(Harm::Kills)},
                      {u"redis-stalls"_s, ticks(Harm::RedisStalls)},
                      {u"redis-restarts"_s, ticks(Harm::RedisRestarts)},
                      {u"late-fire"_s, lateFire},
                      {u"take-over"_s, takeOver}});
}
