// SPDX-License-Identifier: Apache-2.0

// What the list of levels costs: an engine's limiter decides for many accounts with the list switched on and off, in
// turn, and the list is read between the rounds. Prints one line of JSON.
//
//   tidekeeper-bench-levels --port P [--accounts N] [--calls N] [--in-flight M] [--rounds R]

#include "limits/bucketservice.h"
#include "limits/levelindex.h"
#include "limits/levelreader.h"
#include "limits/levelsweep.h"
#include "limits/quotalibrary.h"
#include "support/realclock.h"

#include <tidekeeper/callback.h>

#include <CLI/CLI.hpp>
#include <QtCore/QCoreApplication>
#include <QtCore/QElapsedTimer>
#include <QtCore/QEventLoop>
#include <QtCore/QJsonDocument>
#include <QtCore/QRandomGenerator>
#include <QtCore/QRegularExpression>

#include <cstdio>
#include <ctime>
#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

constexpr int commandTimeoutMs = 30'000; // late answers are not what is measured
constexpr int shownAccounts = 100;
constexpr int readings = 10; // of the list, after each round
const QString limiter = u"bench"_s;

struct Plan {
    int port = 6379;
    int accounts = 100'000;
    int calls = 200'000;
    int inFlight = 512;
    int rounds = 5;
};

