// SPDX-License-Identifier: Apache-2.0
// The built product loses its Redis in every way that happens. See ../README.md.
#include "options.h"
#include "trial.h"

#include <CLI/CLI.hpp>

#include <QtCore/QCoreApplication>
#include <QtCore/QElapsedTimer>
#include <QtCore/QTextStream>

using namespace Qt::StringLiterals;
using namespace tidekeeper::faults;

namespace {

QTextStream &out()
{
    static QTextStream stream(stdout);
    return stream;
}

constexpr auto row = "%-15s %-7s %7s %8s %7s %5s %8s %8s %8s %9s %8s  %s\n";

void printHead()
{
    out() << QString::asprintf(row, "scenario", "switch", "granted", "degraded", "refused", "503", "p50 ms",
                               "p99 ms", "max ms", "open p99", "back ms", "verdict")
          << Qt::flush;
}

void print(const Trial &trial)
{
    const auto ms = [](double value) { return QByteArray::number(value, 'f', 2); };
    out() << QString::asprintf(
        row, qPrintable(trial.scenario), qPrintable(trial.switches),
        QByteArray::number(trial.granted).constData(), QByteArray::number(trial.degraded).constData(),
        QByteArray::number(trial.refused).constData(), QByteArray::number(trial.unavailable).constData(),
        ms(trial.p50Ms).constData(), ms(trial.p99Ms).constData(), ms(trial.slowestMs).constData(),
        ms(trial.openP99Ms).constData(), QByteArray::number(trial.backMs).constData(),
        trial.passed() ? "ok" : qPrintable(trial.faults.join(u"; "_s)))
          << Qt::flush;
}

bool isWanted(const Scenario &scenario, const Options &options, bool hasNamespace)
{
    return options.only.empty() ? scenario.needsNamespace == hasNamespace : options.wants(scenario.name);
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    CLI::App cli("Breaks the limiter's Redis in every way and judges what the engine answers.");
    Options options;
    options.addTo(cli);
    bool hasNamespace = false;
    cli.add_flag("--namespace", hasNamespace, "Runs in a network of its own: the scenarios that need one");
    CLI11_PARSE(cli, argc, argv);

    const Effort effort = options.isSmall ? Effort::small() : Effort();
    const QList<Switches> settings{{true, true}, {true, false}, {false, true}};
    unsigned seed = options.seed;
    out() << "seed " << seed << '\n';
    printHead();
    QElapsedTimer timer;
    timer.start();
    int failed = 0, ran = 0;
    do {
        for (const Scenario &scenario : scenarios()) {
            if (!isWanted(scenario, options, hasNamespace))
                continue;
            for (const Switches &switches : settings) {
                Trial trial;
                int attempts =
                    options.isSmall ? 3 : 1; // a busy machine may be late once; a fault is there each time
                do {
                    trial = run(scenario, switches, effort, ++seed);
                    print(trial);
                } while (!trial.passed() && --attempts > 0);
                failed += !trial.passed();
                ++ran;
            }
        }
    } while (timer.elapsed() < qint64(options.minutes * 60'000));
    out() << ran - failed << " of " << ran << " passed\n" << Qt::flush;
    return failed == 0 && ran > 0 ? 0 : 1;
}
