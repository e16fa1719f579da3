// SPDX-License-Identifier: Apache-2.0
// Nothing is lost to rounding, keys outlive their debts, numbers keep their digits.
#include "quotaredis.h"

#include <QtCore/QRandomGenerator>
#include <QtTest/QTest>

using namespace tidekeeper::test;

class TestQuotaArithmetic : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void refillsExactly_data();
    void refillsExactly();
    void pollersGetWhatIsRefilled_data();
    void pollersGetWhatIsRefilled();
    void everyWriteIsExact();
    void keysOutliveTheirDebt_data();
    void keysOutliveTheirDebt();
    void numbersKeepTheirDigits();
    void manyUnitsStayExact();

private:
    static constexpr qint64 t0 = QuotaRedis::startUs;
    QuotaRedis m_redis;
};

namespace {

/// Milli-units that a refill brings within a time, exact.
qint64 refilledMilli(qint64 refillPerMinute, qint64 us)
{
    return qint64(__int128(us) * refillPerMinute / 60'000);
}

} // namespace

void TestQuotaArithmetic::refillsExactly_data()
{
    QTest::addColumn<qint64>("refill");
    QTest::addColumn<qint64>("elapsedUs");
    for (const qint64 refill : {1, 7, 100, 5'450, 13'625, 1'000'003, 1'000'000'000}) {
        for (const qint64 us :
             std::initializer_list<qint64>{1, 59, 60'000, 999'999, 60'000'000, 3'600'000'001})
            QTest::addRow("%lld/min, %lld us", refill, us) << refill << us;
    }
}

void TestQuotaArithmetic::refillsExactly()
{
    QFETCH(qint64, refill);
    QFETCH(qint64, elapsedUs);

    constexpr qint64 capacity = 1'000'000'000;
    m_redis.setLimits({.accountCapacity = capacity,
                       .accountRefill = refill,
                       .projectCapacity = capacity,
                       .projectRefill = 1'000'000'000});
    m_redis.at(t0, QuotaAsk(capacity));
    const QuotaDecision decision = m_redis.at(t0 + elapsedUs, QuotaAsk(qint64(0)));
    QCOMPARE(decision.accountLevel, std::min(capacity * 1000, refilledMilli(refill, elapsedUs)));
}

void TestQuotaArithmetic::pollersGetWhatIsRefilled_data()
{
    QTest::addColumn<qint64>("refill");
    QTest::addColumn<qint64>("stepUs");
    QTest::addColumn<int>("polls");

    // A plain floor lost 40 % at 100/min polled each millisecond.
    QTest::newRow("100/min each ms") << qint64(100) << qint64(1'000) << 6'000;
    QTest::newRow("100/min each 37 ms") << qint64(100) << qint64(37'003) << 2'000;
    QTest::newRow("1/min each 7 s") << qint64(1) << qint64(7'000'001) << 500;
    // spring-cloud/spring-cloud-gateway#1117: calls within one second earned nothing.
    QTest::newRow("10/s each 100 ms") << qint64(600) << qint64(100'000) << 100;
    // redis-developer/redis-ratelimiting-js#3: polling twice as fast as the refill starved for ever.
    QTest::newRow("1/s each 0.5 s") << qint64(60) << qint64(500'000) << 400;
    QTest::newRow("5450/min each 3 ms") << qint64(5'450) << qint64(3'001) << 3'000;
}

void TestQuotaArithmetic::pollersGetWhatIsRefilled()
{
    QFETCH(qint64, refill);
    QFETCH(qint64, stepUs);
    QFETCH(int, polls);

    m_redis.setLimits(
        {.accountCapacity = 1, .accountRefill = refill, .accountReserve = 0, .keyTtlMs = 900'000});
    qint64 granted = 0;
    for (int i = 0; i < polls; ++i)
        granted += m_redis.at(t0 + i * stepUs, QuotaAsk(1)).granted;
    // The first is the full bucket; then one for each unit, and at most one step late each.
    const qint64 refilled = refilledMilli(refill, (polls - 1) * stepUs) / 1000;
    const qint64 withWholeSteps = 60'000'000 / refill <= stepUs
        ? polls - 1
        : (polls - 1) / ((60'000'000 / refill + stepUs - 1) / stepUs);
    QVERIFY2(granted <= 1 + refilled, QByteArray::number(granted));
    QVERIFY2(granted >= 1 + std::min(refilled, withWholeSteps), QByteArray::number(granted));
}

// Each write carries the part of a milli-unit that is left over to the next.
void TestQuotaArithmetic::everyWriteIsExact()
{
    const quint32 seed = QRandomGenerator::global()->generate();
    qInfo("seed %u", seed);
    QRandomGenerator random(seed);
    for (const qint64 refill : {7, 1'009, 999'983}) {
        m_redis.restart();
        constexpr qint64 capacity = 1'000'000;
        m_redis.setLimits(
            {.accountCapacity = capacity, .accountRefill = refill, .projectCapacity = 100'000'000});
        m_redis.at(t0, QuotaAsk(capacity / 2));
        qint64 nowUs = t0, spent = capacity / 2;
        QuotaDecision decision;
        for (int i = 0; i < 1'000; ++i) {
            nowUs += random.bounded(1, 5'000);
            spent += 1;
            decision = m_redis.at(nowUs, QuotaAsk(1));
            QVERIFY(decision.granted);
        }
        QCOMPARE(decision.accountLevel, (capacity - spent) * 1000 + refilledMilli(refill, nowUs - t0));
    }
}

void TestQuotaArithmetic::keysOutliveTheirDebt_data()
{
    QTest::addColumn<qint64>("capacity");
    QTest::addColumn<qint64>("refill");
    QTest::addColumn<qint64>("cost");
    QTest::addColumn<qint64>("wait");
    QTest::newRow("default") << qint64(360) << qint64(5'450) << qint64(40) << qint64(0);
    QTest::newRow("slow") << qint64(1'000) << qint64(100) << qint64(1'000) << qint64(0);
    QTest::newRow("slow, booked") << qint64(1'000) << qint64(100) << qint64(1'000) << qint64(30'000);
    QTest::newRow("one a minute") << qint64(600) << qint64(1) << qint64(600) << qint64(0);
}

// cristipufu/aspnetcore-redis-rate-limiting#46, apache/apisix#12605: keys that expired early gave quota away;
// fastify/fastify-rate-limit#152: one without expiry blocked for ever; dex4er/js-sliding-window-rate-limiter#74:
// milliseconds taken for seconds.
void TestQuotaArithmetic::keysOutliveTheirDebt()
{
    QFETCH(qint64, capacity);
    QFETCH(qint64, refill);
    QFETCH(qint64, cost);
    QFETCH(qint64, wait);

    m_redis.setLimits({.accountCapacity = capacity, .accountRefill = refill});
    m_redis.at(t0, QuotaAsk(cost));
    const QuotaDecision decision = m_redis.at(t0 + 1'000, QuotaAsk(cost / 20).waiting(wait));
    QCOMPARE(decision.granted, wait > 0 || cost < capacity);
    const qint64 missing = capacity * 1000 - decision.accountLevel;
    const qint64 toFullAtQuarterPaceMs = 4 * (missing * 60 / refill);
    // From its deepest debt, half a minute of refill, at a quarter of the pace, twice over; and an hour, because a life is
    // prolonged once an hour.
    const qint64 longestMs =
        std::max(qint64(3'600'000), 2 * 4 * (capacity * 60'000 / refill + 30'000)) + 3'601'000;
    const qint64 ttl = m_redis.integer({"PTTL", QuotaRedis::accountKey()});
    QVERIFY2(ttl > 3'590'000 && ttl <= longestMs, QByteArray::number(ttl));
    // The project also counts its day.
    const qint64 projectTtl = m_redis.integer({"PTTL", QuotaRedis::projectKey()});
    QVERIFY2(projectTtl > 86'400'000 && projectTtl <= 150'000'000, QByteArray::number(projectTtl));
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::accountKey()}) >= 2 * toFullAtQuarterPaceMs - 5'000);
    QCOMPARE(m_redis.integer({"PTTL", QuotaRedis::policyKey()}), -1);
}

// redis/redis#1118, redis/redis#8410: tostring() writes 1700000000123456 as 1.7000000001235e+15.
// redis/redis#13113: Redis 7.2.4 refused multiples of 10^8 that Lua passed as numbers.
void TestQuotaArithmetic::numbersKeepTheirDigits()
{
    constexpr qint64 capacity = 1'000'000'000;
    m_redis.setLimits({.accountCapacity = capacity,
                       .accountRefill = 1,
                       .projectCapacity = capacity,
                       .projectRefill = 1,
                       .keyTtlMs = 900'000'000'000});
    for (const qint64 nowUs :
         std::initializer_list<qint64>{1'700'000'000'123'456, 1'800'000'000'000'000, (qint64(1) << 53) - 1}) {
        m_redis.command({"DEL", QuotaRedis::accountKey(), QuotaRedis::projectKey()});
        const QuotaDecision decision = m_redis.at(nowUs, QuotaAsk(200'000'000));
        QCOMPARE(decision.nowUs, nowUs);
        QCOMPARE(decision.accountLevel, 800'000'000'000);
        const auto account = m_redis.hash(QuotaRedis::accountKey());
        QCOMPARE(account["at_us"], QByteArray::number(nowUs));
        QCOMPARE(account["level_milli"], QByteArray("800000000000"));
        QCOMPARE(account["format"], QByteArray("1"));
    }
}

void TestQuotaArithmetic::manyUnitsStayExact()
{
    constexpr qint64 capacity = 1'000'000'000;
    m_redis.setLimits({.accountCapacity = capacity,
                       .accountRefill = 1'000'000'000,
                       .projectCapacity = capacity,
                       .projectRefill = 1'000'000'000});
    m_redis.at(t0, QuotaAsk(capacity));
    const QuotaDecision refused = m_redis.at(t0, QuotaAsk(capacity));
    QCOMPARE(refused.retryAfterMs, 60'000);
    QVERIFY(!m_redis.at(t0 + 59'999'999, QuotaAsk(capacity)).granted);
    QVERIFY(m_redis.at(t0 + 60'000'000, QuotaAsk(capacity)).granted);
}

QTEST_GUILESS_MAIN(TestQuotaArithmetic)
#include "tst_quota_arithmetic.moc"
