// SPDX-License-Identifier: Apache-2.0
// The engine's side of the buckets, against a real Redis that is stopped, emptied and robbed of its functions.
#include "limits/bucketservice.h"
#include "limits/quotalibrary.h"
#include "support/testredis.h"

#include <tidekeeper/callback.h>

#include <QtCore/QElapsedTimer>
#include <QtCore/QJsonArray>
#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

namespace {

class RealClock final : public Clock {
public:
    RealClock() { m_timer.start(); }
    qint64 nowMs() const override { return QDateTime::currentMSecsSinceEpoch(); }
    qint64 monotonicMs() const override { return m_timer.elapsed(); }

private:
    QElapsedTimer m_timer;
};

struct Answered {
    Status status;
    QuotaAnswer answer;
};

} // namespace

class TestBucketService : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup();

    void decidesAndNamesNoAddress();
    void normalizesTheAccount();
    void refusesBadRequests_data();
    void refusesBadRequests();
    void refusesBadPolicies();
    void warnsOfUnwisePolicies();
    void tellsTheLargestCost_data();
    void tellsTheLargestCost();
    void anIdIsChargedOnce();
    void publishesAgainWhenThePolicyIsGone();
    void loadsAgainWhenTheFunctionsAreGone();
    void publishesWhatWasPublishedWithoutRedis();
    void withoutRedisTheSwitchDecides_data();
    void withoutRedisTheSwitchDecides();
    void aSilentRedisIsNotWaitedForAndChargesNothing();
    void ourOwnFaultsAreNotConsent();
    void countsOutcomes();

private:
    QJsonObject policy(bool failOpen = true) const;
    Status publish(const QJsonObject &policy, QJsonObject *result = nullptr);
    QuotaRequest request(qint64 cost, const QString &account = u"alice@example.com"_s) const;
    Answered acquire(const QuotaRequest &request);

    test::TestRedis m_server;
    RealClock m_clock;
    std::unique_ptr<redis::RedisConnection> m_connection;
    std::unique_ptr<redis::FunctionLibrary> m_library;
    std::unique_ptr<BucketService> m_buckets;
};

void TestBucketService::initTestCase()
{
    QVERIFY(m_server.start());
}

