// SPDX-License-Identifier: Apache-2.0
// Ticks that do not come, schedules whose plugin is gone, and changes that several engines share.
#include "scheduler/pluginschedules.h"
#include "schedulerside.h"
#include "support/fakeclock.h"

#include <QtCore/QJsonArray>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

QJsonObject everyMinute(const QString &id, const QJsonObject &job = {{u"type"_s, u"work"_s}})
{
    return test::everyMinute({{u"id"_s, id}, {u"job"_s, job}});
}

} // namespace

class TestSchedulerWatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init()
    {
        m_redis.clear();
        m_clock = std::make_unique<FakeClock>(start + 1);
    }

    void jobsGoToTheirQueue();
    void nobodyLeads();
    void theLeaderLacksThePlugin();
    void aLeaderThatCannotFireSaysSo();
    void aLeaderThatAFullRedisKeepsFromFiringSaysSo();
    void firesWithoutAReplicaThatConfirms();
    void orphansAreShownAndForgotten();
    void anOrphanThatAnotherEngineFiresIsNone();
    void aFailedPluginsScheduleDoesNotFire();
    void aPauseHoldsWhoeverLeads();
    void twoOperatorsAtOnce();
    void runsByHandAreRecorded();

private:
    void lead(SchedulerSide &engine)
    {
        engine.run();
        QTRY_VERIFY(engine.scheduler.health()[u"ready"].toBool());
    }
    void pass(SchedulerSide &engine, qint64 ms)
    {
        m_clock->advance(ms);
        QCoro::waitFor(engine.scheduler.watch());
    }
    Result<> change(SchedulerSide &engine, QString id, QJsonObject patch)
    {
        return QCoro::waitFor(engine.scheduler.change(id, patch, u"tests"_s));
    }
    qint64 waiting(const QByteArray &queue)
    {
        return m_redis.integer({"XLEN", "tk:{q:" + queue + "}:stream:normal"});
    }
    static QJsonArray named(const SchedulerSide &engine, const QString &list)
    {
        return engine.scheduler.health()[list].toArray();
    }

    QueueRedis m_redis;
    std::unique_ptr<FakeClock> m_clock;
};

void TestSchedulerWatch::jobsGoToTheirQueue()
{
    SchedulerSide engine(m_redis, *m_clock);
    scheduler::PluginSchedules plugin(engine.scheduler, u"digest"_s);
    QVERIFY(engine.scheduler.declare(everyMinute(u"own"_s)).ok());
    QVERIFY(plugin.declare(everyMinute(u"theirs"_s)).ok());
    QVERIFY(plugin.declare(everyMinute(u"chosen"_s, {{u"type"_s, u"t"_s}, {u"queue"_s, u"test"_s}})).ok());
    const Status refused =
        plugin.declare(everyMinute(u"lost"_s, {{u"type"_s, u"t"_s}, {u"queue"_s, u"secnd"_s}}));
    QCOMPARE(refused.details[u"field"].toString(), u"job.queue"_s);
    QVERIFY(refused.text.contains(u"Did you mean \"second\"?"_s));
    lead(engine);
    for (const QByteArray queue : {"test", "second"})
        QVERIFY(m_redis.integer({"HGET", "tk:{q:" + queue + "}:terms", "scheduler"}) > 0);
    m_clock->advance(minute);
    engine.scheduler.wake();
    QTRY_COMPARE(waiting("test"), 2);
    QTRY_COMPARE(waiting("second"), 1);
    QTRY_COMPARE(engine.find(u"theirs"_s)[u"last_nominal_at"].toInteger(), start + minute);
    // A plugin cannot take the place of the engine's own schedule; the engine takes its own.
    QCOMPARE(plugin.declare(everyMinute(u"own"_s)).code, u"already_declared"_s);
    QVERIFY(engine.scheduler.declare(everyMinute(u"theirs"_s)).ok());
    QCOMPARE(engine.find(u"theirs"_s)[u"plugin"].toString(), QString());
}

