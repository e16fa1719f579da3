// SPDX-License-Identifier: Apache-2.0
// The server's clock is stepped: nothing stalls, nothing is minted.
#include "quotaredis.h"

#include <QtTest/QTest>

using namespace tidekeeper::test;

class TestQuotaClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void anOldTimeMintsNothing();
    void aStepBackDoesNotStall_data();
    void aStepBackDoesNotStall();
    void aStepBackIsWrittenOnceAlsoByARefusal();
    void anIdleAccountFollowsItsProjectsTime();
    void aLostProjectHashDoesNotStallAnAccount();
    void aStepForwardAddsOneCapacity();
    void deadlinesAreInServerTime();

private:
    static constexpr qint64 t0 = QuotaRedis::startUs;
    static constexpr qint64 second = QuotaRedis::secondUs;
    QuotaRedis m_redis;
};

// spring-cloud/spring-cloud-gateway#2412, zeromicro/go-zero#4072: calls at 10, 10, 9, 10 s refilled twice.
void TestQuotaClock::anOldTimeMintsNothing()
{
    m_redis.setLimits({.accountCapacity = 5, .accountRefill = 300});
    int granted = 0;
    for (const qint64 at : {10, 10, 9, 10}) {
        for (int i = 0; i < 10; ++i)
            granted += m_redis.at(t0 + at * second, QuotaAsk(1)).granted;
    }
    QVERIFY2(granted <= 5 + 5, QByteArray::number(granted));
}

void TestQuotaClock::aStepBackDoesNotStall_data()
{
    QTest::addColumn<qint64>("step");
    QTest::newRow("1 us") << qint64(1);
    QTest::newRow("a minute") << 60 * second;
    QTest::newRow("an hour") << 3'600 * second;
    QTest::newRow("to 1970") << t0 - 1;
}

// sourcegraph/sourcegraph-public-snapshot#56826: a negative elapsed time took tokens away.
void TestQuotaClock::aStepBackDoesNotStall()
{
    QFETCH(qint64, step);

    m_redis.setLimits({.accountCapacity = 10, .accountRefill = 60});
    m_redis.at(t0, QuotaAsk(10));
    const qint64 after = t0 - step;
    QuotaDecision decision = m_redis.at(after, QuotaAsk(1));
    QVERIFY(!decision.granted);
    QCOMPARE(decision.accountLevel, 0);
    QCOMPARE(decision.retryAfterMs, 1'000);
    QCOMPARE(decision.nowUs, after);
    // One unit a second, as before the step.
    for (int i = 1; i <= 5; ++i) {
        QVERIFY(!m_redis.at(after + i * second - 1, QuotaAsk(1)).granted);
        QVERIFY(m_redis.at(after + i * second, QuotaAsk(1)).granted);
    }
    QCOMPARE(m_redis.hash(QuotaRedis::projectKey())["clock_offset_us"], QByteArray::number(step));
}

void TestQuotaClock::aStepBackIsWrittenOnceAlsoByARefusal()
{
    m_redis.setLimits({.accountCapacity = 10, .accountRefill = 60});
    m_redis.at(t0, QuotaAsk(10));
    for (int i = 0; i < 3; ++i)
        QVERIFY(!m_redis.at(t0 - 60 * second, QuotaAsk(1)).granted);
    QCOMPARE(m_redis.hash(QuotaRedis::projectKey())["clock_steps"], QByteArray("1"));
    QVERIFY(!m_redis.at(t0 - 90 * second, QuotaAsk(1)).granted);
    QCOMPARE(m_redis.hash(QuotaRedis::projectKey())["clock_steps"], QByteArray("2"));
    QCOMPARE(m_redis.hash(QuotaRedis::projectKey())["clock_offset_us"], QByteArray::number(90 * second));
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::projectKey()}) > 3'590'000);
}

void TestQuotaClock::anIdleAccountFollowsItsProjectsTime()
{
    m_redis.setLimits({.accountCapacity = 100, .accountRefill = 60});
    m_redis.at(t0, QuotaAsk(100));
    m_redis.at(t0 + 10 * second, QuotaAsk(1).of("bob"));
    // Bob meets the step; Alice, who slept, has refilled for the 10 s before it and the 5 s after it.
    m_redis.at(t0 - 3'600 * second, QuotaAsk(1).of("bob"));
    QCOMPARE(m_redis.at(t0 - 3'595 * second, QuotaAsk(qint64(0))).accountLevel, 15'000);
}

void TestQuotaClock::aLostProjectHashDoesNotStallAnAccount()
{
    m_redis.setLimits({.accountCapacity = 100, .accountRefill = 60});
    m_redis.at(t0, QuotaAsk(100));
    m_redis.command({"DEL", QuotaRedis::projectKey()});
    m_redis.at(t0 - 60 * second, QuotaAsk(1));
    QCOMPARE(m_redis.at(t0 - 50 * second, QuotaAsk(qint64(0))).accountLevel, 10'000);
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::projectKey()}) > 0);
}

void TestQuotaClock::aStepForwardAddsOneCapacity()
{
    m_redis.setLimits({.accountCapacity = 10, .accountRefill = 60});
    m_redis.at(t0, QuotaAsk(10));
    m_redis.at(t0, QuotaAsk(10).waiting(30'000)); // in debt
    int granted = 0;
    for (int i = 0; i < 50; ++i)
        granted += m_redis.at(t0 + 3'600 * second, QuotaAsk(1)).granted;
    QCOMPARE(granted, 10);
    // The clock is put right again: time goes on from there.
    QVERIFY(!m_redis.at(t0 + second, QuotaAsk(1)).granted);
    QVERIFY(m_redis.at(t0 + 2 * second, QuotaAsk(1)).granted);
}

void TestQuotaClock::deadlinesAreInServerTime()
{
    m_redis.at(t0, QuotaAsk(1));
    const qint64 after = t0 - 3'600 * second;
    QVERIFY(m_redis.at(after, QuotaAsk(1).before(after + second)).granted);
    QCOMPARE(m_redis.at(after + 2 * second, QuotaAsk(1).before(after + second)).refusedBy,
             QByteArray("late"));
}

QTEST_GUILESS_MAIN(TestQuotaClock)
#include "tst_quota_clock.moc"
