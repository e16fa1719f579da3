// SPDX-License-Identifier: Apache-2.0
// What must hold for any limits, costs, lanes and bookings, on random ones. The seed is printed; TIDEKEEPER_SEED
// repeats a run and TIDEKEEPER_ROUNDS makes it longer.
#include "quotaredis.h"

#include <QtCore/QRandomGenerator>
#include <QtTest/QTest>

#include <deque>

using namespace tidekeeper::test;

namespace {

constexpr qint64 minuteUs = 60'000'000;

struct Sent {
    qint64 atUs;
    qint64 cost;
};

/// The most that falls into one minute, wherever it begins; sends in any order.
qint64 worstMinute(std::vector<Sent> sends)
{
    std::sort(sends.begin(), sends.end(), [](const Sent &a, const Sent &b) { return a.atUs < b.atUs; });
    std::deque<Sent> window;
    qint64 sum = 0, worst = 0;
    for (const Sent &sent : sends) {
        window.push_back(sent);
        sum += sent.cost;
        for (; window.front().atUs <= sent.atUs - minuteUs; window.pop_front())
            sum -= window.front().cost;
        worst = std::max(worst, sum);
    }
    return worst;
}

/// A wait is rounded up to at most this much more than it had to be.
qint64 roundingUs(qint64 refillPerMinute)
{
    return 1'000 + 60'000 / refillPerMinute + 1;
}

} // namespace

class TestQuotaProperty : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void randomCallers_data();
    void randomCallers();
    void toldWaitsAddUpToTheRefill_data() { randomCallers_data(); }
    void toldWaitsAddUpToTheRefill();

private:
    qint64 between(qint64 least, qint64 most)
    {
        return least + qint64(m_random.generate64() % quint64(most - least + 1));
    }
    /// From 1 to most, small and large alike.
    qint64 anyScale(qint64 most)
    {
        return std::min(most, qint64(std::pow(2.0, between(0, 3000) / 100.0 - 0.5) + 1));
    }
    QuotaLimits randomLimits();
    QuotaAsk randomAsk(const QuotaLimits &limits);
    void checkRefusal(const QuotaAsk &ask, const QuotaDecision &refused, const QuotaLimits &limits,
                      qint64 *nowUs);
    void checkExpiry(const QuotaDecision &decision, const QuotaLimits &limits, const QByteArray &account);

    QRandomGenerator m_random;
    QuotaRedis m_redis;
    std::map<QByteArray, std::vector<Sent>> m_sent; ///< by account, when they reach the API
    std::vector<Sent> m_charged; ///< of the project, when they are charged
};

void TestQuotaProperty::initTestCase()
{
    const quint32 seed = qEnvironmentVariableIsSet("TIDEKEEPER_SEED")
        ? qEnvironmentVariableIntValue("TIDEKEEPER_SEED")
        : QRandomGenerator::global()->generate() >> 1;
    qInfo("TIDEKEEPER_SEED=%u", seed);
    m_random.seed(seed);
    QVERIFY(m_redis.start());
}

void TestQuotaProperty::randomCallers_data()
{
    QTest::addColumn<int>("round");
    const int rounds = std::max(16, qEnvironmentVariableIntValue("TIDEKEEPER_ROUNDS"));
    for (int round = 0; round < rounds; ++round)
        QTest::addRow("%d", round) << round;
}

