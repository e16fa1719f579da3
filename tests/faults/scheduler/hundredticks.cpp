// SPDX-License-Identifier: Apache-2.0
#include "hundredticks.h"

#include "judge.h"

#include <QtCore/QDateTime>

#include <random>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

const QStringList scheduleNames{u"own"_s, u"plugin"_s}; // each in the queue of the same place
constexpr int anHourS = 3'600;
constexpr int callMs = 2'000; // that an engine waits for the answer to a fire

/// A leader outlives a stall of Redis, so that it repeats its fire itself.
int leaseMs(Harm harm, bool isSmall)
{
    return harm == Harm::RedisStalls ? 6'000 : isSmall ? 1'000 : 2'000;
}

class Run {
public:
    Run(Harm harm, unsigned seed, bool isSmall)
        : m_harm(harm), m_random(seed), m_ticks(isSmall ? 6 : 100),
          m_fleet({.leaseMs = leaseMs(harm, isSmall),
                   .everyMs = leaseMs(harm, isSmall) / 7,
                   .schedules = {secondly(scheduleNames[0], queueNames[0]),
                                 secondly(scheduleNames[1], queueNames[1])}}),
          m_offsetS(seed % 2 == 0 ? anHourS : -anHourS)
    { }

    Verdict run()
    {
        const qint64 fromMs = QDateTime::currentMSecsSinceEpoch();
        if (!m_fleet.startRedis())
            return {{}, {u"Redis does not start"_s}};
        startEngine(0);
        if (!m_fleet.eventually(20'000, [this] { return m_fleet.leader() == 0; }))
            return {{}, {u"the engine with the wrong clock does not lead"_s}};
        startEngine(1);
        startEngine(2);
        m_nextHarm.setRemainingTime(between(500, 2'000));
        const bool enough =
            m_fleet.eventually((m_ticks + 60) * 1'000, [this] { return harmNow() && allTicked(); },
                               [this](int i) { comeBack(i); });
        return judge(fromMs, enough);
    }

private:
    int between(int least, int most) { return std::uniform_int_distribution(least, most)(m_random); }

    void startEngine(int i) { m_fleet.engine(i).start(points(), i == 0 ? m_offsetS : 0); }

    /// Passages at which an engine is held or dies by itself: before a fire is sent, and before its answer is used.
    QByteArray points()
    {
        if (m_harm == Harm::RedisStalls)
            return {};
        const bool kills = m_harm == Harm::Kills;
        const int last = std::min(kills ? 20 : 70, m_ticks * 2 / 3);
        QByteArrayList points;
        for (int i = 0; i < (kills ? 1 : 8); ++i) {
            const QByteArray name = between(0, 1) == 0 ? "scheduler.fire" : "scheduler.fired";
            const QByteArray passage = name + ':' + QByteArray::number(between(4, last));
            const QByteArray point = passage + (kills ? ":kill" : ":stop");
            if (!points.contains(point))
                points.append(point);
        }
        return points.join(',');
    }

    /// An engine that died comes back after up to a lease length.
    void comeBack(int i)
    {
        if (!m_back[i]) {
            m_back[i].emplace(between(0, m_fleet.leaseMs()));
            ++m_fleet.died;
        } else if (m_back[i]->hasExpired()) {
            m_back[i].reset();
            startEngine(i);
        }
    }

    bool harmNow()
    {
        if (!m_nextHarm.hasExpired())
            return true;
        if (m_harm == Harm::RedisStalls) {
            m_fleet.stallRedis(callMs + between(300, 900));
            m_nextHarm.setRemainingTime(untilJustBeforeATick());
            return true;
        }
        if (const int leader = m_fleet.leader(); m_harm == Harm::RedisRestarts)
            m_redisRestarts += m_fleet.restartRedis();
        else if (leader == -1)
            return true; // at the next look
        else if (m_harm == Harm::Stalls)
            m_fleet.engine(leader).hold();
        else
            m_fleet.engine(leader).kill();
        m_nextHarm.setRemainingTime(between(m_fleet.leaseMs(), 4 * m_fleet.leaseMs()));
        return true;
    }

    /// After a few in between.
    qint64 untilJustBeforeATick()
    {
        const qint64 now = QDateTime::currentMSecsSinceEpoch();
        return between(3, 5) * 1'000 - now % 1'000 - between(60, 150);
    }

    bool allTicked()
    {
        bool all = true;
        for (int i = 0; i < scheduleNames.size(); ++i) {
            const qint64 nominal =
                m_fleet
                    .command({"HGET", queuePrefix(queueNames[i]) + ":schedule:" + scheduleNames[i].toUtf8(),
                              "nominal"})
                    .toInteger();
            if (m_firstMs[i] == 0)
                m_firstMs[i] = nominal;
            all &= nominal != 0 && nominal >= m_firstMs[i] + (m_ticks - 1) * 1'000;
        }
        return all;
    }

    Verdict judge(qint64 fromMs, bool enough)
    {
        const bool inOrder = m_fleet.stopEngines();
        const qint64 untilMs = QDateTime::currentMSecsSinceEpoch();
        Verdict verdict;
        if (!enough)
            verdict.faults.append(u"%1 ticks do not come to an end"_s.arg(m_ticks));
        if (!inOrder && m_harm != Harm::Kills)
            verdict.faults.append(u"an engine did not end in order"_s);
        QStringList counts;
        for (int i = 0; i < scheduleNames.size(); ++i) {
            const QMap<qint64, int> jobs = jobsByNominalMs(m_fleet, queueNames[i], scheduleNames[i]);
            for (const QString &fault : judgeTicks(jobs, m_ticks, fromMs, untilMs))
                verdict.faults.append(scheduleNames[i] + u": "_s + fault);
            const auto ticks = jobs.values();
            counts.append(
                u"%1 ticks %2 jobs"_s.arg(jobs.size()).arg(std::accumulate(ticks.begin(), ticks.end(), 0)));
        }
        const CommandLog &commands = m_fleet.commands();
        verdict.faults += judgeCommands(commands);
        verdict.faults += replayOldTerms(m_fleet, commands.terms());
        verdict.faults += judgeEvents(m_fleet);
        verdict.faults += judgeHarm(commands);
        verdict.figures = counts.join(u" + "_s)
            + u", %1 terms, %2 held, %3 died, %4 Redis restarts, fires refused: %5 late, %6 repeated; %7 by "
              u"the clock an "
              u"hour off"_s.arg(commands.terms().size())
                  .arg(m_fleet.held)
                  .arg(m_fleet.died)
                  .arg(m_redisRestarts)
                  .arg(refused(commands, true))
                  .arg(refused(commands, false))
                  .arg(firedBy(0));
        return verdict;
    }

    static qsizetype refused(const CommandLog &commands, bool isStale)
    {
        return std::count_if(
            commands.fires().begin(), commands.fires().end(),
            [isStale](const CommandLog::Fire &fire) { return !fire.moved && fire.isStale == isStale; });
    }

    qsizetype firedBy(int i)
    {
        const QList<QJsonObject> &events = m_fleet.engine(i).events();
        return std::count_if(events.begin(), events.end(),
                             [](const QJsonObject &event) { return event["event"_L1] == "fired"_L1; });
    }

    /// A run in which nothing happened proves nothing.
    QStringList judgeHarm(const CommandLog &commands)
    {
        QStringList faults;
        const int often = m_ticks / 10;
        if ((m_harm == Harm::Stalls || m_harm == Harm::Kills) && commands.terms().size() <= often / 2)
            faults.append(u"hardly another leader"_s);
        if ((m_harm == Harm::Stalls && m_fleet.held < often)
            || (m_harm == Harm::Kills && m_fleet.died < often)
            || (m_harm == Harm::RedisStalls && refused(commands, false) < often / 2)
            || (m_harm == Harm::RedisRestarts && m_redisRestarts < often / 2))
            faults.append(u"hardly any harm"_s);
        const QList<QJsonObject> &events = m_fleet.engine(0).events();
        const bool isOff = std::any_of(events.begin(), events.end(), [this](const QJsonObject &event) {
            return event["event"_L1] == "stepped"_L1
                && std::abs(event["by_ms"_L1].toInteger() + m_offsetS * 1'000) < 5'000;
        });
        if (!isOff)
            faults.append(u"no clock was an hour off"_s);
        if (firedBy(0) == 0)
            faults.append(u"the engine whose clock is off never fired"_s);
        return faults;
    }

    Harm m_harm;
    std::mt19937 m_random;
    int m_ticks;
    Fleet m_fleet;
    qint64 m_offsetS;
    QDeadlineTimer m_nextHarm;
    std::optional<QDeadlineTimer> m_back[3]; ///< by engine: when it comes back
    qint64 m_firstMs[2] = {0, 0}; ///< by schedule
    int m_redisRestarts = 0;
};

} // namespace

Verdict hundredTicks(Harm harm, unsigned seed, bool isSmall)
{
    return Run(harm, seed, isSmall).run();
}

} // namespace tidekeeper::faults
