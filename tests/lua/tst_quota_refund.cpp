// SPDX-License-Identifier: Apache-2.0
// What was granted and never sent comes back, less what has refilled meanwhile.
#include "quotaredis.h"

#include <QtTest/QTest>

using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs;
constexpr qint64 secondUs = QuotaRedis::secondUs;

} // namespace

class TestQuotaRefund : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init()
    {
        m_redis.restart();
        // 100 units a second, and a project that is as fast as ten accounts.
        m_redis.setLimits({.accountCapacity = 1'000,
                           .accountRefill = 6'000,
                           .projectCapacity = 10'000,
                           .projectRefill = 60'000});
    }

    void givesBackWhatHasNotRefilled_data();
    void givesBackWhatHasNotRefilled();
    void onceWithinAMinute();
    void waitsForBookedOnes();
    void neverAboveTheCapacity();
    void forgetsTheKeptAnswer();
    void isBoundedAfterAStepBack();
    void raisedRefillCounts();

private:
    QuotaRedis m_redis;
};

void TestQuotaRefund::givesBackWhatHasNotRefilled_data()
{
    QTest::addColumn<qint64>("afterMs");
    QTest::addColumn<qint64>("accountBack");
    QTest::addColumn<qint64>("projectBack");
    QTest::newRow("at once") << qint64(0) << qint64(500'000) << qint64(500'000);
    QTest::newRow("a millisecond") << qint64(1) << qint64(499'900) << qint64(499'000);
    QTest::newRow("half a second") << qint64(500) << qint64(450'000) << qint64(0);
    QTest::newRow("all refilled") << qint64(5'000) << qint64(0) << qint64(0);
}

void TestQuotaRefund::givesBackWhatHasNotRefilled()
{
    QFETCH(qint64, afterMs);
    QFETCH(qint64, accountBack);
    QFETCH(qint64, projectBack);
    m_redis.at(t0, QuotaAsk(500)); // so that the buckets do not fill up meanwhile
    m_redis.at(t0, QuotaAsk(5'000).of("bob"));
    const QuotaDecision granted = m_redis.at(t0, QuotaAsk(500));
    QVERIFY(granted.granted);
    const qint64 nowUs = t0 + afterMs * 1'000;
    const QuotaDecision before = m_redis.at(nowUs, QuotaAsk(qint64(0)));
    const QuotaRefund refund = m_redis.refund(nowUs, 500, granted.nowUs);
    QVERIFY(refund.done);
    QCOMPARE(refund.accountBack, accountBack);
    QCOMPARE(refund.projectBack, projectBack);
    const QuotaDecision after = m_redis.at(nowUs, QuotaAsk(qint64(0)));
    QCOMPARE(after.accountLevel - before.accountLevel, accountBack);
    QCOMPARE(after.projectLevel - before.projectLevel, projectBack);
}

void TestQuotaRefund::onceWithinAMinute()
{
    const QuotaDecision granted = m_redis.at(t0, QuotaAsk(500));
    QVERIFY(m_redis.refund(t0 + 1, 500, granted.nowUs).done);
    const QuotaRefund again = m_redis.refund(t0 + 2, 500, granted.nowUs);
    QVERIFY(!again.done);
    QCOMPARE(again.reason, QByteArray("already"));
    QCOMPARE(again.accountBack, 0);
    const qint64 ttl = m_redis.integer({"PTTL", QuotaRedis::refundKey("alice", granted.nowUs)});
    QVERIFY(ttl > 55'000 && ttl <= 60'000);

    const QuotaDecision other = m_redis.at(t0 + 3, QuotaAsk(1));
    QCOMPARE(m_redis.refund(t0 + 3 + 60 * secondUs + 1, 1, other.nowUs).reason, QByteArray("late"));
    QCOMPARE(m_redis.refund(t0, 1, t0 + secondUs).reason, QByteArray("late")); // a grant that is yet to come
}

void TestQuotaRefund::waitsForBookedOnes()
{
    // 1,000 taken, 2,000 booked for 20 s: what is given back now is sent by nobody before those have gone.
    const QuotaDecision first = m_redis.at(t0, QuotaAsk(1'000));
    for (int i = 0; i < 2; ++i)
        QVERIFY(m_redis.at(t0, QuotaAsk(1'000).waiting(30'000)).granted);
    QCOMPARE(m_redis.refund(t0 + secondUs, 1'000, first.nowUs).accountBack, 0);

    m_redis.restart();
    m_redis.setLimits({.accountCapacity = 1'000, .accountRefill = 6'000});
    const QuotaDecision large = m_redis.at(t0, QuotaAsk(1'000));
    QCOMPARE(m_redis.at(t0, QuotaAsk(300).waiting(30'000)).waitMs, 3'000);
    QCOMPARE(m_redis.refund(t0 + secondUs, 1'000, large.nowUs).accountBack, 700'000);
}

void TestQuotaRefund::neverAboveTheCapacity()
{
    const QuotaDecision granted = m_redis.at(t0, QuotaAsk(500));
    m_redis.setLimits({.accountCapacity = 600, .accountRefill = 1, .keyTtlMs = 900'000'000}); // 500 are left
    QCOMPARE(m_redis.refund(t0, 500, granted.nowUs).accountBack, 100'000);
    QCOMPARE(m_redis.at(t0, QuotaAsk(qint64(0))).accountLevel, 600'000);
}

void TestQuotaRefund::forgetsTheKeptAnswer()
{
    const QuotaDecision first = m_redis.at(t0, QuotaAsk(500).withId("x"));
    const tidekeeper::redis::Value done =
        m_redis.callAt(t0 + 1, "tidekeeper_refund",
                       {QuotaRedis::accountKey(), QuotaRedis::projectKey(), QuotaRedis::policyKey(),
                        QuotaRedis::refundKey("alice", first.nowUs), QuotaRedis::idKey("alice", "x")},
                       {"500", QByteArray::number(first.nowUs)});
    QCOMPARE(done.items[0].integer, 1);
    const QuotaDecision again = m_redis.at(t0 + 2, QuotaAsk(500).withId("x"));
    QVERIFY(again.granted);
    QCOMPARE(again.nowUs, t0 + 2); // charged anew
}

/// Nobody can tell on which side of a step back a grant was made: the side that gives back less is taken.
void TestQuotaRefund::isBoundedAfterAStepBack()
{
    m_redis.at(t0, QuotaAsk(900));
    const QuotaDecision before = m_redis.at(t0, QuotaAsk(100));
    const qint64 steppedUs = t0 - secondUs / 2;
    m_redis.at(steppedUs, QuotaAsk(qint64(0))); // half a second back; time goes on all the same
    const QuotaRefund refund = m_redis.refund(steppedUs + secondUs / 4, 100, before.nowUs);
    QVERIFY(refund.done);
    QCOMPARE(refund.accountBack, 75'000);
    // Long after the step a grant is dated as usual.
    const QuotaDecision later = m_redis.at(steppedUs + 180 * secondUs, QuotaAsk(100));
    QCOMPARE(m_redis.refund(steppedUs + 180 * secondUs, 100, later.nowUs).accountBack, 100'000);
}

void TestQuotaRefund::raisedRefillCounts()
{
    const qint64 nowUs = m_redis.now(QuotaAsk(qint64(0))).nowUs;
    const QuotaDecision granted = m_redis.at(nowUs, QuotaAsk(500));
    const qint64 changedUs = m_redis.changeLimits({.accountCapacity = 1'000, .accountRefill = 3'000});
    const QuotaRefund refund = m_redis.refund(changedUs + 2 * secondUs, 500, granted.nowUs);
    QVERIFY(refund.done);
    QVERIFY2(refund.accountBack <= 300'000, QByteArray::number(refund.accountBack)); // by the faster of both
}

QTEST_GUILESS_MAIN(TestQuotaRefund)
#include "tst_quota_refund.moc"
