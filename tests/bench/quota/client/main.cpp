// SPDX-License-Identifier: Apache-2.0

// The engine's own Redis client calling one function as fast as it goes, as redis-benchmark does:
//
//   tidekeeper-bench-client --port P --calls N [--in-flight M] [--random R] FUNCTION NUMKEYS KEY… ARGUMENT…
//
// __rand_int__ in a key becomes a number of twelve digits below R. Prints one line of JSON.

#include "limits/quotalibrary.h"
#include "redis/functionlibrary.h"

#include <CLI/CLI.hpp>
#include <QtCore/QCoreApplication>
#include <QtCore/QElapsedTimer>
#include <QtCore/QEventLoop>
#include <QtCore/QRandomGenerator>

#include <cstdio>

using namespace tidekeeper::redis;

namespace {

constexpr int commandTimeoutMs =
    30'000; ///< far enough for a loaded machine: late answers are not what is measured

struct Plan {
    int port = 6379;
    int calls = 100'000;
    int inFlight = 512;
    quint32 random = 50'000;
    std::vector<std::string> words;
};

/// Keeps a fixed number of calls in flight until all are answered.
class Load {
public:
    Load(FunctionLibrary &library, const Plan &plan) : m_library(library), m_plan(plan)
    {
        m_function = QByteArray::fromStdString(plan.words[0]);
        const size_t keyCount = std::stoul(plan.words[1]);
        for (size_t i = 2; i < plan.words.size(); ++i)
            (i < 2 + keyCount ? m_keys : m_arguments).append(QByteArray::fromStdString(plan.words[i]));
    }

    /// The first failure; empty when all were answered with arrays or numbers.
    QByteArray run()
    {
        for (int i = 0; i < std::min(m_plan.inFlight, m_plan.calls); ++i)
            sendOne();
        m_loop.exec();
        return m_failure;
    }

    int granted() const { return m_granted; }

private:
    void sendOne()
    {
        ++m_sent;
        QByteArrayList keys = m_keys;
        for (QByteArray &key : keys) {
            if (const qsizetype at = key.indexOf("__rand_int__"); at >= 0) {
                const quint32 number = QRandomGenerator::global()->bounded(m_plan.random);
                key.replace(at, 12, QByteArray::number(number).rightJustified(12, '0'));
            }
        }
        m_library.call(
            m_function, keys, m_arguments,
            [this](const tidekeeper::Result<Value> &answer) { answered(answer); }, commandTimeoutMs);
    }

    void answered(const tidekeeper::Result<Value> &answer)
    {
        if (!answer || answer->isError()) {
            m_failure = answer ? answer->text : answer.error().text.toUtf8();
            m_loop.quit();
            return;
        }
        m_granted += !answer->items.isEmpty() && answer->items[0].toInteger() == 1;
        if (++m_answered == m_plan.calls)
            m_loop.quit();
        else if (m_sent < m_plan.calls)
            sendOne();
    }

    FunctionLibrary &m_library;
    const Plan &m_plan;
    QByteArray m_function;
    QByteArrayList m_keys;
    QByteArrayList m_arguments;
    QEventLoop m_loop;
    QByteArray m_failure;
    int m_sent = 0;
    int m_answered = 0;
    int m_granted = 0;
};

int measure(const Plan &plan)
{
    const Endpoint endpoint{.transport = Endpoint::Transport::Tcp,
                            .host = QStringLiteral("127.0.0.1"),
                            .port = quint16(plan.port)};
    RedisConnection connection(endpoint, {.connectTimeoutMs = 10'000, .commandTimeoutMs = commandTimeoutMs});
    FunctionLibrary library(connection, "tidekeeper_quota", tidekeeper::limits::libraryCode());
    connection.open();
    if (!QCoro::waitFor(connection.waitReady(10'000))) {
        std::fprintf(stderr, "%s\n", qPrintable(connection.lastError()));
        return 1;
    }
    Load load(library, plan);
    QElapsedTimer timer;
    timer.start();
    const QByteArray failure = load.run();
    const double seconds = double(timer.nsecsElapsed()) / 1e9;
    if (!failure.isEmpty()) {
        std::fprintf(stderr, "%s\n", failure.constData());
        return 1;
    }
    std::printf("{\"calls\": %d, \"seconds\": %.6f, \"granted\": %d}\n", plan.calls, seconds, load.granted());
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    Plan plan;
    CLI::App cli("Calls a Redis function with the engine's own client");
    cli.add_option("--port", plan.port, "of Redis on loopback")->required();
    cli.add_option("--calls", plan.calls, "how many")->check(CLI::PositiveNumber);
    cli.add_option("--in-flight", plan.inFlight, "at a time")->check(CLI::PositiveNumber);
    cli.add_option("--random", plan.random, "how many different keys")->check(CLI::PositiveNumber);
    cli.add_option("words", plan.words, "function, number of keys, keys, arguments")
        ->required()
        ->expected(2, 100);
    CLI11_PARSE(cli, argc, argv);
    return measure(plan);
}
