// SPDX-License-Identifier: Apache-2.0
// The built product loses its Redis in every way that happens. See README.md.
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

bool isWanted(const Scenario &scenario, const QString &only, bool hasNamespace)
{
    return only.isEmpty() ? scenario.needsNamespace == hasNamespace : scenario.name == only;
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    CLI::App cli("Breaks the limiter's Redis in every way and judges what the engine answers.");
    unsigned seed = std::random_device()();
    double minutes = 0;
    bool isSmall = false, hasNamespace = false;
    std::string only;
    cli.add_option("--seed", seed, "Of costs and order");
    cli.add_option("--minutes", minutes, "Repeat until so many have passed; at least one round");
    cli.add_option("--only", only, "One scenario by name");
    cli.add_flag("--small", isSmall, "Few calls and generous times; up to three attempts");
    cli.add_flag("--namespace", hasNamespace, "Runs in a network of its own: the scenarios that need one");
    CLI11_PARSE(cli, argc, argv);

    const Effort effort = isSmall ? Effort::small() : Effort();
    const QList<Switches> settings{{true, true}, {true, false}, {false, true}};
    out() << "seed " << seed << '\n';
    printHead();
    QElapsedTimer timer;
    timer.start();
    int failed = 0, ran = 0;
    do {
        for (const Scenario &scenario : scenarios()) {
            if (!isWanted(scenario, QString::fromStdString(only), hasNamespace))
                continue;
            for (const Switches &switches : settings) {
                Trial trial;
                int attempts = isSmall ? 3 : 1; // a busy machine may be late once; a fault is there each time
                do {
                    trial = run(scenario, switches, effort, ++seed);
                    print(trial);
                } while (!trial.passed() && --attempts > 0);
                failed += !trial.passed();
                ++ran;
            }
        }
    } while (timer.elapsed() < qint64(minutes * 60'000));
    out() << ran - failed << " of " << ran << " passed\n" << Qt::flush;
    return failed == 0 && ran > 0 ? 0 : 1;
}
