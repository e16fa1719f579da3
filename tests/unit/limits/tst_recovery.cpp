// SPDX-License-Identifier: Apache-2.0
// Calls that meet a fault which can be mended inside their deadline, and faults of our own that are never consent.
#include "bucketscene.h"
#include "cuttingproxy.h"
#include "limits/quotalibrary.h"
#include "redis/scriptedserver.h"
#include "support/fakeclock.h"

#include <tidekeeper/callback.h>

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;
using namespace tidekeeper::limits::test;

namespace {

const QString policyKey = u"tk:{gmail:default}:policy"_s;
const QString accountKey = u"tk:{gmail:default}:account:YWxpY2VAZXhhbXBsZS5jb20"_s;

} // namespace

class TestRecovery : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_server.start()); }
    void init() { m_server.cli({u"flushall"_s}); }

    void aPolicyThatIsGoneIsPublishedAgain();
    void somethingElseUnderThePolicysName();
    void aDayThatEndedIsFollowedByTheNext();
    void aFullRedisTakesThePolicyLater();
    void faultsOfOursAreNeitherConsentNorAnOutage();
    void aThousandCallsMeetAFlush_data();
    void aThousandCallsMeetAFlush();
    void aCutAnswerIsAskedForAgainWithAnId();
    void aCutAnswerIsNotAskedForAgainWithoutAnId();
    void whatWasNotExecutedIsAskedAgain_data();
    void whatWasNotExecutedIsAskedAgain();
    void whatStaysSoEndsWithTheDeadline();

private:
    qint64
    charged(const QString &account = accountKey) const; ///< milli-units that are missing, without refill

    tidekeeper::test::TestRedis m_server;
};

qint64 TestRecovery::charged(const QString &account) const
{
    return 360'000 - m_server.cli({u"hget"_s, account, u"level_milli"_s}).toLongLong();
}

void TestRecovery::aPolicyThatIsGoneIsPublishedAgain()
{
    BucketScene scene(m_server.url());
    QVERIFY(m_server.cli({u"del"_s, policyKey}) == "1");
    const Answered answered = scene.acquire(BucketScene::request(60));
    QVERIFY2(answered.status.ok(), qPrintable(answered.status.text));
    QVERIFY(answered.answer.granted && !answered.answer.degraded);
    QVERIFY(m_server.cli({u"hget"_s, policyKey, u"account_capacity_milli"_s}) == "360000");
}

void TestRecovery::somethingElseUnderThePolicysName()
{
    BucketScene scene(m_server.url());
    QVERIFY(m_server.cli({u"set"_s, policyKey, u"x"_s}) == "OK");
    const Answered answered = scene.acquire(BucketScene::request(60));
    QVERIFY2(answered.status.ok(), qPrintable(answered.status.text));
    QVERIFY(answered.answer.granted && !answered.answer.degraded);
    QVERIFY(m_server.cli({u"type"_s, policyKey}) == "hash");
}

void TestRecovery::aDayThatEndedIsFollowedByTheNext()
{
    BucketScene scene(m_server.url());
    tidekeeper::test::FakeClock clock(1'768'521'599'000); // a second before the day ends in UTC
    ServerClock serverClock;
    Projects projects(scene.connection, scene.library, clock, serverClock);
    const auto project = projects.take(u"gmail"_s, u"default"_s, *Policy::from(BucketScene::policy()));
    const auto dayEnd = [this] { return m_server.cli({u"hget"_s, policyKey, u"day_end_us"_s}); };
    projects.publishWhatIsDue(); // the first ever publishes too
    QTRY_COMPARE(dayEnd(), QByteArray("1768521600000000"));

    m_server.cli({u"del"_s, policyKey}); // so that a publication shows
    clock.advance(999);
    projects.publishWhatIsDue();
    QTest::qWait(100);
    QCOMPARE(dayEnd(), QByteArray());
    clock.advance(1);
    projects.publishWhatIsDue();
    QTRY_COMPARE(dayEnd(), QByteArray("1768608000000000"));
}

