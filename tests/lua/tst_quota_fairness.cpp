// SPDX-License-Identifier: Apache-2.0
// Bulk takes what is left over, for hours, and never makes realtime wait.
#include "quotaredis.h"

#include <QtCore/QRandomGenerator>
#include <QtTest/QTest>

#include <queue>

using namespace tidekeeper::test;

namespace {

/// A consumer that asks for `cost`, sends when it may, and goes on at once.
struct Consumer {
    qint64 wakesUs;
    QByteArray account;
    qint64 cost;
    qint64 maxWaitMs;
    bool operator<(const Consumer &other) const { return wakesUs > other.wakesUs; }
};

} // namespace

class TestQuotaFairness : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init();

    void bulkLeavesRealtimeAloneInOneAccount();
    void bulkLeavesRealtimeAloneInTheProject();
    void whoBooksIsServedInOrder();

private:
    static constexpr qint64 t0 = QuotaRedis::startUs;
    static constexpr qint64 second = QuotaRedis::secondUs;

    /// Lets the bulk consumers run until then; the units that they got.
    qint64 runBulkUntil(qint64 untilUs);

    QuotaRedis m_redis;
    std::priority_queue<Consumer> m_bulk;
};

void TestQuotaFairness::init()
{
    m_redis.restart();
    m_bulk = {};
}

qint64 TestQuotaFairness::runBulkUntil(qint64 untilUs)
{
    qint64 units = 0;
    while (m_bulk.top().wakesUs <= untilUs) {
        Consumer consumer = m_bulk.top();
        m_bulk.pop();
        const QuotaDecision decision =
            m_redis.at(consumer.wakesUs,
                       QuotaAsk(consumer.cost).bulk().of(consumer.account).waiting(consumer.maxWaitMs));
        units += decision.granted ? consumer.cost : 0;
        consumer.wakesUs +=
            std::max(qint64(1'000), (decision.granted ? decision.waitMs : decision.retryAfterMs) * 1000);
        m_bulk.push(consumer);
    }
    return units;
}

// In a simulation without the cut of bulk's wait its bookings ate the reserve and realtime starved for ever.
void TestQuotaFairness::bulkLeavesRealtimeAloneInOneAccount()
{
    for (int i = 0; i < 8; ++i)
        m_bulk.push({t0 + i * 7'000, "alice", 40, 30'000});
    qint64 bulk = runBulkUntil(t0 + 5 * second);
    qint64 realtime = 0, nowUs = t0 + 5 * second;
    constexpr int bursts = 200;
    for (int burst = 0; burst < bursts; ++burst) {
        // Half of the reserve at once, every 1.5 s: 3,600 units a minute, below the refill.
        for (int call = 0; call < 9; ++call) {
            const QuotaDecision decision = m_redis.at(nowUs, QuotaAsk(10).waiting(1'000));
            QVERIFY(decision.granted);
            QCOMPARE(decision.waitMs, 0);
            realtime += 10;
        }
        nowUs += 3 * second / 2;
        bulk += runBulkUntil(nowUs);
    }
    // Nothing is wasted: together they use what is refilled.
    const double minutes = double(nowUs - t0) / double(60 * second);
    QVERIFY2(double(bulk + realtime) > 0.97 * (5'450 * minutes), QByteArray::number(bulk + realtime));
    QVERIFY2(bulk > 1'000 * qint64(minutes), QByteArray::number(bulk));
}

// 300 mailboxes in first sync want ten times what the project has.
void TestQuotaFairness::bulkLeavesRealtimeAloneInTheProject()
{
    m_redis.setLimits({.projectCapacity = 7'200, .projectRefill = 109'000});
    for (int mailbox = 0; mailbox < 300; ++mailbox)
        m_bulk.push({t0 + mailbox * 1'000, QByteArray::number(mailbox), 40, 30'000});
    qint64 bulk = runBulkUntil(t0 + 4 * second);
    qint64 realtime = 0, nowUs = t0 + 4 * second;
    for (int burst = 0; burst < 20; ++burst) {
        // 18 mailboxes of their own each fetch a thread: half of the project's reserve, far below its refill.
        for (int call = 0; call < 18; ++call) {
            const QuotaDecision decision =
                m_redis.at(nowUs, QuotaAsk(40).of("user" + QByteArray::number(call)));
            QVERIFY2(decision.granted, decision.refusedBy);
            QCOMPARE(decision.waitMs, 0);
            realtime += 40;
        }
        nowUs += second / 2;
        bulk += runBulkUntil(nowUs);
    }
    const double minutes = double(nowUs - t0) / double(60 * second);
    QVERIFY2(double(bulk + realtime) > 0.97 * (109'000 * minutes), QByteArray::number(bulk + realtime));
}

void TestQuotaFairness::whoBooksIsServedInOrder()
{
    m_redis.at(t0, QuotaAsk(360));
    qint64 lastUs = 0;
    int booked = 0;
    for (int i = 0; i < 200; ++i) {
        const qint64 nowUs = t0 + i * 10'000;
        const QuotaDecision decision = m_redis.at(nowUs, QuotaAsk(1 + i % 20).waiting(10'000));
        if (!decision.granted)
            continue;
        const qint64 sendsUs = nowUs + decision.waitMs * 1000;
        QVERIFY(sendsUs + 1'000 >= lastUs); // waits are whole milliseconds
        lastUs = sendsUs;
        ++booked;
    }
    QVERIFY2(booked > 50, QByteArray::number(booked));
}

QTEST_GUILESS_MAIN(TestQuotaFairness)
#include "tst_quota_fairness.moc"
