// SPDX-License-Identifier: Apache-2.0
// Limits of one account's own, beside a policy for all the others.
#include "quotalevels.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs;
constexpr qint64 msUs = 1'000;
constexpr qint64 secondUs = QuotaRedis::secondUs;

/// Units, and units per minute.
struct Own {
    qint64 capacity = 360;
    qint64 refill = 6'000;
    qint64 reserve = 180;
    qint64 places = 10;
};

} // namespace

class TestQuotaOverride : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init()
    {
        m_redis.restart();
        m_redis.setLimits({.accountRefill = 6'000}); // 360, and 100 a second
    }

    void loweredCutsTheLevel();
    void raisedLeavesTheLevel();
    void idleAccountWasFullAndNoMore();
    void pastIsRefilledAsItWas();
    void debtStays();
    void removedIsThePolicyAgain();
    void decidesAboutReserveAndNever();
    void othersAreUntouched();
    void staysOverAPublishedPolicy();
    void policyStaysReadable();
    void sameAgainWritesNothing();
    void slowerRefillLivesLonger();
    void statedLimitIsThePolicys();
    void withoutAPolicyNothingIsSet();

private:
    redis::Value call(qint64 nowUs, const QByteArrayList &arguments, const QByteArray &account)
    {
        return m_redis.callAt(
            nowUs, "tidekeeper_override",
            {QuotaRedis::accountKey(account), QuotaRedis::projectKey(), QuotaRedis::policyKey()}, arguments);
    }
    /// Whether it changed anything.
    bool set(qint64 nowUs, const Own &own, const QByteArray &account = "alice")
    {
        const auto n = [](qint64 value) { return QByteArray::number(value); };
        const redis::Value answer = call(
            nowUs, {n(own.capacity * 1000), n(own.refill), n(own.reserve * 1000), n(own.places)}, account);
        return answer.items.at(0).integer == 1 && answer.items.at(1).integer == nowUs;
    }
    bool remove(qint64 nowUs, const QByteArray &account = "alice")
    {
        return call(nowUs, {}, account).items.at(0).integer == 1;
    }
    qint64 level(qint64 nowUs, const QByteArray &account = "alice")
    {
        return m_redis.at(nowUs, QuotaAsk(qint64(0)).of(account)).accountLevel;
    }

    QuotaRedis m_redis{{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"no"_s}};
};

void TestQuotaOverride::loweredCutsTheLevel()
{
    m_redis.at(t0, QuotaAsk(60)); // 300 left
    QVERIFY(set(t0, {.capacity = 200, .refill = 600, .reserve = 100}));
    const QuotaDecision decision = m_redis.at(t0, QuotaAsk(50));
    QCOMPARE(decision.accountLevel, 150'000);
    QCOMPARE(decision.accountCapacity, 200'000);
    QCOMPARE(level(t0 + secondUs), 160'000); // ten a second
    QCOMPARE(level(t0 + 60 * secondUs), 200'000);
}

void TestQuotaOverride::raisedLeavesTheLevel()
{
    m_redis.at(t0, QuotaAsk(60));
    QVERIFY(set(t0, {.capacity = 1'000, .refill = 12'000}));
    QCOMPARE(level(t0), 300'000);
    QCOMPARE(level(t0 + secondUs), 500'000);
    QCOMPARE(level(t0 + 60 * secondUs), 1'000'000);
    QVERIFY(m_redis.at(t0 + 60 * secondUs, QuotaAsk(1'000)).granted);
}

/// A bucket without a hash is full: under the limits that it had.
void TestQuotaOverride::idleAccountWasFullAndNoMore()
{
    QVERIFY(set(t0, {.capacity = 1'000}));
    QCOMPARE(level(t0), 360'000);
    QVERIFY(set(t0, {.capacity = 100}, "bob"));
    QCOMPARE(level(t0, "bob"), 100'000);
}

void TestQuotaOverride::pastIsRefilledAsItWas()
{
    m_redis.at(t0, QuotaAsk(360));
    // A second at 100, then one at 10, then one at 50.
    QVERIFY(set(t0 + secondUs, {.refill = 600}));
    QCOMPARE(level(t0 + secondUs), 100'000);
    QVERIFY(set(t0 + 2 * secondUs, {.refill = 3'000}));
    QCOMPARE(level(t0 + 3 * secondUs), 160'000);
    // Nothing of a milli-unit is lost on the way: 333 a minute are 0.333 milli-units a minute and microsecond.
    QVERIFY(set(t0 + 3 * secondUs, {.refill = 333}));
    for (int i = 1; i <= 100; ++i)
        QVERIFY(set(t0 + 3 * secondUs + i * 1'234, {.refill = 333, .places = 10 + i % 2}));
    QCOMPARE(level(t0 + 3 * secondUs + 123'400), 160'000 + 123'400 * 333 / 60'000);
}

void TestQuotaOverride::debtStays()
{
    m_redis.at(t0, QuotaAsk(360));
    m_redis.at(t0, QuotaAsk(300).waiting(30'000));
    QVERIFY(set(t0, {.capacity = 100, .refill = 600}));
    QCOMPARE(level(t0), -300'000);
    QVERIFY(set(t0, {.capacity = 900, .refill = 600}));
    QCOMPARE(level(t0), -300'000);
    QVERIFY(remove(t0));
    QCOMPARE(level(t0 + secondUs), -200'000);
}

void TestQuotaOverride::removedIsThePolicyAgain()
{
    QVERIFY(set(t0, {.capacity = 1'000}));
    QCOMPARE(level(t0 + 60 * secondUs), 1'000'000);
    QVERIFY(remove(t0 + 60 * secondUs));
    const QuotaDecision cut = m_redis.at(t0 + 60 * secondUs, QuotaAsk(qint64(0)));
    QCOMPARE(cut.accountLevel, 360'000);
    QCOMPARE(cut.accountCapacity, 360'000);

    QVERIFY(set(t0, {.capacity = 100}, "bob"));
    QVERIFY(remove(t0, "bob"));
    QCOMPARE(level(t0, "bob"), 100'000); // raised: from where it was
    QCOMPARE(level(t0 + secondUs, "bob"), 200'000);
    QVERIFY(!remove(t0, "bob"));
    QVERIFY(!m_redis.hash(QuotaRedis::policyKey()).contains(QuotaRedis::accountKey("bob")));
}

void TestQuotaOverride::decidesAboutReserveAndNever()
{
    QVERIFY(set(t0, {.capacity = 200, .reserve = 150}));
    QCOMPARE(m_redis.at(t0, QuotaAsk(201)).refusedBy, QByteArray("never"));
    QCOMPARE(m_redis.at(t0, QuotaAsk(51).bulk()).refusedBy, QByteArray("never"));
    QVERIFY(m_redis.at(t0, QuotaAsk(50).bulk()).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(1).bulk()).refusedBy, QByteArray("account"));
    QVERIFY(m_redis.at(t0, QuotaAsk(150)).granted);
    // No reserve at all.
    QVERIFY(set(t0, {.capacity = 300, .reserve = 0}, "bob"));
    QVERIFY(m_redis.at(t0, QuotaAsk(300).bulk().of("bob")).granted);
}

void TestQuotaOverride::othersAreUntouched()
{
    m_redis.at(t0, QuotaAsk(60).of("bob"));
    m_redis.setLimits({}, "other");
    m_redis.at(t0, QuotaAsk(60), "other");
    const auto bob = m_redis.hash(QuotaRedis::accountKey("bob"));
    const auto project = m_redis.hash(QuotaRedis::projectKey());
    QVERIFY(set(t0, {.capacity = 50, .refill = 1, .reserve = 0}));
    QCOMPARE(m_redis.hash(QuotaRedis::accountKey("bob")), bob);
    QCOMPARE(m_redis.hash(QuotaRedis::projectKey()), project);
    for (const char *account : {"bob", "carol", "alic", "alice2"})
        QCOMPARE(m_redis.at(t0, QuotaAsk(qint64(0)).of(account)).accountCapacity, 360'000);
    QCOMPARE(m_redis.at(t0, QuotaAsk(qint64(0)), "other").accountCapacity, 360'000);
    QCOMPARE(m_redis.at(t0, QuotaAsk(qint64(0)), "other").accountLevel, 300'000);
}

void TestQuotaOverride::staysOverAPublishedPolicy()
{
    QVERIFY(set(t0, {.capacity = 200, .refill = 600, .reserve = 100}));
    QVERIFY(m_redis.at(t0, QuotaAsk(200)).granted);
    m_redis.publish({.accountCapacity = 5'000, .accountRefill = 60'000, .slots = 3}, "default", t0);
    QCOMPARE(level(t0 + secondUs), 10'000);
    QCOMPARE(m_redis.at(t0 + secondUs, QuotaAsk(201)).refusedBy, QByteArray("never"));
    QCOMPARE(level(t0, "bob"), 360'000);
    QCOMPARE(level(t0 + 60 * secondUs, "bob"), 5'000'000);
    // What is not the account's own holds for it at once.
    m_redis.publish({.accountCapacity = 5'000, .accountRefill = 60'000, .enforce = false, .slots = 3});
    QVERIFY(m_redis.at(t0 + secondUs, QuotaAsk(201)).granted);
}

void TestQuotaOverride::policyStaysReadable()
{
    QVERIFY(set(t0, {.capacity = 200, .refill = 600, .reserve = 100, .places = 7}));
    const auto policy = m_redis.hash(QuotaRedis::policyKey());
    QCOMPARE(policy[QuotaRedis::accountKey()], QByteArray("200000 600 100000 7"));
    // The policy that stands there already is no change because of them.
    const qint64 written = m_redis.appendedBytes();
    m_redis.publish({.accountRefill = 6'000});
    QCOMPARE(m_redis.appendedBytes(), written);
    QCOMPARE(m_redis.hash(QuotaRedis::policyKey()), policy);
}

void TestQuotaOverride::sameAgainWritesNothing()
{
    QVERIFY(!remove(t0)); // there was none
    QVERIFY(set(t0, {.capacity = 200}));
    const qint64 written = m_redis.appendedBytes();
    QVERIFY(!set(t0 + secondUs, {.capacity = 200}));
    QVERIFY(!remove(t0 + secondUs, "bob"));
    QCOMPARE(m_redis.appendedBytes(), written);
    QVERIFY(set(t0 + secondUs, {.capacity = 200, .places = 11}));
}

/// Whoever is given more, or less a minute, must not get it at once because the hash was forgotten too early.
void TestQuotaOverride::slowerRefillLivesLonger()
{
    m_redis.at(t0, QuotaAsk(360));
    QVERIFY(set(t0, {.capacity = 6'000, .refill = 10})); // ten hours to be full
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::accountKey()}) >= 2 * 600 * 60'000);

    // And the same when the limits of its own, which were quick, are taken away.
    m_redis.setLimits({.accountCapacity = 6'000, .accountRefill = 10});
    QVERIFY(set(t0, {.capacity = 100}, "bob"));
    m_redis.at(t0, QuotaAsk(100).of("bob"));
    QVERIFY(remove(t0, "bob"));
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::accountKey("bob")}) >= 2 * 600 * 60'000);
}

void TestQuotaOverride::statedLimitIsThePolicys()
{
    QVERIFY(set(t0, {.capacity = 200}));
    // The API's owner publishes 6,000 for each account, and allows half of it here.
    QCOMPARE(m_redis.report(t0, {.toldLimit = 3'000}).pace, 500);
    QCOMPARE(levelsAt(m_redis, t0, {"of", "alice"}).accounts[0].refillPerMinute, 3'000);
}

void TestQuotaOverride::withoutAPolicyNothingIsSet()
{
    m_redis.command({"FLUSHALL"});
    for (const QByteArrayList &arguments :
         {QByteArrayList(), QByteArrayList{"200000", "600", "100000", "10"}})
        QVERIFY(call(t0, arguments, "alice").text.startsWith("TKPOLICY "));
    QCOMPARE(m_redis.integer({"DBSIZE"}), 0);
}

QTEST_GUILESS_MAIN(TestQuotaOverride)
#include "tst_quota_override.moc"
