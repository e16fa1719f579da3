// SPDX-License-Identifier: Apache-2.0
// Publishing and changing limits, what is written and what is not, many callers at once, the list of levels.
#include "quotaredis.h"
#include "redis/functionlibrary.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

class TestQuotaPolicy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void theBuildIsAnsweredAsItIsStated();
    void withoutAPolicyNothingIsDecided();
    void anotherFormatIsNotRead();
    void publishingTwiceWritesOnce();
    void badPoliciesChangeNothing_data();
    void badPoliciesChangeNothing();
    void loweredLimitsCutTheLevel();
    void raisedLimitsLeaveTheLevel();
    void debtSurvivesAChange();
    void aRefusalWritesNothing();
    void manyCallersTakeEachUnitOnce();
    void keysShareOneSlot();

private:
    static constexpr qint64 t0 = QuotaRedis::startUs;
    // Without fsync, so that what a command wrote is in the file's size before the next one is answered.
    QuotaRedis m_redis{{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"no"_s}};
};

/// Otherwise an engine would load the library again and again, or never.
void TestQuotaPolicy::theBuildIsAnsweredAsItIsStated()
{
    const QByteArray code = redis::FunctionLibrary::embedded(u"quota.lua"_s);
    const qint64 build = m_redis.integer({"FCALL", "tidekeeper_quota_build", "0"});
    QVERIFY(code.contains("\n-- build: " + QByteArray::number(build) + "\n"));
}

void TestQuotaPolicy::withoutAPolicyNothingIsDecided()
{
    m_redis.command({"DEL", QuotaRedis::policyKey()});
    QVERIFY(m_redis.at(t0, QuotaAsk(1)).error.startsWith("TKPOLICY "));
    QCOMPARE(m_redis.integer({"DBSIZE"}), 0);
}

void TestQuotaPolicy::anotherFormatIsNotRead()
{
    m_redis.command({"HSET", QuotaRedis::policyKey(), "compiled", "3 1 3600000"});
    QVERIFY(m_redis.at(t0, QuotaAsk(1)).error.startsWith("TKPOLICY "));
}

void TestQuotaPolicy::publishingTwiceWritesOnce()
{
    m_redis.changeLimits({.accountCapacity = 500});
    const auto policy = m_redis.hash(QuotaRedis::policyKey());
    QCOMPARE(policy["account_capacity_milli"], QByteArray("500000"));
    QCOMPARE(policy["previous_account_capacity_milli"], QByteArray("360000"));
    const qint64 before = m_redis.appendedBytes();
    m_redis.publish({.accountCapacity = 500});
    QCOMPARE(m_redis.appendedBytes(), before);
    QCOMPARE(m_redis.hash(QuotaRedis::policyKey()), policy);
    // A change that is not one of the limits leaves the limits' history alone.
    m_redis.publish({.accountCapacity = 500, .enforce = false});
    const auto shadow = m_redis.hash(QuotaRedis::policyKey());
    QCOMPARE(shadow["enforce"], QByteArray("0"));
    QCOMPARE(shadow["changed_us"], policy["changed_us"]);
    QCOMPARE(shadow["previous_account_capacity_milli"], QByteArray("360000"));
}

void TestQuotaPolicy::badPoliciesChangeNothing_data()
{
    QTest::addColumn<QByteArray>("field");
    QTest::addColumn<QByteArray>("value");
    QTest::newRow("no capacity") << QByteArray("account_capacity_milli") << QByteArray("0");
    QTest::newRow("negative refill") << QByteArray("account_refill_per_minute") << QByteArray("-1");
    QTest::newRow("fraction") << QByteArray("project_refill_per_minute") << QByteArray("1.5");
    QTest::newRow("too much") << QByteArray("project_refill_per_minute") << QByteArray("1000000001");
    QTest::newRow("unknown") << QByteArray("burst") << QByteArray("1");
    QTest::newRow("enforce") << QByteArray("enforce") << QByteArray("2");
    QTest::newRow("nothing") << QByteArray("key_ttl_ms") << QByteArray("");
}

void TestQuotaPolicy::badPoliciesChangeNothing()
{
    QFETCH(QByteArray, field);
    QFETCH(QByteArray, value);

    const auto policy = m_redis.hash(QuotaRedis::policyKey());
    const redis::Value answer =
        m_redis.command({"FCALL", "tidekeeper_publish_v1", "2", QuotaRedis::policyKey(),
                         QuotaRedis::projectKey(), field, value});
    QVERIFY2(answer.text.startsWith("TKARG " + field + ' '), answer.text);
    QCOMPARE(m_redis.hash(QuotaRedis::policyKey()), policy);
}