void TestBucketService::init()
{
    m_server.cli({u"flushall"_s});
    m_connection = std::make_unique<redis::RedisConnection>(*redis::Endpoint::fromUrl(m_server.url()));
    m_library = std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_quota",
                                                         limits::libraryCode());
    m_buckets = std::make_unique<BucketService>(*m_connection, *m_library, m_clock);
    m_connection->open();
    QVERIFY(QCoro::waitFor(m_connection->waitReady(10'000)));
    QVERIFY(publish(policy()).ok());
}

void TestBucketService::cleanup()
{
    m_connection.reset();
    m_buckets.reset();
    m_library.reset();
}

QJsonObject TestBucketService::policy(bool failOpen) const
{
    return {
        {u"account_capacity"_s, 360},    {u"account_refill_per_minute"_s, 60},
        {u"project_capacity"_s, 72'000}, {u"project_refill_per_minute"_s, 1'090'000},
        {u"published_account"_s, 6'000}, {u"published_project"_s, 1'200'000},
        {u"bulk_reserve"_s, 0.5},        {u"project_bulk_reserve"_s, 0.2},
        {u"key_ttl_ms"_s, 3'600'000},    {u"send_slack_ms"_s, 2'000},
        {u"fail_open"_s, failOpen},      {u"enforce"_s, true},
    };
}

Status TestBucketService::publish(const QJsonObject &policy, QJsonObject *result)
{
    std::optional<Status> ended;
    m_buckets->publish(u"gmail"_s, u"default"_s, policy,
                       whenDone(this, [&](const Status &status, const QJsonObject &r) {
                           ended = status;
                           if (result)
                               *result = r;
                       }));
    if (!QTest::qWaitFor([&] { return ended.has_value(); }, 10'000))
        qFatal("publish() was not answered");
    return *ended;
}

QuotaRequest TestBucketService::request(qint64 cost, const QString &account) const
{
    QuotaRequest request;
    request.account = account;
    request.cost = cost;
    request.deadlineMs = 5'000; // the tests of deadlines say otherwise
    return request;
}

Answered TestBucketService::acquire(const QuotaRequest &request)
{
    std::optional<Answered> ended;
    m_buckets->acquire(u"gmail"_s, request,
                       whenDecided(this, [&](const Status &status, const QuotaAnswer &answer) {
                           ended = Answered{status, answer};
                       }));
    if (!QTest::qWaitFor([&] { return ended.has_value(); }, 10'000))
        qFatal("acquire() was not answered");
    return *ended;
}

void TestBucketService::decidesAndNamesNoAddress()
{
    Answered granted = acquire(request(60));
    QVERIFY2(granted.status.ok(), qPrintable(granted.status.text));
    QVERIFY(granted.answer.granted);
    QVERIFY(!granted.answer.degraded);
    QCOMPARE(granted.answer.cost, 60);
    QCOMPARE(granted.answer.accountLevel, 300'000);
    QCOMPARE(granted.answer.accountCapacity, 360'000);
    QCOMPARE(granted.answer.projectLevel, 71'940'000);
    QVERIFY(!granted.answer.grantId.isEmpty());
    QVERIFY(qAbs(granted.answer.nowUs / 1000 - m_clock.nowMs()) < 5'000);

    const Answered refused = acquire(request(350));
    QVERIFY(refused.status.ok());
    QVERIFY(!refused.answer.granted);
    QCOMPARE(refused.answer.refusedBy, u"account"_s);
    QVERIFY(refused.answer.retryAfterMs > 49'000 && refused.answer.retryAfterMs <= 50'000);
    QVERIFY(refused.answer.grantId.isEmpty());
    QVERIFY(acquire(request(1)).answer.grantId != granted.answer.grantId);

    const QByteArray keys = m_server.cli({u"keys"_s, u"*"_s});
    QVERIFY(keys.contains("tk:{gmail:default}:account:YWxpY2VAZXhhbXBsZS5jb20"));
    QVERIFY(!keys.contains("alice"));
}

void TestBucketService::normalizesTheAccount()
{
    for (const QString &account :
         {u"alice@example.com"_s, u"  Alice@EXAMPLE.com\t"_s, u"ÄB@x"_s, u"Äb@x"_s, u"äb@x"_s, u"a:{b}@x"_s})
        QVERIFY(acquire(request(1, account)).answer.granted);
    // A–Z only: Ä and ä are two accounts.
    QCOMPARE(m_server.cli({u"keys"_s, u"*account*"_s}).split('\n').size(), 4);
}

void TestBucketService::refusesBadRequests_data()
{
    QTest::addColumn<QuotaRequest>("bad");
    QTest::addColumn<QString>("field");
    const auto row = [this](const char *name, const QString &field, auto change) {
        QuotaRequest bad = request(1);
        change(bad);
        QTest::newRow(name) << bad << field;
    };
    row("no account", u"account"_s, [](QuotaRequest &r) { r.account = u"  "_s; });
    row("long account", u"account"_s, [](QuotaRequest &r) { r.account = QString(321, u'a'); });
    row("long in UTF-8", u"account"_s, [](QuotaRequest &r) { r.account = QString(161, u'é'); });
    row("10 kB account", u"account"_s, [](QuotaRequest &r) { r.account = QString(10'000, u'a'); });
    row("negative cost", u"cost"_s, [](QuotaRequest &r) { r.cost = -1; });
    row("huge cost", u"cost"_s, [](QuotaRequest &r) { r.cost = 1'000'000'001; });
    row("lane", u"lane"_s, [](QuotaRequest &r) { r.lane = u"fast"_s; });
    row("negative wait", u"max_wait_ms"_s, [](QuotaRequest &r) { r.maxWaitMs = -1; });
    row("long wait", u"max_wait_ms"_s, [](QuotaRequest &r) { r.maxWaitMs = 30'001; });
    row("long id", u"id"_s, [](QuotaRequest &r) { r.id = QString(65, u'x'); });
    row("deadline", u"deadline_ms"_s, [](QuotaRequest &r) { r.deadlineMs = 0; });
    row("hold", u"hold"_s, [](QuotaRequest &r) { r.hold = true; });
}

void TestBucketService::refusesBadRequests()
{
    QFETCH(QuotaRequest, bad);
    QFETCH(QString, field);

    const Answered answered = acquire(bad);
    QCOMPARE(answered.status.code, u"invalid_request"_s);
    QCOMPARE(answered.status.details["field"_L1].toString(), field);
    QVERIFY(answered.status.text.contains(field));
    QCOMPARE(m_server.cli({u"keys"_s, u"*account*"_s}), QByteArray());

    bad = request(1);
    bad.project = u"elsewhere"_s;
    QCOMPARE(acquire(bad).status.code, u"unknown_project"_s);
}

void TestBucketService::refusesBadPolicies()
{
    QJsonObject bad = policy();
    bad[u"account_capacity"_s] = 0;
    const Status status = publish(bad);
    QCOMPARE(status.code, u"invalid_policy"_s);
    QCOMPARE(status.details["field"_L1].toString(), u"account_capacity"_s);
    QVERIFY(acquire(request(360)).answer.granted); // the one before still holds
}

void TestBucketService::warnsOfUnwisePolicies()
{
    QJsonObject unwise = policy();
    unwise[u"account_capacity"_s] = 6'000;
    unwise[u"account_refill_per_minute"_s] = 6'000;
    QJsonObject result;
    QVERIFY(publish(unwise, &result).ok());
    QCOMPARE(result["warnings"_L1].toArray().size(), 1);
    QVERIFY(publish(policy(), &result).ok());
    QCOMPARE(result["warnings"_L1].toArray().size(), 0);
}

void TestBucketService::tellsTheLargestCost_data()
{
    QTest::addColumn<QString>("lane");
    QTest::addColumn<qint64>("largest");
    QTest::newRow("realtime") << u"realtime"_s << qint64(360);
    QTest::newRow("bulk") << u"bulk"_s << qint64(180);
}

// avifenesh/glide-mq#29, run-llama/llama_index#23202: what can never be granted is said at once.
void TestBucketService::tellsTheLargestCost()
{
    QFETCH(QString, lane);
    QFETCH(qint64, largest);

    QuotaRequest tooMuch = request(largest + 1);
    tooMuch.lane = lane;
    tooMuch.maxWaitMs = 30'000;
    const Answered answered = acquire(tooMuch);
    QCOMPARE(answered.answer.refusedBy, u"never"_s);
    QCOMPARE(answered.answer.retryAfterMs, -1);
    QCOMPARE(answered.answer.largestCost, largest);
    tooMuch.cost = largest;
    QVERIFY(acquire(tooMuch).answer.granted);
}

void TestBucketService::anIdIsChargedOnce()
{
    QuotaRequest once = request(100);
    once.id = u"job:{7}"_s;
    const Answered first = acquire(once);
    const Answered again = acquire(once);
    QVERIFY(first.answer.granted && again.answer.granted);
    QCOMPARE(again.answer.accountLevel, first.answer.accountLevel);
    QCOMPARE(again.answer.nowUs, first.answer.nowUs);
    QCOMPARE(again.answer.grantId, first.answer.grantId);
    once.cost = 101;
    const Answered other = acquire(once);
    QCOMPARE(other.status.code, u"invalid_request"_s);
    QCOMPARE(other.status.details["field"_L1].toString(), u"id"_s);
}

void TestBucketService::publishesAgainWhenThePolicyIsGone()
{
    m_server.cli({u"flushall"_s});
    const Answered answered = acquire(request(60));
    QVERIFY2(answered.status.ok(), qPrintable(answered.status.text));
    QVERIFY(answered.answer.granted);
    QVERIFY(!answered.answer.degraded);
    QCOMPARE(answered.answer.accountLevel, 300'000);
}

// vutran1710/PyrateLimiter#182, upstash/ratelimit-js#122: scripts that are gone are loaded again, for every call of a
// pipeline.
void TestBucketService::loadsAgainWhenTheFunctionsAreGone()
{
    int granted = 0, answered = 0;
    for (int i = 0; i < 50; ++i) {
        if (i == 25)
            m_connection->send({"FUNCTION", "FLUSH"}, [](const Result<redis::Value> &) {});
        m_buckets->acquire(u"gmail"_s, request(1),
                           whenDecided(this, [&](const Status &status, const QuotaAnswer &answer) {
                               ++answered;
                               granted += status.ok() && answer.granted && !answer.degraded;
                           }));
    }
    QTRY_COMPARE_WITH_TIMEOUT(answered, 50, 10'000);
    QCOMPARE(granted, 50);
}

void TestBucketService::publishesWhatWasPublishedWithoutRedis()
{
    m_server.kill();
    QTRY_VERIFY(!m_connection->isReady());
    QJsonObject larger = policy(false);
    larger[u"account_capacity"_s] = 500;
    QVERIFY(publish(larger).ok());
    QVERIFY(m_server.start());
    QVERIFY(QCoro::waitFor(m_connection->waitReady(10'000)));
    QTRY_VERIFY(m_server.cli({u"hget"_s, u"tk:{gmail:default}:policy"_s, u"account_capacity_milli"_s})
                == "500000");
}

void TestBucketService::withoutRedisTheSwitchDecides_data()
{
    QTest::addColumn<bool>("failOpen");
    QTest::newRow("open") << true;
    QTest::newRow("closed") << false;
}

void TestBucketService::withoutRedisTheSwitchDecides()
{
    QFETCH(bool, failOpen);

    QVERIFY(publish(policy(failOpen)).ok());
    m_server.kill();
    QTRY_VERIFY(!m_connection->isReady());
    const Answered answered = acquire(request(60));
    QCOMPARE(answered.status.ok(), failOpen);
    QCOMPARE(answered.answer.granted, failOpen);
    QCOMPARE(answered.answer.degraded, failOpen);
    if (!failOpen)
        QCOMPARE(answered.status.code, u"limiter_unavailable"_s);
    QVERIFY(m_server.start());
}

// api7/aisix#1147, IBM/cpex-plugins#78: a server that is silent must not hold the callers; and what was given up must
// not be charged once it wakes up.
void TestBucketService::aSilentRedisIsNotWaitedForAndChargesNothing()
{
    constexpr int calls = 50;
    QuotaRequest quick = request(7);
    quick.deadlineMs = 150;
    m_server.pause();
    QElapsedTimer timer;
    timer.start();
    int degraded = 0, answered = 0;
    for (int i = 0; i < calls; ++i) {
        m_buckets->acquire(u"gmail"_s, quick,
                           whenDecided(this, [&](const Status &, const QuotaAnswer &answer) {
                               ++answered;
                               degraded += answer.granted && answer.degraded;
                           }));
    }
    const bool inTime = QTest::qWaitFor([&] { return answered == calls; }, 5'000);
    const qint64 elapsedMs = timer.elapsed();
    m_server.resume();
    QVERIFY(inTime);
    QCOMPARE(degraded, calls);
    QVERIFY2(elapsedMs < 1'000, QByteArray::number(elapsedMs));

    QTRY_VERIFY_WITH_TIMEOUT(m_connection->isReady() && !acquire(request(0)).answer.degraded, 10'000);
    QCOMPARE(acquire(request(0)).answer.accountLevel, 360'000);
}

// spring-cloud/spring-cloud-gateway#248: a fault of the limiter's own was taken for an outage, and nothing was limited.
void TestBucketService::ourOwnFaultsAreNotConsent()
{
    m_server.cli({u"set"_s, u"tk:{gmail:default}:account:YWxpY2VAZXhhbXBsZS5jb20"_s, u"x"_s});
    const Answered answered = acquire(request(60));
    QCOMPARE(answered.status.code, u"limiter_unavailable"_s);
    QVERIFY(!answered.answer.granted);
    QVERIFY(!answered.status.text.contains(u"alice"_s));
}

void TestBucketService::countsOutcomes()
{
    QuotaRequest bulk = request(180);
    bulk.lane = u"bulk"_s;
    acquire(bulk);
    acquire(bulk);
    acquire(request(1'000));
    const Usage usage = m_buckets->usage().value(u"gmail"_s);
    QCOMPARE(usage.decisions.at({u"bulk"_s, u"granted"_s}), 1);
    QCOMPARE(usage.decisions.at({u"bulk"_s, u"account"_s}), 1);
    QCOMPARE(usage.decisions.at({u"realtime"_s, u"never"_s}), 1);
}

QTEST_GUILESS_MAIN(TestBucketService)
#include "tst_bucketservice.moc"
