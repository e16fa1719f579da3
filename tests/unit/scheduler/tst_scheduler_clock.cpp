// SPDX-License-Identifier: Apache-2.0
// Far ticks, steps of the clock, suspend, and a Redis that has lost where the schedules stood.
#include "schedulerside.h"
#include "support/fakeclock.h"

#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

constexpr qint64 hour = 60 * minute;
constexpr qint64 day = 24 * hour;

} // namespace

class TestSchedulerClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init()
    {
        m_redis.clear();
        m_clock = std::make_unique<FakeClock>(start + 1);
    }

    void steps_data();
    void steps();
    void aDailyTickIsNotRunTwiceWhenTheClockStepsBack();
    void suspend();
    void farTicksDoNotSpin_data();
    void farTicksDoNotSpin();
    void jitterDelaysTheSameEachTime();
    void anEmptyRedis_data();
    void anEmptyRedis();

private:
    void lead(SchedulerSide &engine)
    {
        engine.run();
        QTRY_VERIFY(engine.scheduler.health()[u"ready"].toBool());
    }
    /// Wakes the scheduler and lets what is due be fired.
    static void settle(SchedulerSide &engine)
    {
        engine.scheduler.wake();
        for (int i = 0; i < 12; ++i) // each is answered after all that the scheduler has asked before
            QCoro::waitFor(engine.jobs.counts());
    }

    QueueRedis m_redis;
    std::unique_ptr<FakeClock> m_clock;
};

void TestSchedulerClock::steps_data()
{
    QTest::addColumn<qint64>("byMs");
    QTest::addColumn<int>("firesAtOnce");
    QTest::newRow("an hour ahead") << hour << 1;
    QTest::newRow("a day ahead") << day << 1;
    QTest::newRow("thirty years ahead") << 30LL * 366 * day << 1; // airbus/sen#198: not walked tick by tick
    QTest::newRow("an hour back") << -hour << 0;
    QTest::newRow("a day back") << -day << 0;
    QTest::newRow("thirty years back") << -30LL * 366 * day << 0;
}

void TestSchedulerClock::steps()
{
    // quartznet/quartznet#1490: nothing stalls for the size of the step. Metaswitch/chronos#85: nor fires at once.
    QFETCH(qint64, byMs);
    QFETCH(int, firesAtOnce);
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute({{u"misfire_cap"_s, 5}})).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    m_clock->advance(minute);
    settle(engine);
    QCOMPARE(fired.size(), 1);

    m_clock->step(byMs);
    QElapsedTimer timer;
    timer.start();
    engine.scheduler.wake();
    QVERIFY(timer.elapsed() < 100);
    settle(engine);
    QCOMPARE(fired.size(), 1 + firesAtOnce);
    for (int i = 1; i <= 3; ++i) { // and the rhythm goes on by the new time
        m_clock->advance(minute);
        settle(engine);
        QCOMPARE(fired.size(), 1 + firesAtOnce + i);
        QCOMPARE(fired.last().at(1).toLongLong(), start + minute + byMs + i * minute);
    }

    m_clock->step(-byMs); // the clock is put right again
    settle(engine);
    const qsizetype before = fired.size();
    m_clock->advance(minute);
    settle(engine);
    QCOMPARE(fired.size(), before + 1);
    QCOMPARE(fired.last().at(1).toLongLong(), start + 5 * minute);
}

void TestSchedulerClock::aDailyTickIsNotRunTwiceWhenTheClockStepsBack()
{
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute({{u"interval_ms"_s, day}})).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    m_clock->advance(day);
    settle(engine);
    QCOMPARE(fired.size(), 1);
    m_clock->step(-20 * hour); // before the tick that has been fired
    settle(engine);
    m_clock->advance(20 * hour);
    settle(engine);
    QCOMPARE(fired.size(), 1);
    m_clock->advance(day);
    settle(engine);
    QCOMPARE(fired.size(), 2);
}

