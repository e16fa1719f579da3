// SPDX-License-Identifier: Apache-2.0

// The engine's own queue client, as the peers' programs in ../node:
//
//   tidekeeper-bench-queue VERB --socket PATH --queue Q …
//
//   add      --count N [--warm W] [--bulk B] [--callers C]  each call awaited; {"count", "seconds", "cpuUs"}
//   drain    --count N [--warm W] --consumers C  works W + N jobs that do nothing; the same for the last N
//   produce  --count N --rate R                  one job every 1/R s, whether or not answers have come
//   consume  --count N --consumers C             prints "ready"; then {"fromDue": […], "fromSent": […]}: µs until start
//   hold                                         prints "started US" for each job, and never ends one

#include "plan.h"

#include <CLI/CLI.hpp>
#include <QtCore/QCoreApplication>

#include <cstdio>
#include <map>

namespace bench {

using namespace tidekeeper;

namespace {

constexpr int readyMs = 10'000;

} // namespace

Link::Link(const Plan &plan)
    : endpoint{.path = plan.socket}, connection(endpoint),
      library(connection, "tidekeeper_queue", queue::libraryCode()), queue(plan.queue, library)
{
    connection.open();
    if (!QCoro::waitFor(connection.waitReady(readyMs)))
        throw std::runtime_error(qPrintable(connection.lastError()));
    if (const Result<> loaded = QCoro::waitFor(library.ensureLoaded()); !loaded)
        throw std::runtime_error(qPrintable(loaded.error().text));
}

void Stopwatch::print(int count) const
{
    const qint64 us = monotonicUs() - m_startUs;
    std::printf("{\"count\": %d, \"seconds\": %.6f, \"cpuUs\": %lld}\n", count, double(us) / 1e6,
                static_cast<long long>(processorUs() - m_startCpuUs));
}

} // namespace bench

int main(int argc, char **argv)
{
    // As in the engine.
    qputenv("QT_NO_GLIB", "1");
    QCoreApplication application(argc, argv);
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // what waits for "ready" or "started" reads a pipe
    bench::Plan plan;
    std::string verb;
    std::string socket;
    std::string queue = "bench";
    const std::map<std::string, void (*)(const bench::Plan &)> verbs{{"add", bench::add},
                                                                     {"drain", bench::drain},
                                                                     {"produce", bench::produce},
                                                                     {"consume", bench::consume},
                                                                     {"hold", bench::hold}};
    CLI::App cli("Puts load on a queue and works it off");
    cli.add_option("verb", verb)->required()->check(CLI::IsMember(verbs));
    cli.add_option("--socket", socket, "Unix socket of Redis")->required();
    cli.add_option("--queue", queue, "name");
    cli.add_option("--count", plan.count, "jobs that are measured")->check(CLI::PositiveNumber);
    cli.add_option("--warm", plan.warm, "jobs before them")->check(CLI::NonNegativeNumber);
    cli.add_option("--bulk", plan.bulk, "jobs in a call")->check(CLI::Range(1, 500));
    cli.add_option("--callers", plan.callers, "who add, each awaiting its calls")->check(CLI::PositiveNumber);
    cli.add_option("--rate", plan.rate, "jobs a second")->check(CLI::PositiveNumber);
    cli.add_option("--payload", plan.payloadBytes, "bytes of JSON")->check(CLI::Range(100, 100'000));
    cli.add_option("--consumers", plan.consumers, "jobs at a time")->check(CLI::PositiveNumber);
    cli.add_option("--prefetch", plan.prefetch, "jobs in hand for each")->check(CLI::PositiveNumber);
    cli.add_option("--lease", plan.leaseMs, "ms")->check(CLI::PositiveNumber);
    CLI11_PARSE(cli, argc, argv);
    plan.socket = QString::fromStdString(socket);
    plan.queue = QString::fromStdString(queue);
    try {
        verbs.at(verb)(plan);
    } catch (const std::exception &fault) {
        std::fprintf(stderr, "%s\n", fault.what());
        return 1;
    }
    return 0;
}
