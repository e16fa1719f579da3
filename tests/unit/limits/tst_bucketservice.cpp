// SPDX-License-Identifier: Apache-2.0
// The engine's side of the buckets, against a real Redis.
#include "bucketscene.h"

#include <tidekeeper/callback.h>

#include <QtCore/QElapsedTimer>
#include <QtCore/QJsonArray>
#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;
using namespace tidekeeper::limits::test;

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
    void publishesWhatWasPublishedWithoutRedis();
    void withoutRedisTheSwitchDecides_data();
    void withoutRedisTheSwitchDecides();
    void aSilentRedisIsNotWaitedForAndChargesNothing();
    void countsOutcomes();

private:
    static QJsonObject policy(bool failOpen = true) { return BucketScene::policy(failOpen); }
    static QuotaRequest request(qint64 cost, const QString &account = u"alice@example.com"_s)
    {
        return BucketScene::request(cost, account);
    }
    Status publish(const QJsonObject &policy, QJsonObject *result = nullptr)
    {
        return m_scene->publish(policy, result);
    }
    Answered acquire(const QuotaRequest &request) { return m_scene->acquire(request); }

    tidekeeper::test::TestRedis m_server;
    std::unique_ptr<BucketScene> m_scene;
};

void TestBucketService::initTestCase()
{
    QVERIFY(m_server.start());
}

void TestBucketService::init()
{
    m_server.cli({u"flushall"_s});
    m_scene = std::make_unique<BucketScene>(m_server.url());
}

void TestBucketService::cleanup()
{
    m_scene.reset();
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
    QVERIFY(qAbs(granted.answer.nowUs / 1000 - m_scene->clock.nowMs()) < 5'000);

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
    row("inner space", u"account"_s, [](QuotaRequest &r) { r.account = u"a b@x"_s; });
    row("line feed", u"account"_s, [](QuotaRequest &r) { r.account = u"a\n@x"_s; });
    row("no-break space", u"account"_s, [](QuotaRequest &r) { r.account = u"a\u00A0@x"_s; });
    row("NUL", u"account"_s, [](QuotaRequest &r) { r.account = u"a@x"_s + QChar(0); });
    row("DEL", u"account"_s, [](QuotaRequest &r) { r.account = u"a\u007F@x"_s; });
    row("half a character", u"account"_s, [](QuotaRequest &r) { r.account = u"a@x"_s + QChar(0xD800); });
    row("long caller", u"caller"_s, [](QuotaRequest &r) { r.caller = QString(65, u'x'); });
    row("caller with a line feed", u"caller"_s, [](QuotaRequest &r) { r.caller = u"a\nb"_s; });
    row("address as caller", u"caller"_s, [](QuotaRequest &r) { r.caller = u"a@x"_s; });
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

void TestBucketService::publishesWhatWasPublishedWithoutRedis()
{
    m_server.kill();
    QTRY_VERIFY(!m_scene->connection.isReady());
    QJsonObject larger = policy(false);
    larger[u"account_capacity"_s] = 500;
    QVERIFY(publish(larger).ok());
    QVERIFY(m_server.start());
    QVERIFY(QCoro::waitFor(m_scene->connection.waitReady(10'000)));
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
    QTRY_VERIFY(!m_scene->connection.isReady());
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
    // What passes without the local fallback is settled with nobody: so all that is charged was charged late.
    QJsonObject unbounded = policy();
    unbounded[u"local_fallback"_s] = false;
    QVERIFY(publish(unbounded).ok());
    m_server.pause();
    QElapsedTimer timer;
    timer.start();
    int degraded = 0, answered = 0;
    for (int i = 0; i < calls; ++i) {
        m_scene->buckets.acquire(u"gmail"_s, quick,
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

    QTRY_VERIFY_WITH_TIMEOUT(m_scene->connection.isReady() && !acquire(request(0)).answer.degraded, 10'000);
    QCOMPARE(acquire(request(0)).answer.accountLevel, 360'000);
}

void TestBucketService::countsOutcomes()
{
    QuotaRequest bulk = request(180);
    bulk.lane = u"bulk"_s;
    acquire(bulk);
    acquire(bulk);
    acquire(request(1'000));
    const Usage usage = m_scene->buckets.usage().value(u"gmail"_s);
    QCOMPARE(usage.decisions.at({u"bulk"_s, u"granted"_s}), 1);
    QCOMPARE(usage.decisions.at({u"bulk"_s, u"account"_s}), 1);
    QCOMPARE(usage.decisions.at({u"realtime"_s, u"never"_s}), 1);
}

QTEST_GUILESS_MAIN(TestBucketService)
#include "tst_bucketservice.moc"
