// SPDX-License-Identifier: Apache-2.0
#include "queueredis.h"
#include "scheduler/redisclock.h"

#include <QtCore/QDateTime>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::scheduler;
using namespace tidekeeper::test;

class TestRedisClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void startsWithTheMachinesClock();
    void followsRedis();
    void doesNotTremble();
    void asksSoonAgainUntilAnswered();
};

void TestRedisClock::startsWithTheMachinesClock()
{
    redis::RedisConnection nowhere({.path = QStringLiteral("/nowhere")});
    RedisClock clock(nowhere);
    clock.start();
    QVERIFY(!clock.isSynchronised());
    QVERIFY(std::abs(clock.nowMs() - QDateTime::currentMSecsSinceEpoch()) < 100);
    const qint64 before = clock.monotonicMs();
    QTest::qWait(50);
    QVERIFY(clock.monotonicMs() - before >= 49);
}

void TestRedisClock::followsRedis()
{
    QueueRedis redis;
    QVERIFY(redis.start());
    RedisClock clock(redis.connection());
    clock.start();
    QTRY_VERIFY(clock.isSynchronised());
    const auto time = redis.command({"TIME"});
    const qint64 serverMs = time.items[0].toInteger() * 1'000 + time.items[1].toInteger() / 1'000;
    QVERIFY(std::abs(clock.nowMs() - serverMs) < 50);
    QVERIFY(std::abs(clock.skewMs()) < 50);
}

void TestRedisClock::doesNotTremble()
{
    QueueRedis redis;
    QVERIFY(redis.start());
    RedisClock clock(redis.connection());
    QSignalSpy stepped(&clock, &RedisClock::stepped);
    qint64 last = 0;
    for (int i = 0; i < 100; ++i) {
        clock.start(); // asks again
        QTest::qWait(1);
        const qint64 now = clock.nowMs();
        QVERIFY(now >= last - 1);
        last = now;
    }
    QCOMPARE(stepped.size(), 0);
}

void TestRedisClock::asksSoonAgainUntilAnswered()
{
    QueueRedis redis;
    QVERIFY(redis.start());
    redis::RedisConnection connection(redis.endpoint()); // waits for an answer for 100 ms
    connection.open();
    QVERIFY(QCoro::waitFor(connection.waitReady(5'000)));
    RedisClock clock(connection);
    QSignalSpy synchronised(&clock, &RedisClock::synchronised);
    redis.server().pause();
    clock.start();
    QTest::qWait(300); // the first answer is lost
    QVERIFY(!clock.isSynchronised());
    redis.server().resume();
    QTRY_COMPARE_WITH_TIMEOUT(synchronised.size(), 1, 3'000);
    QVERIFY(clock.isSynchronised());
    QTest::qWait(700);
    QCOMPARE(synchronised.size(), 1);
}

QTEST_GUILESS_MAIN(TestRedisClock)
#include "tst_redisclock.moc"
