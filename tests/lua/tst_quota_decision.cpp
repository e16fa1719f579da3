// SPDX-License-Identifier: Apache-2.0
// Who is granted, who is refused, by what and for how long.
#include "quotaredis.h"

#include <QtTest/QTest>

using namespace tidekeeper::test;

class TestQuotaDecision : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void aNewAccountIsFull();
    void takesFromBothOrNone();
    void namesTheScopeThatRefuses();
    void aRefusedWeightedCallTakesNothing();
    void neverGrantable_data();
    void neverGrantable();
    void badArgumentsChangeNothing_data();
    void badArgumentsChangeNothing();
    void costZeroTakesNothing();
    void bulkLeavesTheReserves_data();
    void bulkLeavesTheReserves();
    void bookingTakesNowAndSendsLater();
    void bulkBooksAtMostHalfItsReserve();
    void lateIsNotCharged();
    void anIdIsChargedOnce();
    void anIdBelongsToItsRequest();
    void refusalsOfAnIdAreNotKept();
    void shadowModeGrantsAndChargesNothing();

private:
    static constexpr qint64 t0 = QuotaRedis::startUs;
    QuotaRedis m_redis;
};

void TestQuotaDecision::aNewAccountIsFull()
{
    const QuotaDecision decision = m_redis.at(t0, QuotaAsk(40));
    QVERIFY(decision.granted);
    QCOMPARE(decision.waitMs, 0);
    QCOMPARE(decision.retryAfterMs, 0);
    QCOMPARE(decision.refusedBy, QByteArray());
    QCOMPARE(decision.accountLevel, 320'000);
    QCOMPARE(decision.accountCapacity, 360'000);
    QCOMPARE(decision.projectLevel, 71'960'000);
    QCOMPARE(decision.projectCapacity, 72'000'000);
    QCOMPARE(decision.nowUs, t0);
}

// stacklok/toolhive#4577: a throttled user must not drain the project, nor the reverse.
void TestQuotaDecision::takesFromBothOrNone()
{
    m_redis.at(t0, QuotaAsk(360));
    for (int i = 0; i < 100; ++i) {
        const QuotaDecision decision = m_redis.at(t0, QuotaAsk(10));
        QVERIFY(!decision.granted);
        QCOMPARE(decision.projectLevel, 71'640'000);
    }

    m_redis.restart();
    m_redis.setLimits({.projectCapacity = 400, .projectRefill = 600});
    m_redis.at(t0, QuotaAsk(300).of("bob"));
    for (int i = 0; i < 100; ++i) {
        const QuotaDecision decision = m_redis.at(t0, QuotaAsk(200));
        QVERIFY(!decision.granted);
        QCOMPARE(decision.refusedBy, QByteArray("project"));
        QCOMPARE(decision.accountLevel, 360'000);
    }
}

void TestQuotaDecision::namesTheScopeThatRefuses()
{
    m_redis.setLimits(
        {.accountCapacity = 360, .accountRefill = 60, .projectCapacity = 400, .projectRefill = 600});
    m_redis.at(t0, QuotaAsk(360));
    // The account lacks 20 units at 1/s, the project has 40: the account decides.
    QuotaDecision decision = m_redis.at(t0, QuotaAsk(20));
    QCOMPARE(decision.refusedBy, QByteArray("account"));
    QCOMPARE(decision.retryAfterMs, 20'000);
    // Bob is full, the project lacks 60 units at 10/s.
    decision = m_redis.at(t0, QuotaAsk(100).of("bob"));
    QCOMPARE(decision.refusedBy, QByteArray("project"));
    QCOMPARE(decision.retryAfterMs, 6'000);
    // Both lack: the one that takes longer.
    decision = m_redis.at(t0, QuotaAsk(50));
    QCOMPARE(decision.refusedBy, QByteArray("account"));
    QCOMPARE(decision.retryAfterMs, 50'000);
}

// upstash/ratelimit-js#156: with 2 left, a refused request of 5 left −3 behind.
void TestQuotaDecision::aRefusedWeightedCallTakesNothing()
{
    m_redis.setLimits({.accountCapacity = 10, .accountRefill = 1, .accountReserve = 0});
    QVERIFY(m_redis.at(t0, QuotaAsk(8)).granted);
    const QuotaDecision refused = m_redis.at(t0, QuotaAsk(5));
    QVERIFY(!refused.granted);
    QCOMPARE(refused.accountLevel, 2'000);
    QVERIFY(m_redis.at(t0, QuotaAsk(2)).granted);
}

void TestQuotaDecision::neverGrantable_data()
{
    QTest::addColumn<qint64>("cost");
    QTest::addColumn<QByteArray>("lane");
    QTest::addColumn<qint64>("projectCapacity");
    QTest::addColumn<bool>("never");

    // 7etsuo/tetsuo-pulse#2092, bucket4j/bucket4j#20, bucket4j/bucket4j#220: more than the bucket holds can never be
    // granted, and no wait may be told for it.
    QTest::newRow("all of it") << qint64(360) << QByteArray("realtime") << qint64(72'000) << false;
    QTest::newRow("one more") << qint64(361) << QByteArray("realtime") << qint64(72'000) << true;
    QTest::newRow("bulk, down to the reserve")
        << qint64(180) << QByteArray("bulk") << qint64(72'000) << false;
    QTest::newRow("bulk, into the reserve") << qint64(181) << QByteArray("bulk") << qint64(72'000) << true;
    QTest::newRow("renewal, as realtime") << qint64(360) << QByteArray("renewal") << qint64(72'000) << false;
    QTest::newRow("all of the project") << qint64(200) << QByteArray("realtime") << qint64(200) << false;
    QTest::newRow("more than the project") << qint64(201) << QByteArray("realtime") << qint64(200) << true;
    QTest::newRow("bulk, into the project's reserve")
        << qint64(161) << QByteArray("bulk") << qint64(200) << true;
    QTest::newRow("the largest cost")
        << qint64(1'000'000'000) << QByteArray("realtime") << qint64(72'000) << true;
}

void TestQuotaDecision::neverGrantable()
{
    QFETCH(qint64, cost);
    QFETCH(QByteArray, lane);
    QFETCH(qint64, projectCapacity);
    QFETCH(bool, never);

    m_redis.setLimits({.projectCapacity = projectCapacity});
    for (const qint64 waitMs : {0, 30'000}) {
        QuotaAsk ask = QuotaAsk(cost).waiting(waitMs).of("at" + QByteArray::number(waitMs));
        ask.lane = lane;
        const QuotaDecision decision = m_redis.at(t0 + waitMs * 60'000, ask);
        QCOMPARE(decision.granted, !never);
        QCOMPARE(decision.refusedBy, never ? QByteArray("never") : QByteArray());
        QCOMPARE(decision.retryAfterMs, never ? -1 : 0);
    }
}

void TestQuotaDecision::badArgumentsChangeNothing_data()
{
    QTest::addColumn<QByteArray>("cost");
    QTest::addColumn<QByteArray>("lane");
    QTest::addColumn<QByteArray>("maxWait");
    QTest::addColumn<QByteArray>("deadline");
    QTest::addColumn<QByteArray>("field");

    // alisaifee/limits#362, songzhibin97/gkit#133: a negative cost gave quota away. Lua's tonumber also takes nan, inf
    // and hexadecimal.
    for (const char *cost : {"-1", "", " ", "nan", "inf", "-inf", "1e309", "1e3", "0x10", "1.5", "1.0", "+1",
                             "1 ", "1000000001", "99999999999999999999", "one", "-0", "\xD9\xA1"})
        QTest::addRow("cost '%s'", cost) << QByteArray(cost) << QByteArray("realtime") << QByteArray("0")
                                         << QByteArray() << QByteArray("cost");
    for (const char *lane : {"", "Realtime", "fast", "realtime "})
        QTest::addRow("lane '%s'", lane)
            << QByteArray("1") << QByteArray(lane) << QByteArray("0") << QByteArray() << QByteArray("lane");
    for (const char *wait : {"-1", "", "nan", "0.5", "30001", "inf"})
        QTest::addRow("wait '%s'", wait) << QByteArray("1") << QByteArray("bulk") << QByteArray(wait)
                                         << QByteArray() << QByteArray("max_wait_ms");
    for (const char *deadline : {"-1", "nan", "soon", "1e15", "99999999999999999"})
        QTest::addRow("deadline '%s'", deadline) << QByteArray("1") << QByteArray("bulk") << QByteArray("0")
                                                 << QByteArray(deadline) << QByteArray("deadline_us");
}

void TestQuotaDecision::badArgumentsChangeNothing()
{
    QFETCH(QByteArray, cost);
    QFETCH(QByteArray, lane);
    QFETCH(QByteArray, maxWait);
    QFETCH(QByteArray, deadline);
    QFETCH(QByteArray, field);

    m_redis.at(t0, QuotaAsk(100));
    const auto account = m_redis.hash(QuotaRedis::accountKey());
    const auto project = m_redis.hash(QuotaRedis::projectKey());
    QuotaAsk ask(cost);
    ask.lane = lane;
    ask.maxWaitMs = maxWait;
    ask.deadlineUs = deadline;
    for (const qint64 nowUs : {t0 + QuotaRedis::secondUs, qint64(-1)}) {
        const QuotaDecision decision = m_redis.at(nowUs, ask);
        QVERIFY2(decision.error.startsWith("TKARG " + field + ' '), decision.error);
    }
    QCOMPARE(m_redis.hash(QuotaRedis::accountKey()), account);
    QCOMPARE(m_redis.hash(QuotaRedis::projectKey()), project);
}

void TestQuotaDecision::costZeroTakesNothing()
{
    m_redis.at(t0, QuotaAsk(360));
    const auto account = m_redis.hash(QuotaRedis::accountKey());
    for (const char *lane : {"realtime", "bulk"}) {
        QuotaAsk ask(qint64(0));
        ask.lane = lane;
        const QuotaDecision decision = m_redis.at(t0 + 1, ask);
        QVERIFY(decision.granted);
        QCOMPARE(decision.waitMs, 0);
    }
    QCOMPARE(m_redis.hash(QuotaRedis::accountKey()), account);
}

void TestQuotaDecision::bulkLeavesTheReserves_data()
{
    QTest::addColumn<QuotaLimits>("limits");
    QTest::addColumn<qint64>("bulkUnits");
    QTest::addColumn<QByteArray>("refusedBy");

    QTest::newRow("account") << QuotaLimits{} << qint64(180) << QByteArray("account");
    QTest::newRow("project") << QuotaLimits{.projectCapacity = 100} << qint64(80) << QByteArray("project");
    QTest::newRow("no reserve") << QuotaLimits{.accountReserve = 0, .projectReserve = 0} << qint64(360)
                                << QByteArray("account");
}

void TestQuotaDecision::bulkLeavesTheReserves()
{
    QFETCH(QuotaLimits, limits);
    QFETCH(qint64, bulkUnits);
    QFETCH(QByteArray, refusedBy);

    m_redis.setLimits(limits);
    qint64 granted = 0;
    QuotaDecision decision = m_redis.at(t0, QuotaAsk(10).bulk());
    for (; decision.granted; decision = m_redis.at(t0, QuotaAsk(10).bulk()))
        granted += 10;
    QCOMPARE(granted, bulkUnits);
    QCOMPARE(decision.refusedBy, refusedBy);
    // What bulk left is realtime's, at once.
    const qint64 left = std::min(limits.accountCapacity, limits.projectCapacity) - bulkUnits;
    const QuotaDecision realtime = m_redis.at(t0, QuotaAsk(left));
    QVERIFY(realtime.granted);
    QCOMPARE(realtime.waitMs, 0);
}

void TestQuotaDecision::bookingTakesNowAndSendsLater()
{
    m_redis.setLimits({.accountCapacity = 100, .accountRefill = 600}); // 10 units a second
    m_redis.at(t0, QuotaAsk(100));
    QuotaDecision decision = m_redis.at(t0, QuotaAsk(20).waiting(1'999));
    QVERIFY(!decision.granted);
    QCOMPARE(decision.retryAfterMs, 1);
    decision = m_redis.at(t0, QuotaAsk(20).waiting(2'000));
    QVERIFY(decision.granted);
    QCOMPARE(decision.waitMs, 2'000);
    QCOMPARE(decision.accountLevel, -20'000);
    // Whoever books later is served later.
    decision = m_redis.at(t0, QuotaAsk(10).waiting(30'000));
    QCOMPARE(decision.waitMs, 3'000);
    // A refusal beside bookings says when the same request would be booked.
    decision = m_redis.at(t0, QuotaAsk(50).waiting(1'000));
    QVERIFY(!decision.granted);
    QCOMPARE(decision.retryAfterMs, 7'000);
    decision = m_redis.at(t0 + 7 * QuotaRedis::secondUs, QuotaAsk(50).waiting(1'000));
    QVERIFY(decision.granted);
    QCOMPARE(decision.waitMs, 1'000);
}

// A project is never booked: it refuses with its own time.
void TestQuotaDecision::bulkBooksAtMostHalfItsReserve()
{
    m_redis.setLimits(
        {.accountCapacity = 400, .accountRefill = 600}); // reserve 200, so bulk may book 100: 10 s
    QVERIFY(m_redis.at(t0, QuotaAsk(200).bulk()).granted);
    qint64 booked = 0;
    QuotaDecision decision = m_redis.at(t0, QuotaAsk(10).bulk().waiting(30'000));
    for (; decision.granted; decision = m_redis.at(t0, QuotaAsk(10).bulk().waiting(30'000)))
        booked += 10;
    QCOMPARE(booked, 100);
    QCOMPARE(decision.retryAfterMs, 1'000);
    QCOMPARE(decision.accountLevel, 100'000);

    m_redis.restart();
    m_redis.setLimits({.projectCapacity = 100, .projectRefill = 600});
    QVERIFY(m_redis.at(t0, QuotaAsk(100)).granted);
    decision = m_redis.at(t0, QuotaAsk(10).waiting(30'000));
    QVERIFY(!decision.granted);
    QCOMPARE(decision.refusedBy, QByteArray("project"));
    QCOMPARE(decision.retryAfterMs, 1'000);
}

void TestQuotaDecision::lateIsNotCharged()
{
    QVERIFY(m_redis.at(t0, QuotaAsk(40).before(t0)).granted);
    for (const qint64 cost : {40, 0, 1000}) {
        const QuotaDecision late = m_redis.at(t0 + 1, QuotaAsk(cost).before(t0));
        QVERIFY(!late.granted);
        QCOMPARE(late.refusedBy, QByteArray("late"));
        QVERIFY(late.retryAfterMs > 0);
        QCOMPARE(late.accountLevel, 320'000);
    }
    QVERIFY(m_redis.now(QuotaAsk(40).of("bob").before(1)).refusedBy == "late");
}

void TestQuotaDecision::anIdIsChargedOnce()
{
    m_redis.setLimits({.accountCapacity = 100, .accountRefill = 600});
    m_redis.at(t0, QuotaAsk(100));
    const QuotaDecision first = m_redis.at(t0, QuotaAsk(20).waiting(5'000).withId("x"));
    QVERIFY(first.granted);
    QCOMPARE(first.waitMs, 2'000);
    const qint64 ttl = m_redis.integer({"PTTL", QuotaRedis::idKey("alice", "x")});
    QVERIFY2(ttl > 55'000 && ttl <= 60'000, QByteArray::number(ttl));

    // Also after the deadline: it was charged, so it must not be called late.
    const QuotaDecision again = m_redis.at(t0 + 500'000, QuotaAsk(20).waiting(5'000).withId("x").before(t0));
    QCOMPARE(again.granted, true);
    QCOMPARE(again.waitMs, first.waitMs);
    QCOMPARE(again.accountLevel, first.accountLevel);
    QCOMPARE(again.projectLevel, first.projectLevel);
    QCOMPARE(again.nowUs, first.nowUs);
    QCOMPARE(m_redis.at(t0, QuotaAsk(qint64(0))).accountLevel, -20'000);
}

void TestQuotaDecision::anIdBelongsToItsRequest()
{
    QVERIFY(m_redis.at(t0, QuotaAsk(20).withId("x")).granted);
    QVERIFY(m_redis.at(t0, QuotaAsk(21).withId("x")).error.startsWith("TKARG id "));
    QVERIFY(m_redis.at(t0, QuotaAsk(20).bulk().withId("x")).error.startsWith("TKARG id "));
    QVERIFY(m_redis.at(t0, QuotaAsk(21).of("bob").withId("x")).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(qint64(0))).accountLevel, 340'000);
}

void TestQuotaDecision::refusalsOfAnIdAreNotKept()
{
    m_redis.at(t0, QuotaAsk(360));
    const QuotaDecision refused = m_redis.at(t0, QuotaAsk(100).withId("x"));
    QVERIFY(!refused.granted);
    QCOMPARE(m_redis.integer({"EXISTS", QuotaRedis::idKey("alice", "x")}), 0);
    QVERIFY(m_redis.at(t0 + refused.retryAfterMs * 1000, QuotaAsk(100).withId("x")).granted);
}

void TestQuotaDecision::shadowModeGrantsAndChargesNothing()
{
    m_redis.at(t0, QuotaAsk(360));
    m_redis.setLimits({.enforce = false});
    QuotaDecision decision = m_redis.at(t0, QuotaAsk(100));
    QVERIFY(decision.granted);
    QCOMPARE(decision.refusedBy, QByteArray("account"));
    QCOMPARE(decision.waitMs, 0);
    QCOMPARE(decision.retryAfterMs, 0);
    QCOMPARE(decision.accountLevel, 0);
    decision = m_redis.at(t0, QuotaAsk(361));
    QVERIFY(decision.granted);
    QCOMPARE(decision.refusedBy, QByteArray("never"));
    // What would be granted is charged as ever.
    decision = m_redis.at(t0, QuotaAsk(60).of("bob"));
    QCOMPARE(decision.refusedBy, QByteArray());
    QCOMPARE(decision.accountLevel, 300'000);
}

QTEST_GUILESS_MAIN(TestQuotaDecision)
#include "tst_quota_decision.moc"