/// A full Redis is an outage and no fault of the policy: what limits by it starts, and Redis gets it when it can.
void TestRecovery::aFullRedisTakesThePolicyLater()
{
    BucketScene scene(m_server.url());
    m_server.cli({u"config"_s, u"set"_s, u"maxmemory"_s, u"1mb"_s});
    const Status published = scene.publish(BucketScene::policy());
    tidekeeper::test::FakeClock clock(1'768'500'000'000);
    ServerClock serverClock;
    Projects projects(scene.connection, scene.library, clock, serverClock);
    projects.take(u"gmail"_s, u"later"_s, *Policy::from(BucketScene::policy()));
    projects.publishWhatIsDue();
    QTest::qWait(100);
    m_server.cli({u"config"_s, u"set"_s, u"maxmemory"_s, u"0"_s});
    QVERIFY2(published.ok(), qPrintable(published.text));
    projects.publishWhatIsDue();
    QTRY_COMPARE(m_server.cli({u"exists"_s, u"tk:{gmail:later}:policy"_s}), QByteArray("1"));
}

// spring-cloud/spring-cloud-gateway#248: a fault of the limiter's own was taken for an outage, and nothing was limited.
void TestRecovery::faultsOfOursAreNeitherConsentNorAnOutage()
{
    BucketScene scene(m_server.url());
    QVERIFY(m_server.cli({u"set"_s, accountKey, u"x"_s}) == "OK");
    // Redis gives the fields in an order that changes while its table grows.
    const auto fields = [this] {
        QByteArrayList lines = m_server.cli({u"hgetall"_s, policyKey}).split('\n');
        std::sort(lines.begin(), lines.end());
        return lines;
    };
    const QByteArrayList policy = fields();
    for (int i = 0; i < 10; ++i) {
        const Answered answered = scene.acquire(BucketScene::request(60));
        QCOMPARE(answered.status.code, u"limiter_unavailable"_s);
        QVERIFY(!answered.answer.granted);
        QVERIFY(!answered.status.text.contains(u"alice"_s));
    }
    QVERIFY(!scene.connection.isBreakerOpen());
    QCOMPARE(fields(), policy);
    QVERIFY(scene.acquire(BucketScene::request(60, u"bob@example.com"_s)).answer.granted);
}

void TestRecovery::aThousandCallsMeetAFlush_data()
{
    QTest::addColumn<QStringList>("fault");
    QTest::newRow("functions") << QStringList{u"function"_s, u"flush"_s};
    QTest::newRow("policy") << QStringList{u"del"_s, policyKey};
    QTest::newRow("everything") << QStringList{u"flushall"_s};
}

