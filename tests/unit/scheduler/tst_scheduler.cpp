// SPDX-License-Identifier: Apache-2.0
#include "schedulerside.h"
#include "support/fakeclock.h"

#include <QtCore/QJsonArray>
#include <QtCore/QRandomGenerator>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

using Engine = SchedulerSide;

} // namespace

class TestScheduler : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init()
    {
        m_redis.clear();
        m_clock = std::make_unique<FakeClock>(start + 1);
    }

    void firesEachTickOnce();
    void missedTicks_data();
    void missedTicks();
    void overlapSkip();
    void pauseAndResume();
    void changeSurvivesRestart();
    void runNow();
    void oneBadScheduleStopsNoOther();
    void staleLeaderFiresNothing();
    void lostAnswerIsNotFiredAgain();
    void threeEnginesHundredTicks();

private:
    static Result<> change(Engine &engine, QString id, QJsonObject patch)
    {
        return QCoro::waitFor(engine.scheduler.change(id, patch, u"tests"_s));
    }
    /// Waits until the scheduler has read where its schedules stand.
    void lead(Engine &engine)
    {
        engine.run();
        QTRY_VERIFY(engine.scheduler.health()[u"ready"].toBool());
    }
    void tick(Engine &engine, qint64 byMs)
    {
        m_clock->advance(byMs);
        engine.scheduler.wake();
        QTest::qWait(20);
    }
    qint64 waiting() { return m_redis.integer({"XLEN", QueueRedis::key("stream:normal")}); }
    void finishJobs()
    {
        for (const auto &job : m_redis.take(100))
            m_redis.call("ack", {job.id, job.owner});
    }

    QueueRedis m_redis;
    std::unique_ptr<FakeClock> m_clock;
};

void TestScheduler::firesEachTickOnce()
{
    Engine engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute()).ok());
    QCOMPARE(engine.scheduler.declare(everyMinute()).code, u"already_declared"_s);
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    engine.scheduler.wake();
    QTest::qWait(30);
    QCOMPARE(fired.size(), 0); // a new schedule has missed nothing
    for (int i = 1; i <= 5; ++i) {
        tick(engine, minute);
        QTRY_COMPARE(fired.size(), i);
        QCOMPARE(fired.last().at(1).toLongLong(), start + i * minute);
        engine.scheduler.wake();
        const auto taken = m_redis.takeSoon(5);
        QCOMPARE(taken.size(), 1);
        QVERIFY(m_redis.field(taken[0].id, "payload").contains(QByteArray::number(start + i * minute)));
        m_redis.call("ack", {taken[0].id, taken[0].owner});
    }
}

void TestScheduler::missedTicks_data()
{
    QTest::addColumn<QString>("misfire");
    QTest::addColumn<int>("fires");
    QTest::newRow("coalesce") << u"coalesce"_s << 1;
    QTest::newRow("skip") << u"skip"_s << 0;
    QTest::newRow("each") << u"each"_s << 4; // the cap
}

void TestScheduler::missedTicks()
{
    QFETCH(QString, misfire);
    QFETCH(int, fires);
    const QJsonObject schedule = everyMinute({{u"misfire"_s, misfire}, {u"misfire_cap"_s, 4}});
    {
        Engine engine(m_redis, *m_clock);
        QVERIFY(engine.scheduler.declare(schedule).ok());
        lead(engine);
        QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
        tick(engine, minute);
        QTRY_COMPARE(fired.size(), 1);
        QCoro::waitFor(engine.lease.stop());
    }
    m_clock->advance(10 * minute + 40'000); // nobody was there
    Engine engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(schedule).ok());
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    lead(engine);
    QTest::qWait(100);
    QCOMPARE(fired.size(), fires);
    tick(engine, 20'000); // the rhythm goes on
    QTRY_COMPARE(fired.size(), fires + 1);
    QCOMPARE(fired.last().at(1).toLongLong(), start + 12 * minute);
}

void TestScheduler::overlapSkip()
{
    // huginn/huginn#3715: stopped workers do not pile up copies.
    Engine engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute()).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    for (int i = 1; i <= 10; ++i) {
        tick(engine, minute);
        QTRY_COMPARE(fired.size(), i);
    }
    QCOMPARE(waiting(), 1);
    QCOMPARE(fired.first().at(2).toString(), u"added"_s);
    QCOMPARE(fired.last().at(2).toString(), u"waiting"_s);
    finishJobs();
    tick(engine, minute);
    QTRY_COMPARE(fired.last().at(2).toString(), u"added"_s);
}