void TestSchedulerClock::suspend()
{
    // All clocks go on while the machine sleeps and the timer does not: the next look catches up, once.
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute()).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    QSignalSpy overdue(&engine.scheduler, &scheduler::Scheduler::overdue);
    m_clock->advance(8 * hour + 40'000);
    QTRY_COMPARE_WITH_TIMEOUT(fired.size(), 1, 7'000); // of itself, at the latest with the longest wait
    settle(engine);
    QCOMPARE(fired.size(), 1);
    QVERIFY(overdue.isEmpty());
}

void TestSchedulerClock::farTicksDoNotSpin_data()
{
    QTest::addColumn<QJsonObject>("rhythm");
    QTest::newRow("28 days") << QJsonObject{{u"interval_ms"_s, 28 * day}};
    QTest::newRow("a year") << QJsonObject{{u"interval_ms"_s, 366 * day}};
    QTest::newRow("the 29th of February") << QJsonObject{{u"cron"_s, u"0 0 29 2 *"_s}};
}

void TestSchedulerClock::farTicksDoNotSpin()
{
    // agronholm/apscheduler#371, borgbase/vorta#2547, omacom/omarchy#11136: beyond 24.8 days no busy timer and no
    // wrapped one.
    QFETCH(QJsonObject, rhythm);
    QJsonObject schedule = everyMinute();
    schedule.remove(u"interval_ms"_s);
    schedule.insert(rhythm.begin().key(), *rhythm.begin());
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(schedule).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    const qint64 looksBefore = engine.scheduler.health()[u"looks"].toInteger();
    QTest::qWait(500);
    QVERIFY(engine.scheduler.health()[u"looks"].toInteger() - looksBefore <= 2);
    QCOMPARE(fired.size(), 0);
    const qint64 due = engine.scheduler.next(u"s"_s, 1)->first();
    m_clock->advance(due - m_clock->nowMs() - 1);
    settle(engine);
    QCOMPARE(fired.size(), 0);
    m_clock->advance(1);
    settle(engine);
    QCOMPARE(fired.size(), 1);
    QCOMPARE(fired[0][1].toLongLong(), due);
}

void TestSchedulerClock::jitterDelaysTheSameEachTime()
{
    // mozilla/fxa-oauth-server#370: kept, not rolled anew, in every engine and after every restart.
    const qint64 offset = core::stableOffsetMs(u"s"_s, 30'000);
    QVERIFY(offset > 100);
    SchedulerSide engine(m_redis, *m_clock);
    QVERIFY(engine.scheduler.declare(everyMinute({{u"jitter_ms"_s, 30'000}})).ok());
    QCOMPARE(*engine.scheduler.next(u"s"_s, 3),
             (QList<qint64>{start + offset, start + minute + offset, start + 2 * minute + offset}));
    QCOMPARE(engine.find(u"s"_s)[u"next_at"].toInteger(), start + offset);
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    m_clock->advance(minute + offset - 2);
    settle(engine);
    const qsizetype before = fired.size();
    m_clock->advance(1);
    settle(engine);
    QCOMPARE(fired.size(), before + 1);
    QCOMPARE(fired.last().at(1).toLongLong(), start + minute); // the nominal time has none
}

void TestSchedulerClock::anEmptyRedis_data()
{
    QTest::addColumn<QString>("misfire");
    for (const QString &misfire : {u"coalesce"_s, u"skip"_s, u"each"_s})
        QTest::newRow(qPrintable(misfire)) << misfire;
}

void TestSchedulerClock::anEmptyRedis()
{
    // A failover to a server without data: no tick that was fired is fired again, the next one comes.
    QFETCH(QString, misfire);
    SchedulerSide engine(m_redis, *m_clock, 400);
    QVERIFY(engine.scheduler.declare(everyMinute({{u"misfire"_s, misfire}})).ok());
    lead(engine);
    QSignalSpy fired(&engine.scheduler, &scheduler::Scheduler::fired);
    for (int i = 1; i <= 3; ++i) {
        m_clock->advance(minute);
        settle(engine);
    }
    QCOMPARE(fired.size(), 3);
    m_redis.command({"FLUSHALL"});
    m_redis.command({"FUNCTION", "FLUSH"});
    settle(engine);
    QTest::qWait(500);
    QTRY_VERIFY(engine.scheduler.health()[u"ready"].toBool());
    QCOMPARE(fired.size(), 3);
    m_clock->advance(minute);
    engine.scheduler.wake();
    QTRY_COMPARE_WITH_TIMEOUT(fired.size(), 4, 5'000);
    QCOMPARE(fired.last().at(1).toLongLong(), start + 4 * minute);
    QTest::qWait(50);
    QCOMPARE(fired.size(), 4);
}

QTEST_GUILESS_MAIN(TestSchedulerClock)
#include "tst_scheduler_clock.moc"