// vutran1710/PyrateLimiter#182, upstash/ratelimit-js#122: scripts that are gone are loaded again, for every call of a
// pipeline.
void TestRecovery::aThousandCallsMeetAFlush()
{
    QFETCH(QStringList, fault);

    constexpr int calls = 1'000;
    constexpr int inFlight = 100;
    BucketScene scene(m_server.url());
    int begun = 0, ended = 0, granted = 0;
    qint64 slowestMs = 0;
    std::function<void()> begin = [&] {
        if (begun == calls / 2) {
            QList<QByteArray> command;
            for (const QString &word : fault)
                command.append(word.toUtf8());
            scene.connection.send(command, [](const Result<redis::Value> &) {});
        }
        ++begun;
        const qint64 startMs = scene.clock.monotonicMs();
        scene.buckets.acquire(
            u"gmail"_s, BucketScene::request(1, u"%1@example.com"_s.arg(begun)),
            whenDecided(this, [&, startMs](const Status &status, const QuotaAnswer &answer) {
                ++ended;
                granted += status.ok() && answer.granted && !answer.degraded;
                slowestMs = std::max(slowestMs, scene.clock.monotonicMs() - startMs);
                if (begun < calls)
                    begin();
            }));
    };
    for (int i = 0; i < inFlight; ++i)
        begin();
    QTRY_COMPARE_WITH_TIMEOUT(ended, calls, 20'000);
    QCOMPARE(granted, calls);
    QVERIFY2(slowestMs < 5'000, QByteArray::number(slowestMs));
}

void TestRecovery::aCutAnswerIsAskedForAgainWithAnId()
{
    tidekeeper::test::CuttingProxy proxy(m_server.socketPath());
    BucketScene scene(proxy.url());
    QuotaRequest once = BucketScene::request(100);
    once.id = u"job 7"_s;
    proxy.cutNextAnswer();
    const Answered answered = scene.acquire(once);
    QCOMPARE(proxy.cuts(), 1);
    QVERIFY2(answered.status.ok(), qPrintable(answered.status.text));
    QVERIFY(answered.answer.granted && !answered.answer.degraded);
    QCOMPARE(charged(), 100'000);
}

void TestRecovery::aCutAnswerIsNotAskedForAgainWithoutAnId()
{
    tidekeeper::test::CuttingProxy proxy(m_server.socketPath());
    BucketScene scene(proxy.url());
    QVERIFY(scene.publish(BucketScene::policy(false)).ok());
    proxy.cutNextAnswer();
    QCOMPARE(scene.acquire(BucketScene::request(100)).status.code, u"limiter_unavailable"_s);
    QCOMPARE(proxy.cuts(), 1);
    QTest::qWait(200); // whatever would be asked again has been asked by now
    QCOMPARE(charged(), 100'000); // once, and nobody knows: the price of having no id
}

void TestRecovery::whatWasNotExecutedIsAskedAgain_data()
{
    QTest::addColumn<QByteArray>("refusal");
    for (const char *text :
         {"LOADING Redis is loading the dataset in memory", "MOVED 1 127.0.0.1:1", "ASK 1 127.0.0.1:1",
          "TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN The cluster is down"})
        QTest::newRow(text) << QByteArray(text);
}

void TestRecovery::whatWasNotExecutedIsAskedAgain()
{
    QFETCH(QByteArray, refusal);

    int acquires = 0;
    tidekeeper::test::ScriptedServer server([&](const QList<QByteArray> &command) -> QByteArray {
        if (command.value(1) == "tidekeeper_publish_v1")
            return "*2\r\n:1\r\n:1800000000000000\r\n";
        if (command.value(1) != "tidekeeper_acquire_v1")
            return tidekeeper::test::ScriptedServer::greet(command);
        if (++acquires <= 3)
            return '-' + refusal + "\r\n";
        return "*9\r\n:1\r\n:0\r\n:0\r\n$0\r\n\r\n:1\r\n:2\r\n:3\r\n:4\r\n:1800000000000000\r\n";
    });
    BucketScene scene(server.url());
    const Answered answered = scene.acquire(BucketScene::request(1));
    QVERIFY2(answered.status.ok(), qPrintable(answered.status.text));
    QVERIFY(answered.answer.granted && !answered.answer.degraded);
    QCOMPARE(acquires, 4);
    QVERIFY(!scene.connection.isBreakerOpen());
}

void TestRecovery::whatStaysSoEndsWithTheDeadline()
{
    tidekeeper::test::ScriptedServer server([](const QList<QByteArray> &command) -> QByteArray {
        if (command.value(1) == "tidekeeper_publish_v1")
            return "*2\r\n:1\r\n:1800000000000000\r\n";
        return command.value(1) == "tidekeeper_acquire_v1" ? "-LOADING Redis is loading\r\n"
                                                           : tidekeeper::test::ScriptedServer::greet(command);
    });
    BucketScene scene(server.url());
    QVERIFY(scene.publish(BucketScene::policy(false)).ok());
    QuotaRequest quick = BucketScene::request(1);
    quick.deadlineMs = 150;
    const qint64 startMs = scene.clock.monotonicMs();
    QCOMPARE(scene.acquire(quick).status.code, u"limiter_unavailable"_s);
    const qint64 tookMs = scene.clock.monotonicMs() - startMs;
    QVERIFY2(tookMs >= 140 && tookMs < 500, QByteArray::number(tookMs));
}

QTEST_GUILESS_MAIN(TestRecovery)
#include "tst_recovery.moc"

#include <algorithm>