void TestScheduler::pauseAndResume()
{
    Engine engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute()).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    QSignalSpy changed(&engine.scheduler, &scheduler::Scheduler::changed);
    QVERIFY(change(engine, u"s"_s, {{u"paused"_s, true}}));
    QCOMPARE(changed.size(), 1);
    tick(engine, 10 * minute);
    QCOMPARE(fired.size(), 0);
    QCOMPARE((*QCoro::waitFor(engine.scheduler.find(u"s"_s)))[u"next_at"].toInteger(), 0);
    QVERIFY(change(engine, u"s"_s, {{u"paused"_s, false}}));
    QTest::qWait(50);
    QCOMPARE(fired.size(), 0); // what fell into the pause was not missed
    tick(engine, minute);
    QTRY_COMPARE(fired.size(), 1);
    QCOMPARE(change(engine, u"s"_s, {{u"cron"_s, u"0 0 30 2 *"_s}}).error().code, u"invalid_cron"_s);
    QCOMPARE(change(engine, u"nobody"_s, {}).error().code, u"not_found"_s);
}

void TestScheduler::changeSurvivesRestart()
{
    MemoryKeeper keeper;
    {
        Engine engine(m_redis, *m_clock);
        keeper.serve(engine.scheduler);
        QVERIFY(engine.scheduler.declare(everyMinute()).ok());
        QVERIFY(change(engine, u"s"_s, {{u"cron"_s, u"@daily"_s}, {u"zone"_s, u"Asia/Seoul"_s}}));
        QVERIFY(change(engine, u"s"_s, {{u"paused"_s, true}}));
    }
    Engine engine(m_redis, *m_clock);
    keeper.serve(engine.scheduler);
    QVERIFY(engine.scheduler.declare(everyMinute()).ok()); // the plugin declares what it always does
    const QJsonObject schedule = *QCoro::waitFor(engine.scheduler.find(u"s"_s));
    QCOMPARE(schedule[u"cron"].toString(), u"@daily"_s);
    QVERIFY(!schedule.contains(u"interval_ms"_s));
    QVERIFY(schedule[u"paused"].toBool());
    QVERIFY(schedule[u"changed"].toBool());
}

void TestScheduler::runNow()
{
    Engine engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute()).ok());
    const auto first = QCoro::waitFor(engine.scheduler.run(u"s"_s));
    QCOMPARE((*first)[u"result"].toString(), u"added"_s);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("stream:urgent")}), 1);
    const auto second = QCoro::waitFor(engine.scheduler.run(u"s"_s));
    QCOMPARE((*second)[u"job"], (*first)[u"job"]);
    QCOMPARE(QCoro::waitFor(engine.scheduler.run(u"nobody"_s)).error().code, u"not_found"_s);
}