/// Gmail's account buckets, in a project that never refuses: what is measured is the speed of grants.
QJsonObject policy()
{
    return {
        {u"account_capacity"_s, 360},
        {u"account_refill_per_minute"_s, 5450},
        {u"project_capacity"_s, 500'000'000},
        {u"project_refill_per_minute"_s, 1'000'000'000},
        {u"bulk_reserve"_s, 0.5},
        {u"project_bulk_reserve"_s, 0.2},
        {u"key_ttl_ms"_s, 3'600'000},
        {u"send_slack_ms"_s, 2'000},
        {u"fail_open"_s, false},
        {u"enforce"_s, true},
    };
}

void pause(int ms)
{
    QEventLoop loop;
    QTimer::singleShot(ms, &loop, &QEventLoop::quit);
    loop.exec();
}

class Bench {
public:
    explicit Bench(const Plan &plan)
        : m_plan(plan), m_connection({.transport = redis::Endpoint::Transport::Tcp,
                                      .host = u"127.0.0.1"_s,
                                      .port = quint16(plan.port)},
                                     {.connectTimeoutMs = 10'000, .commandTimeoutMs = commandTimeoutMs}),
          m_library(m_connection, "tidekeeper_quota", limits::libraryCode()),
          m_buckets(m_connection, m_library, m_clock),
          m_levels(m_connection, m_library, m_buckets.projects(), m_clock)
    {
        m_connection.open();
        if (!QCoro::waitFor(m_connection.waitReady(10'000)))
            qFatal("%s", qPrintable(m_connection.lastError()));
        for (int i = 0; i < plan.accounts; ++i)
            m_addresses.append(u"user%1@example.com"_s.arg(i));
        publish();
    }

    QJsonObject run()
    {
        fill();
        QJsonArray off;
        QJsonArray on;
        QJsonArray listUs;
        for (int round = 0; round < m_plan.rounds; ++round) {
            for (const bool withList : {round % 2 == 0, round % 2 != 0})
                (withList ? on : off).append(measure(withList));
            for (int i = 0; i < readings; ++i)
                listUs.append(readList());
        }
        return {{u"off"_s, off}, {u"on"_s, on}, {u"list_us"_s, listUs}, {u"accounts"_s, active()}};
    }

private:
    void publish()
    {
        QEventLoop loop;
        m_buckets.publish(limiter, u"default"_s, policy(),
                          whenDone(&loop, [&](const Status &status, const QJsonObject &) {
                              if (!status.ok())
                                  qFatal("%s", qPrintable(status.text));
                              loop.quit();
                          }));
        loop.exec();
    }

    /// Every account once, until all of them are listed.
    void fill()
    {
        const limits::LevelIndex index(m_connection, m_buckets.projects(), m_clock);
        decide(m_plan.accounts, [this](int i) { return m_addresses[i]; });
        while (active() < m_plan.accounts)
            pause(50);
    }

    /// Grants per second, and µs of processor that engine and Redis spent for each: a busy machine blurs only the first.
    QJsonObject measure(bool withList)
    {
        std::optional<limits::LevelIndex> index;
        std::optional<limits::LevelSweep> sweep;
        if (withList) {
            index.emplace(m_connection, m_buckets.projects(), m_clock);
            sweep.emplace(m_connection, m_buckets.projects(), m_clock);
        }
        pause(1'500); // what the round before left to write
        const double redisBefore = redisCpuSeconds();
        const std::clock_t engineBefore = std::clock();
        QElapsedTimer timer;
        timer.start();
        decide(m_plan.calls,
               [this](int) { return m_addresses[QRandomGenerator::global()->bounded(m_addresses.size())]; });
        const double seconds = double(timer.nsecsElapsed()) / 1e9;
        const double engineSeconds = double(std::clock() - engineBefore) / CLOCKS_PER_SEC;
        const double redisSeconds = redisCpuSeconds() - redisBefore;
        return {{u"per_second"_s, m_plan.calls / seconds},
                {u"engine_us"_s, engineSeconds * 1e6 / m_plan.calls},
                {u"redis_us"_s, redisSeconds * 1e6 / m_plan.calls},
                {u"cpu_us"_s, (engineSeconds + redisSeconds) * 1e6 / m_plan.calls}};
    }

    void decide(int calls, const std::function<QString(int)> &accountOf)
    {
        QEventLoop loop;
        int sent = 0;
        int answered = 0;
        std::function<void()> sendOne = [&] {
            QuotaRequest request;
            request.account = accountOf(sent++);
            request.cost = 5;
            request.caller = u"bench"_s;
            request.deadlineMs = commandTimeoutMs;
            m_buckets.acquire(limiter, request,
                              whenDecided(&loop, [&](const Status &status, const QuotaAnswer &) {
                                  if (!status.ok())
                                      qFatal("%s", qPrintable(status.text));
                                  if (++answered == calls)
                                      loop.quit();
                                  else if (sent < calls)
                                      sendOne();
                              }));
        };
        for (int i = 0; i < std::min(m_plan.inFlight, calls); ++i)
            sendOne();
        loop.exec();
    }

    /// µs that Redis spent for the first hundred of all accounts: its slow log has every command, but not those that
    /// functions call, which are part of them.
    double readList()
    {
        pause(250); // past what the reader keeps
        command({"CONFIG", "SET", "slowlog-max-len", "10000"});
        command({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
        command({"SLOWLOG", "RESET"});
        const auto list = QCoro::waitFor(m_levels.list(limiter, {}, shownAccounts));
        command({"CONFIG", "SET", "slowlog-log-slower-than", "-1"});
        if (!list || list->value("buckets"_L1).toArray().size() != std::min(shownAccounts, m_plan.accounts))
            qFatal("the list is not complete");
        double sumUs = 0;
        for (const redis::Value &entry : command({"SLOWLOG", "GET", "-1"}).items) {
            const QByteArray name = entry.items[3].items[0].text;
            if (name != "CONFIG" && name != "SLOWLOG")
                sumUs += double(entry.items[2].toInteger());
        }
        return sumUs;
    }

    double redisCpuSeconds()
    {
        const QString info = QString::fromUtf8(command({"INFO", "cpu"}).text);
        static const QRegularExpression line(u"used_cpu_(?:sys|user):([\\d.]+)"_s);
        double seconds = 0;
        for (auto matches = line.globalMatch(info); matches.hasNext();)
            seconds += matches.next().captured(1).toDouble();
        return seconds;
    }

    int active() { return int(command({"ZCARD", "tk:{bench:default}:active"}).toInteger()); }

    redis::Value command(const QByteArrayList &words)
    {
        const auto answer = QCoro::waitFor(m_connection.command(words));
        if (!answer)
            qFatal("%s", qPrintable(answer.error().text));
        return *answer;
    }

    const Plan &m_plan;
    test::RealClock m_clock;
    redis::RedisConnection m_connection;
    redis::FunctionLibrary m_library;
    limits::BucketService m_buckets;
    limits::LevelReader m_levels;
    QStringList m_addresses;
};

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    Plan plan;
    CLI::App cli("Measures what the list of levels costs");
    cli.add_option("--port", plan.port, "of Redis on loopback")->required();
    cli.add_option("--accounts", plan.accounts, "how many")->check(CLI::PositiveNumber);
    cli.add_option("--calls", plan.calls, "in each round")->check(CLI::PositiveNumber);
    cli.add_option("--in-flight", plan.inFlight, "at a time")->check(CLI::PositiveNumber);
    cli.add_option("--rounds", plan.rounds, "how many")->check(CLI::PositiveNumber);
    CLI11_PARSE(cli, argc, argv);
    Bench bench(plan);
    std::puts(QJsonDocument(bench.run()).toJson(QJsonDocument::Compact).constData());
    return 0;
}
