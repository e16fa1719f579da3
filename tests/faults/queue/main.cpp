// SPDX-License-Identifier: Apache-2.0
// Workers, producers and the Redis of a queue are killed, stopped and cut off, and an oracle counts. See ../README.md.
#include "cases.h"

#include <CLI/CLI.hpp>

#include <QtCore/QCoreApplication>

using namespace Qt::StringLiterals;
using namespace tidekeeper::faults;

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    CLI::App cli("Breaks a queue's workers and its Redis in every way and counts what became of each job.");
    Options options;
    options.addTo(cli);
    CLI11_PARSE(cli, argc, argv);
    return runRounds(options,
                     {{u"kill-at-each-step"_s, killAtEachStep},
                      {u"kill-at-random"_s, killAtRandom},
                      {u"poison"_s, poison},
                      {u"stop-and-continue"_s, stopAndContinue},
                      {u"hang"_s, hang},
                      {u"drain"_s, drain},
                      {u"redis-restart"_s, redisRestart},
                      {u"reply-cut"_s, replyCut},
                      {u"promoters"_s, promoters},
                      {u"recovery"_s, recovery},
                      {u"recovery-3s"_s, shortRecovery}});
}