void TestScheduler::oneBadScheduleStopsNoOther()
{
    Engine engine(m_redis, *m_clock);
    engine.scheduler.restore({{u"s"_s, QJsonObject{{u"cron"_s, u"no cron"_s}}}}, {});
    QVERIFY(engine.scheduler.declare(everyMinute()).ok()); // a stored change that no longer fits
    QVERIFY(!engine.scheduler.declare({{u"id"_s, u"bad"_s}, {u"cron"_s, u"61 * * * *"_s}}).ok());
    QVERIFY(engine.scheduler.declare(everyMinute({{u"id"_s, u"t"_s}})).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    m_redis.command({"SET", QueueRedis::key("schedule:s"), "not a hash"});
    QSignalSpy failed(&engine.scheduler, &scheduler::Scheduler::fireFailed);
    tick(engine, minute);
    QTRY_COMPARE(fired.size(), 1);
    QCOMPARE(fired.first().at(0).toString(), u"t"_s);
    QTRY_VERIFY(!failed.isEmpty());
}

void TestScheduler::staleLeaderFiresNothing()
{
    Engine old(m_redis, *m_clock);
    QVERIFY(old.scheduler.declare(everyMinute()).ok());
    lead(old);
    QSignalSpy fired(&old.scheduler, &scheduler::Scheduler::fired);
    // A newer leader has fenced the queue; the old one does not know yet.
    QVERIFY(QCoro::waitFor(m_redis.queue().fence(u"scheduler"_s, 2 * old.lease.term())));
    m_redis.command({"HSET", "tk:{lease:scheduler}", "owner", "another"});
    tick(old, minute);
    QTest::qWait(100);
    QCOMPARE(fired.size(), 0);
    QCOMPARE(waiting(), 0);
    QVERIFY(!old.lease.isHeld());
}

void TestScheduler::lostAnswerIsNotFiredAgain()
{
    // Redis is so late that the call has timed out when it is executed; its job is done before it is said again.
    Engine engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute()).ok());
    lead(engine);
    QSignalSpy failed(&engine.scheduler, &scheduler::Scheduler::fireFailed);
    m_redis.command({"CLIENT", "PAUSE", "2400", "ALL"});
    tick(engine, minute);
    QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 1, 3'000);
    const auto taken = m_redis.takeSoon(5);
    QCOMPARE(taken.size(), 1);
    m_redis.call("ack", {taken[0].id, taken[0].owner});
    QTest::qWait(1'500);
    QVERIFY(m_redis.take(5).isEmpty());
    tick(engine, minute);
    QCOMPARE(m_redis.takeSoon(5).size(), 1);
}

void TestScheduler::threeEnginesHundredTicks()
{
    // go-co-op/gocron#789, robfig/cron#417: exactly once per tick, whoever leads; the engines share one
    // corrected clock.
    std::vector<std::unique_ptr<Engine>> engines;
    for (int i = 0; i < 3; ++i) {
        engines.push_back(std::make_unique<Engine>(m_redis, *m_clock, 200));
        QVERIFY(engines.back()->scheduler.declare(everyMinute({{u"misfire"_s, u"each"_s}})).ok());
        engines.back()->run();
    }
    const auto leader = [&]() -> Engine * {
        for (auto &engine : engines) {
            if (engine->scheduler.health()[u"ready"].toBool())
                return engine.get();
        }
        return nullptr;
    };
    QRandomGenerator random(7);
    QMap<qint64, int> enqueued;
    for (int t = 1; t <= 100; ++t) {
        QTRY_VERIFY(leader());
        m_clock->advance(minute);
        for (auto &engine : engines)
            engine->scheduler.wake();
        if (random.bounded(5) == 0) { // the leader is cut off in the middle of it, and comes back later
            Engine *cut = leader();
            cut->connection.close();
            QTest::qWait(20);
            cut->connection.open();
        }
        QList<QueueRedis::Taken> taken;
        while (taken.isEmpty()) {
            for (auto &engine : engines)
                engine->scheduler.wake();
            QTest::qWait(5);
            taken = m_redis.take(10);
        }
        for (const auto &job : taken) {
            const QByteArray payload = m_redis.field(job.id, "payload");
            ++enqueued[payload.mid(payload.indexOf(':') + 1).chopped(1).toLongLong()];
            m_redis.call("ack", {job.id, job.owner});
        }
    }
    QTest::qWait(300);
    QVERIFY(m_redis.take(10).isEmpty());
    QCOMPARE(enqueued.size(), 100);
    for (int t = 1; t <= 100; ++t)
        QCOMPARE(enqueued.value(start + t * minute), 1);
}

QTEST_GUILESS_MAIN(TestScheduler)
#include "tst_scheduler.moc"