QuotaLimits TestQuotaProperty::randomLimits()
{
    QuotaLimits limits;
    limits.accountCapacity = anyScale(1'000'000);
    limits.accountRefill = anyScale(10'000'000);
    limits.projectCapacity = anyScale(5'000'000);
    limits.projectRefill = anyScale(50'000'000);
    limits.accountReserve = double(between(0, 90)) / 100;
    limits.projectReserve = double(between(0, 90)) / 100;
    const qint64 minutesToFull = std::max(limits.accountCapacity / limits.accountRefill,
                                          limits.projectCapacity / limits.projectRefill);
    limits.keyTtlMs = std::min(qint64(1'000'000'000'000), 3'600'000 + 4 * 60'000 * minutesToFull);
    return limits;
}

QuotaAsk TestQuotaProperty::randomAsk(const QuotaLimits &limits)
{
    const qint64 most = std::min(limits.accountCapacity, limits.projectCapacity);
    QuotaAsk ask(between(0, 20) == 0 ? between(0, most * 2) : between(0, (most + 3) / 4));
    ask.account = QByteArray::number(between(0, 3));
    ask.lane = QByteArrayList{"realtime", "realtime", "bulk", "renewal"}[between(0, 3)];
    if (between(0, 2) == 0)
        ask.waiting(between(0, 30'000));
    return ask;
}

void TestQuotaProperty::randomCallers()
{
    m_redis.restart();
    m_sent.clear();
    m_charged.clear();
    const QuotaLimits limits = randomLimits();
    m_redis.setLimits(limits);
    const qint64 unitUs = std::max(qint64(1), minuteUs / limits.accountRefill);
    qint64 nowUs = QuotaRedis::startUs;
    for (int call = 0; call < 800 && !QTest::currentTestFailed(); ++call) {
        nowUs += between(0, 3) == 0 ? 0 : between(0, unitUs * (limits.accountCapacity / 8 + 1));
        const QuotaAsk ask = randomAsk(limits);
        const QuotaDecision decision = m_redis.at(nowUs, ask);
        QVERIFY2(decision.error.isEmpty(), decision.error);
        if (!decision.granted) {
            checkRefusal(ask, decision, limits, &nowUs);
            continue;
        }
        QVERIFY(decision.waitMs >= 0 && decision.waitMs <= ask.maxWaitMs.toLongLong());
        const qint64 cost = ask.cost.toLongLong();
        m_sent[ask.account].push_back({nowUs + decision.waitMs * 1000, cost});
        m_charged.push_back({nowUs, cost});
        checkExpiry(decision, limits, ask.account);
    }
    for (const auto &[account, sends] : m_sent) {
        const qint64 rounding = limits.accountRefill * roundingUs(limits.accountRefill) / minuteUs + 1;
        QVERIFY(worstMinute(sends) <= limits.accountCapacity + limits.accountRefill + rounding);
    }
    QVERIFY(worstMinute(m_charged) <= limits.projectCapacity + limits.projectRefill);
}

/// A refusal changes nothing; the same request is granted after the told wait, and not much earlier.
void TestQuotaProperty::checkRefusal(const QuotaAsk &ask, const QuotaDecision &refused,
                                     const QuotaLimits &limits, qint64 *nowUs)
{
    const QuotaDecision still = m_redis.at(*nowUs, QuotaAsk(qint64(0)).of(ask.account));
    QCOMPARE(still.accountLevel, refused.accountLevel);
    QCOMPARE(still.projectLevel, refused.projectLevel);

    const qint64 cost = ask.cost.toLongLong();
    const bool bulk = ask.lane == "bulk";
    const auto largest = [bulk](qint64 capacity, double reserve) {
        return capacity * 1000 - (bulk ? qint64(double(capacity) * 1000 * reserve) : 0);
    };
    const bool possible = cost * 1000 <= largest(limits.accountCapacity, limits.accountReserve)
        && cost * 1000 <= largest(limits.projectCapacity, limits.projectReserve);
    QCOMPARE(refused.refusedBy == "never", !possible);
    QCOMPARE(refused.retryAfterMs < 0, !possible);
    if (!possible || between(0, 2) != 0)
        return;
    const qint64 refill = refused.refusedBy == "account" ? limits.accountRefill : limits.projectRefill;
    const qint64 earlyUs = refused.retryAfterMs * 1000 - roundingUs(refill);
    if (earlyUs > 0)
        QVERIFY(!m_redis.at(*nowUs + earlyUs, ask).granted);
    *nowUs += refused.retryAfterMs * 1000;
    const QuotaDecision after = m_redis.at(*nowUs, ask);
    QVERIFY2(after.granted, after.refusedBy);
    m_sent[ask.account].push_back({*nowUs + after.waitMs * 1000, cost});
    m_charged.push_back({*nowUs, cost});
}

/// A key never expires before its bucket would be full, even at a quarter of the pace.
void TestQuotaProperty::checkExpiry(const QuotaDecision &decision, const QuotaLimits &limits,
                                    const QByteArray &account)
{
    if (between(0, 19) != 0 || m_redis.integer({"EXISTS", QuotaRedis::accountKey(account)}) == 0)
        return; // costs of 0 write nothing
    const qint64 missing = limits.accountCapacity * 1000 - decision.accountLevel;
    const qint64 ttl = m_redis.integer({"PTTL", QuotaRedis::accountKey(account)});
    QVERIFY2(double(ttl) >= 4.0 * double(missing) * 60 / double(limits.accountRefill),
             QByteArray::number(ttl));
}

/// Whoever always waits as told gets the whole refill in the long run.
void TestQuotaProperty::toldWaitsAddUpToTheRefill()
{
    m_redis.restart();
    QuotaLimits limits = randomLimits();
    limits.projectCapacity = 1'000'000'000;
    limits.projectRefill = 1'000'000'000;
    m_redis.setLimits(limits);
    // Large enough that a millisecond of rounding is below a thousandth of each wait, if the bucket allows it.
    const qint64 cost = std::clamp(limits.accountRefill / 50, qint64(1), limits.accountCapacity);
    m_redis.at(QuotaRedis::startUs, QuotaAsk(limits.accountCapacity));
    qint64 nowUs = QuotaRedis::startUs;
    qint64 granted = 0;
    while (granted < 300) {
        const QuotaDecision decision = m_redis.at(nowUs, QuotaAsk(cost));
        QVERIFY(decision.granted || decision.retryAfterMs > 0);
        granted += decision.granted;
        nowUs += decision.retryAfterMs * 1000;
    }
    const double exact =
        double(limits.accountRefill) * double(nowUs - QuotaRedis::startUs) / double(minuteUs);
    const double got = double(granted * cost);
    QVERIFY(got <= exact + 1);
    // A wait shorter than a second, which a small bucket enforces, is lengthened by up to a millisecond each time.
    const double rounding = double(roundingUs(limits.accountRefill))
        / (double(cost) * double(minuteUs) / double(limits.accountRefill));
    QVERIFY2(got >= exact * (1 - std::max(0.001, rounding)) - double(cost), QByteArray::number(got / exact));
}

QTEST_GUILESS_MAIN(TestQuotaProperty)
#include "tst_quota_property.moc"
