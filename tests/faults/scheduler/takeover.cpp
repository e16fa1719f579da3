// SPDX-License-Identifier: Apache-2.0
#include "takeover.h"

#include "judge.h"
#include "product.h"
#include "shiftedclock.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QThread>

#include <random>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int engineCount = 3;
constexpr qint64 anHourS = 3'600;
constexpr qint64 promisedMs = 10'000;
constexpr qint64 givenUpMs = 60'000;

class Engines {
public:
    Engines() : m_redis(CommandLog::serverArguments()) { }

    bool start()
    {
        if (!m_redis.start())
            return false;
        m_connection = std::make_unique<redis::RedisConnection>(
            *redis::Endpoint::fromUrl(m_redis.url()), redis::ConnectionOptions{.commandTimeoutMs = 10'000});
        m_connection->open();
        bool all = QCoro::waitFor(m_connection->waitReady(10'000));
        for (int i = 0; all && i < engineCount; ++i)
            all = startEngine(i);
        return all;
    }

    /// The first has a wall clock that is an hour off.
    bool startEngine(int i)
    {
        const ShiftedClock clock(i == 0 ? anHourS : 0);
        m_products[i].googleUrl = u"http://127.0.0.1:1"_s; // nothing is renewed here
        return m_products[i].startEngine("[redis]\nurl = \"" + m_redis.url().toUtf8()
                                         + "\"\n[plugins.watch-renewal]\ncron = \"* * * * * *\"\n");
    }

    void kill(int i) { m_products[i].engine->kill(); }

    /// The engine that says that it leads with this term; −1 = none.
    int leader(qint64 term)
    {
        for (int i = 0; i < engineCount; ++i) {
            const demo::JsonAnswer overview = m_products[i].engineGet(u"/api/v1/overview"_s);
            if (term != 0 && overview.body["term"_L1].toInteger() == term)
                return i;
        }
        return -1;
    }

    /// By what Redis holds.
    qint64 term() { return number({"HGET", "tk:{lease:scheduler}", "term"}); }
    qint64 lastTickMs()
    {
        return number({"HGET", queuePrefix(queueNames[0]) + ":schedule:renewal-scan", "nominal"});
    }

    const CommandLog &commands()
    {
        m_commands.read(*m_connection);
        return m_commands;
    }

private:
    qint64 number(const QList<QByteArray> &command)
    {
        return QCoro::waitFor(m_connection->command(command)).value_or(redis::Value()).toInteger();
    }

    test::TestRedis m_redis;
    std::unique_ptr<redis::RedisConnection> m_connection;
    CommandLog m_commands;
    test::Product m_products[engineCount];
};

struct TakeOver {
    qint64 ms = -1; ///< from the kill to the next fire; −1: there was none
    bool isNewTerm = false;
};

TakeOver killLeader(Engines &engines, int leader)
{
    const qint64 term = engines.term();
    QElapsedTimer timer;
    timer.start();
    engines.kill(leader);
    const qint64 lastMs = engines.lastTickMs(); // of the dead
    while (engines.lastTickMs() == lastMs && !timer.hasExpired(givenUpMs))
        QThread::msleep(5);
    if (timer.hasExpired(givenUpMs))
        return {};
    return {timer.elapsed(), engines.term() > term};
}

} // namespace

Verdict takeOver(unsigned seed, bool isSmall)
{
    std::mt19937 random(seed);
    Engines engines;
    if (!engines.start())
        return {{}, {u"the engines do not start"_s}};
    Verdict verdict;
    QList<qint64> times;
    for (int kills = isSmall ? 1 : 10; kills > 0 && verdict.faults.isEmpty(); --kills) {
        int leader = -1;
        const bool leads = test::Product::eventually(int(givenUpMs), [&] {
            return (leader = engines.leader(engines.term())) != -1 && engines.lastTickMs() != 0;
        });
        if (!leads)
            return {{}, {u"no engine leads"_s}};
        QThread::msleep(std::uniform_int_distribution<unsigned>(0, 1'500)(random));
        const TakeOver after = killLeader(engines, leader);
        if (after.ms == -1)
            verdict.faults.append(u"nobody took over"_s);
        else if (!after.isNewTerm)
            verdict.faults.append(u"fired without a new term"_s);
        times.append(after.ms);
        if (!engines.startEngine(leader))
            verdict.faults.append(u"an engine does not come back"_s);
    }
    std::sort(times.begin(), times.end());
    verdict.figures = u"%1 kills, taken over after %2 ms (median), %3 ms (longest)"_s.arg(times.size())
                          .arg(times[times.size() / 2])
                          .arg(times.last());
    if (!isSmall && times.last() > promisedMs)
        verdict.faults.append(u"longer than %1 ms"_s.arg(promisedMs));
    verdict.faults += judgeCommands(engines.commands());
    return verdict;
}

} // namespace tidekeeper::faults