void TestQuotaPolicy::loweredLimitsCutTheLevel()
{
    m_redis.now(QuotaAsk(60)); // 300 of 360 left
    const qint64 changedUs = m_redis.changeLimits({.accountCapacity = 200, .accountRefill = 60});
    QCOMPARE(m_redis.at(changedUs, QuotaAsk(qint64(0))).accountLevel, 200'000);
    QCOMPARE(m_redis.at(changedUs, QuotaAsk(qint64(0)).of("bob")).accountLevel, 200'000);
}

void TestQuotaPolicy::raisedLimitsLeaveTheLevel()
{
    // Ten minutes before the change, so that the bucket has long been full again.
    m_redis.at(m_redis.now(QuotaAsk(qint64(0))).nowUs - 600 * QuotaRedis::secondUs, QuotaAsk(60));
    const qint64 changedUs = m_redis.changeLimits({.accountCapacity = 1'000, .accountRefill = 60});
    QCOMPARE(m_redis.at(changedUs, QuotaAsk(qint64(0))).accountLevel, 360'000);
    QCOMPARE(m_redis.at(changedUs, QuotaAsk(qint64(0)).of("bob")).accountLevel,
             360'000); // never seen, thus full
    QCOMPARE(m_redis.at(changedUs + QuotaRedis::secondUs, QuotaAsk(qint64(0))).accountLevel, 361'000);
}

void TestQuotaPolicy::debtSurvivesAChange()
{
    m_redis.setLimits({.accountCapacity = 100, .accountRefill = 600}); // 10 milli-units each ms
    const qint64 bookedUs = m_redis.now(QuotaAsk(100)).nowUs;
    m_redis.at(bookedUs, QuotaAsk(100).waiting(30'000));
    for (const qint64 capacity : {50, 1'000}) {
        const qint64 changedUs = m_redis.changeLimits({.accountCapacity = capacity, .accountRefill = 600});
        QCOMPARE(m_redis.at(changedUs, QuotaAsk(qint64(0))).accountLevel,
                 -100'000 + (changedUs - bookedUs) * 600 / 60'000);
    }
}

// A storm of retries must not become replication traffic.
void TestQuotaPolicy::aRefusalWritesNothing()
{
    const qint64 nowUs = m_redis.now(QuotaAsk(360)).nowUs;
    const qint64 before = m_redis.appendedBytes();
    for (int i = 0; i < 50; ++i) {
        QCOMPARE(m_redis.now(QuotaAsk(361)).refusedBy, QByteArray("never"));
        QCOMPARE(m_redis.at(nowUs, QuotaAsk(360)).refusedBy, QByteArray("account"));
        QCOMPARE(m_redis.at(nowUs, QuotaAsk(180).bulk().waiting(900)).refusedBy, QByteArray("account"));
        QCOMPARE(m_redis.at(nowUs + 1, QuotaAsk(1).before(nowUs)).refusedBy, QByteArray("late"));
        QCOMPARE(m_redis.at(nowUs, QuotaAsk(360).withId("x")).refusedBy, QByteArray("account"));
        QVERIFY(m_redis.now(QuotaAsk(qint64(0))).granted);
        QVERIFY(!m_redis.now(QuotaAsk(QByteArray("-1"))).error.isEmpty());
    }
    QCOMPARE(m_redis.appendedBytes(), before);
    QVERIFY(m_redis.now(QuotaAsk(1).of("bob")).granted);
    QVERIFY(m_redis.appendedBytes() > before);
}

void TestQuotaPolicy::manyCallersTakeEachUnitOnce()
{
    constexpr int callers = 8, callsEach = 100;
    m_redis.setLimits({.accountCapacity = 500, .accountRefill = 1, .keyTtlMs = 900'000'000});
    redis::Endpoint endpoint;
    endpoint.path = m_redis.server().socketPath();
    std::vector<std::unique_ptr<redis::RedisConnection>> connections;
    int granted = 0, answered = 0;
    for (int i = 0; i < callers; ++i) {
        auto &connection = connections.emplace_back(std::make_unique<redis::RedisConnection>(
            endpoint, redis::ConnectionOptions{.commandTimeoutMs = 10'000}));
        connection->open();
        QVERIFY(QCoro::waitFor(connection->waitReady(10'000)));
    }
    for (int call = 0; call < callsEach; ++call) {
        for (const auto &connection : connections) {
            connection->send(QuotaRedis::words(-1, QuotaAsk(1)), [&](const Result<redis::Value> &answer) {
                ++answered;
                granted += answer && QuotaRedis::decision(*answer).granted;
            });
        }
    }
    QTRY_COMPARE_WITH_TIMEOUT(answered, callers * callsEach, 20'000);
    QVERIFY2(granted == 500 || granted == 501,
             QByteArray::number(granted)); // 501: a slow machine refilled one
}

// spring-cloud/spring-cloud-gateway#248, BerriAI/litellm#14968: two keys in two cluster slots, and nothing was limited.
void TestQuotaPolicy::keysShareOneSlot()
{
    const qint64 slot = m_redis.integer({"CLUSTER", "KEYSLOT", QuotaRedis::policyKey()});
    for (const QByteArray &key :
         {QuotaRedis::projectKey(), QuotaRedis::accountKey(), QuotaRedis::accountKey("bob"),
          QuotaRedis::idKey("alice", "x"), QuotaRedis::slotsKey(), QuotaRedis::activeKey(),
          QuotaRedis::refundKey("alice", 1)})
        QCOMPARE(m_redis.integer({"CLUSTER", "KEYSLOT", key}), slot);
}

QTEST_GUILESS_MAIN(TestQuotaPolicy)
#include "tst_quota_policy.moc"