void TestSchedulerWatch::nobodyLeads()
{
    SchedulerSide engine(m_redis, *m_clock, 6'000);
    QVERIFY(engine.scheduler.declare(everyMinute(u"s"_s)).ok());
    QSignalSpy overdue(&engine.scheduler, &scheduler::Scheduler::overdue);
    QSignalSpy recovered(&engine.scheduler, &scheduler::Scheduler::recovered);
    engine.scheduler.start(); // without trying to lead
    pass(engine, 11'000);
    QVERIFY(!engine.scheduler.health()[u"no_leader"].toBool());
    pass(engine, 2'000);
    QVERIFY(engine.scheduler.health()[u"no_leader"].toBool());
    for (int i = 0; i < 6; ++i)
        pass(engine, 10'000); // 12 s after the tick
    QVERIFY(overdue.isEmpty());
    for (int i = 0; i < 3; ++i)
        pass(engine, 10'000); // noticed at latest one look after 30 s
    QCOMPARE(overdue.size(), 1);
    QCOMPARE(overdue[0][1].toLongLong(), start + minute);
    QCOMPARE(named(engine, u"overdue"_s), (QJsonArray{u"s"_s}));
    QCOMPARE(engine.find(u"s"_s)[u"overdue_since"].toInteger(), start + minute);
    pass(engine, 10'000);
    QCOMPARE(overdue.size(), 1); // said once

    engine.lease.start();
    QTRY_COMPARE(recovered.size(), 1);
    QVERIFY(named(engine, u"overdue"_s).isEmpty());
    QVERIFY(!engine.scheduler.health()[u"no_leader"].toBool());
}

void TestSchedulerWatch::theLeaderLacksThePlugin()
{
    SchedulerSide leader(m_redis, *m_clock);
    SchedulerSide other(m_redis, *m_clock);
    QVERIFY(leader.scheduler.declare(everyMinute(u"shared"_s)).ok());
    QVERIFY(other.scheduler.declare(everyMinute(u"shared"_s)).ok());
    QVERIFY(other.scheduler.declare(everyMinute(u"only-here"_s), u"digest"_s).ok());
    lead(leader);
    other.run();
    QCoro::waitFor(other.scheduler.watch());
    QSignalSpy overdue(&other.scheduler, &scheduler::Scheduler::overdue);
    for (int i = 0; i < 11; ++i) {
        pass(leader, 10'000);
        leader.scheduler.wake();
        QTest::qWait(10);
        QCoro::waitFor(other.scheduler.watch());
    }
    QCOMPARE(overdue.size(), 1);
    QCOMPARE(overdue[0][0].toString(), u"only-here"_s); // and not the one that the leader fires
    QVERIFY(!other.scheduler.health()[u"no_leader"].toBool());
}

void TestSchedulerWatch::aLeaderThatCannotFireSaysSo()
{
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute(u"s"_s)).ok());
    lead(engine);
    m_redis.command({"SET", QueueRedis::key("schedule:s"), "not a hash"});
    m_clock->advance(minute);
    engine.scheduler.wake();
    QTest::qWait(50);
    m_clock->advance(31'000);
    engine.scheduler.wake();
    QCOMPARE(named(engine, u"overdue"_s), (QJsonArray{u"s"_s}));
}

/// Each tick is written and only its confirmation is missing: the next one must come, and none is overdue.
void TestSchedulerWatch::aLeaderThatAFullRedisKeepsFromFiringSaysSo()
{
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute(u"s"_s)).ok());
    QSignalSpy failed(&engine.scheduler, &scheduler::Scheduler::leadFailed);
    m_redis.command({"CONFIG", "SET", "maxmemory", "1mb"}); // a lease is still had, a fence is not
    engine.run();
    QTRY_COMPARE(failed.size(), 1);
    QCOMPARE(failed[0][0].value<Status>().code, u"redis_unavailable"_s);
    QVERIFY(engine.scheduler.health()[u"leader"].toBool());
    QVERIFY(!engine.scheduler.health()[u"ready"].toBool());
    QTest::qWait(1'200); // it tries once more, and does not say it again
    QCOMPARE(failed.size(), 1);
    m_redis.command({"CONFIG", "SET", "maxmemory", "0"});
    QTRY_VERIFY(engine.scheduler.health()[u"ready"].toBool());
}

void TestSchedulerWatch::firesWithoutAReplicaThatConfirms()
{
    SchedulerSide engine(m_redis, *m_clock, 60'000, true);
    QVERIFY(engine.scheduler.declare(everyMinute(u"s"_s)).ok());
    QSignalSpy failed(&engine.scheduler, &scheduler::Scheduler::fireFailed);
    QSignalSpy overdue(&engine.scheduler, &scheduler::Scheduler::overdue);
    lead(engine);
    for (int tick = 1; tick <= 2; ++tick) {
        pass(engine, minute);
        engine.scheduler.wake();
        QTRY_COMPARE(failed.size(), tick);
        QCOMPARE(failed.last()[1].value<Status>().code, u"not_replicated"_s);
        QCOMPARE(m_redis.command({"HGET", QueueRedis::key("schedule:s"), "nominal"}).toInteger(),
                 start + tick * minute);
        QTest::qWait(1'200); // it tries again after a second
    }
    pass(engine, 50'000);
    QCOMPARE(overdue.size(), 0);
    QCOMPARE(failed.size(), 2);
}

void TestSchedulerWatch::orphansAreShownAndForgotten()
{
    MemoryKeeper keeper;
    {
        SchedulerSide before(m_redis, *m_clock);
        keeper.serve(before.scheduler);
        QVERIFY(before.scheduler.declare(everyMinute(u"digest"_s), u"digest-plugin"_s).ok());
        keeper.remember();
        lead(before);
        m_clock->advance(minute);
        before.scheduler.wake();
        QTRY_COMPARE(before.find(u"digest"_s)[u"last_result"].toString(), u"added"_s);
        QVERIFY(change(before, u"digest"_s, {{u"misfire"_s, u"skip"_s}}));
        QCOMPARE(QCoro::waitFor(before.scheduler.forget(u"digest"_s, u"tests"_s)).error().code,
                 u"schedule_declared"_s);
        QCoro::waitFor(before.lease.stop());
    }
    SchedulerSide without(m_redis, *m_clock);
    keeper.serve(without.scheduler);
    lead(without);
    m_clock->advance(10 * minute);
    without.scheduler.wake();
    const QJsonObject orphan = without.find(u"digest"_s);
    QVERIFY(orphan[u"orphaned"].toBool());
    QVERIFY(orphan[u"orphaned_text"].toString().contains(u"digest-plugin"_s));
    QCOMPARE(orphan[u"next_at"].toInteger(), 0);
    QCOMPARE(orphan[u"last_nominal_at"].toInteger(), start + minute);
    QCOMPARE(orphan[u"misfire"].toString(), u"skip"_s);
    QCOMPARE(named(without, u"orphaned"_s), (QJsonArray{u"digest"_s}));
    QVERIFY(named(without, u"overdue"_s).isEmpty());
    QCOMPARE(without.scheduler.next(u"digest"_s, 3)->size(), 0);
    QVERIFY(QCoro::waitFor(without.scheduler.runs(u"digest"_s, 10, {})));
    QCOMPARE(QCoro::waitFor(without.scheduler.run(u"digest"_s)).error().code, u"schedule_orphaned"_s);
    QVERIFY(change(without, u"digest"_s, {{u"misfire_cap"_s, 5}})); // kept for when it comes back

    {
        SchedulerSide again(m_redis, *m_clock);
        keeper.serve(again.scheduler);
        QVERIFY(again.find(u"digest"_s)[u"orphaned"].toBool());
        QVERIFY(again.scheduler.declare(everyMinute(u"digest"_s), u"digest-plugin"_s).ok());
        QVERIFY(!again.find(u"digest"_s)[u"orphaned"].toBool());
        QCOMPARE(again.find(u"digest"_s)[u"misfire_cap"].toInt(), 5);
    }
    QVERIFY(QCoro::waitFor(without.scheduler.forget(u"digest"_s, u"tests"_s)));
    QVERIFY(without.find(u"digest"_s).isEmpty());
    QCOMPARE(m_redis.integer({"EXISTS", "tk:{q:second}:schedule:digest", "tk:{q:second}:runs:digest"}), 0);
    QVERIFY(keeper.changes.isEmpty() && keeper.declarations.isEmpty());
    QCOMPARE(QCoro::waitFor(without.scheduler.forget(u"digest"_s, u"tests"_s)).error().code, u"not_found"_s);
}

void TestSchedulerWatch::anOrphanThatAnotherEngineFiresIsNone()
{
    MemoryKeeper keeper;
    SchedulerSide runs(m_redis, *m_clock);
    QVERIFY(runs.scheduler.declare(everyMinute(u"digest"_s), u"digest-plugin"_s).ok());
    keeper.serve(runs.scheduler);
    keeper.remember();
    lead(runs);
    SchedulerSide lacks(m_redis, *m_clock);
    keeper.serve(lacks.scheduler);
    QVERIFY(lacks.find(u"digest"_s)[u"orphaned"].toBool()); // as far as it knows
    m_clock->advance(minute);
    runs.scheduler.wake();
    QTRY_VERIFY(!lacks.find(u"digest"_s)[u"orphaned"].toBool());
    QVERIFY(lacks.find(u"digest"_s)[u"orphaned_text"].toString().contains(u"another engine fires it"_s));
    QCOMPARE(QCoro::waitFor(lacks.scheduler.forget(u"digest"_s, u"tests"_s)).error().code,
             u"schedule_declared"_s);
    m_clock->advance(5 * minute); // that engine is gone
    QVERIFY(lacks.find(u"digest"_s)[u"orphaned"].toBool());
}

void TestSchedulerWatch::aFailedPluginsScheduleDoesNotFire()
{
    MemoryKeeper keeper;
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute(u"s"_s), u"broken"_s).ok());
    QVERIFY(engine.scheduler.declare(everyMinute(u"t"_s), u"sound"_s).ok());
    keeper.declarations = engine.scheduler.declarations(); // of an earlier, better start
    engine.scheduler.withdraw(u"broken"_s);
    keeper.serve(engine.scheduler);
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    m_clock->advance(minute);
    engine.scheduler.wake();
    QTRY_COMPARE(fired.size(), 1);
    QTest::qWait(30);
    QCOMPARE(fired.size(), 1);
    QCOMPARE(fired[0][0].toString(), u"t"_s);
    QVERIFY(engine.find(u"s"_s)[u"orphaned"].toBool());
}

void TestSchedulerWatch::aPauseHoldsWhoeverLeads()
{
    MemoryKeeper keeper;
    const auto first = std::make_unique<SchedulerSide>(m_redis, *m_clock);
    SchedulerSide second(m_redis, *m_clock);
    for (SchedulerSide *each : {first.get(), &second}) {
        QVERIFY(each->scheduler.declare(everyMinute(u"s"_s)).ok());
        keeper.serve(each->scheduler);
    }
    lead(*first);
    m_clock->advance(minute);
    first->scheduler.wake();
    QTRY_COMPARE(waiting("test"), 1);
    QVERIFY(change(second, u"s"_s, {{u"paused"_s, true}})); // in the engine that does not lead
    QVERIFY(first->find(u"s"_s)[u"paused"].toBool());
    for (const auto &job : m_redis.take(10))
        m_redis.call("ack", {job.id, job.owner});
    QCoro::waitFor(first->lease.stop());
    first->scheduler.stop();
    m_clock->advance(10 * minute);
    QVERIFY(change(second, u"s"_s, {{u"paused"_s, false}}));
    lead(second);
    QTest::qWait(50);
    QCOMPARE(waiting("test"), 0); // what fell into the pause was not missed, also by the next leader
    m_clock->advance(minute);
    second.scheduler.wake();
    QTRY_COMPARE(waiting("test"), 1);
}

void TestSchedulerWatch::twoOperatorsAtOnce()
{
    MemoryKeeper keeper;
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute(u"s"_s)).ok());
    keeper.serve(engine.scheduler);
    QSignalSpy changed(&engine.scheduler, &scheduler::Scheduler::changed);
    keeper.othersToCome = 2;
    QVERIFY(change(engine, u"s"_s, {{u"paused"_s, true}}));
    const QJsonObject schedule = engine.find(u"s"_s);
    QVERIFY(schedule[u"paused"].toBool());
    QCOMPARE(schedule[u"misfire_cap"].toInt(), 100); // the other's change stands too
    keeper.othersToCome = 3;
    QCOMPARE(change(engine, u"s"_s, {{u"paused"_s, false}}).error().code, u"conflict"_s);
    QVERIFY(engine.find(u"s"_s)[u"paused"].toBool());
    // All of a patch or nothing of it.
    const QJsonObject before = engine.find(u"s"_s);
    QCOMPARE(change(engine, u"s"_s, {{u"jitter_ms"_s, 1'000}, {u"zone"_s, u"Mars/Olympus"_s}}).error().code,
             u"unknown_zone"_s);
    QCOMPARE(engine.find(u"s"_s), before);
}

void TestSchedulerWatch::runsByHandAreRecorded()
{
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute(u"s"_s)).ok());
    const auto enqueued = QCoro::waitFor(engine.scheduler.run(u"s"_s));
    QVERIFY(enqueued);
    QVERIFY(!(*enqueued)[u"text"].toString().isEmpty());
    const QByteArray job = m_redis.startOne();
    const auto meanwhile = QCoro::waitFor(engine.scheduler.run(u"s"_s));
    QCOMPARE((*meanwhile)[u"result"].toString(), u"running"_s);
    QVERIFY((*meanwhile)[u"text"].toString().contains(u"running already"_s));
    m_redis.call("ack", {job, QueueRedis::ownerOf(job)});
    const auto runs = QCoro::waitFor(engine.scheduler.runs(u"s"_s, 10, {}));
    QVERIFY(runs);
    const QJsonArray list = (*runs)[u"runs"].toArray();
    QCOMPARE(list.size(), 2);
    QCOMPARE(list[1][u"result"].toString(), u"running"_s); // the second wish, which made no job
    QCOMPARE(list[0][u"trigger"].toString(), u"manual"_s);
    QCOMPARE(list[0][u"outcome"].toString(), u"done"_s);
    const QJsonObject schedule = engine.find(u"s"_s);
    QCOMPARE(schedule[u"last_run"].toObject(), list[0].toObject());
    QVERIFY(!schedule[u"running"].toBool());
    QCOMPARE(QCoro::waitFor(engine.scheduler.runs(u"nobody"_s, 10, {})).error().code, u"not_found"_s);
}

QTEST_GUILESS_MAIN(TestSchedulerWatch)
#include "tst_scheduler_watch.moc"
