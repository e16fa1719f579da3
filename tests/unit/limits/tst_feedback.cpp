// SPDX-License-Identifier: Apache-2.0
// What comes back after a decision, with two engines on one real Redis.
#include "bucketscene.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;
using namespace tidekeeper::limits::test;

namespace {

const QString alice = u"alice@example.com"_s;

QJsonObject verdict(bool rate, const QString &scope = {}, QJsonObject more = {})
{
    more.insert(u"account"_s, alice);
    more.insert(u"rate"_s, rate);
    more.insert(u"scope"_s, scope);
    return more;
}

QuotaRequest hold(qint64 cost, const QString &id = {})
{
    QuotaRequest request = BucketScene::request(cost);
    request.hold = true;
    request.id = id;
    return request;
}

} // namespace

class TestFeedback : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_server.start()); }
    void init();
    void cleanup();

    void placesAreHeldAndFreed();
    void aRepeatedHoldHasTheSamePlace();
    void oneGrantHasOneNameOnEveryEngine();
    void aGrantIsGivenBackOnce();
    void aRefundForgetsTheId();
    void nothingComesBackOfNothing();
    void aRefusalFreezesEveryEngine();
    void aFamilyFreezesItsMethodsOnly();
    void oneProbeAndAGoodAnswerOpen();
    void aProjectIsFrozenForAll();
    void ownFaultsAreSaid();
    void theDayIsBudgeted();
    void countsWhatWasUsed();
    void callersBeyondFiftyAreOthers();

private:
    BucketScene &here() { return *m_here; }
    BucketScene &there() { return *m_there; }

    tidekeeper::test::TestRedis m_server;
    std::unique_ptr<BucketScene> m_here;
    std::unique_ptr<BucketScene> m_there; ///< another engine
};

void TestFeedback::init()
{
    m_server.cli({u"flushall"_s});
    m_here = std::make_unique<BucketScene>(m_server.url());
    m_there = std::make_unique<BucketScene>(m_server.url());
}

void TestFeedback::cleanup()
{
    m_here.reset();
    m_there.reset();
}

void TestFeedback::placesAreHeldAndFreed()
{
    QJsonObject policy = BucketScene::policy();
    policy[u"slots"_s] = 2;
    QVERIFY(here().publish(policy).ok());

    const Answered first = here().acquire(hold(10));
    QVERIFY2(first.status.ok(), qPrintable(first.status.text));
    QVERIFY(first.answer.granted && !first.answer.holdId.isEmpty());
    const qint64 leaseMs = first.answer.holdExpiresAt - first.answer.nowUs / 1'000;
    QVERIFY2(leaseMs >= 59'999 && leaseMs <= 60'000, QByteArray::number(leaseMs));
    QVERIFY(there().acquire(hold(10)).answer.granted);

    const Answered refused = here().acquire(hold(10));
    QCOMPARE(refused.answer.refusedBy, u"concurrency"_s);
    QVERIFY(refused.answer.retryAfterMs > 50'000 && refused.answer.retryAfterMs <= 60'000);
    QVERIFY(refused.answer.holdId.isEmpty());
    QVERIFY(here().acquire(BucketScene::request(10)).answer.granted); // who needs no place is not concerned

    QCOMPARE(there().release(first.answer.holdId)["released"_L1], QJsonValue(true));
    QCOMPARE(here().release(first.answer.holdId)["released"_L1], QJsonValue(false)); // once more is no fault
    QVERIFY(here().acquire(hold(10)).answer.granted);
}

void TestFeedback::aRepeatedHoldHasTheSamePlace()
{
    const Answered first = here().acquire(hold(10, u"job 7"_s));
    const Answered again = there().acquire(hold(10, u"job 7"_s));
    QVERIFY(!first.answer.holdId.isEmpty());
    QCOMPARE(again.answer.holdId, first.answer.holdId);
    QCOMPARE(m_server.cli({u"zcard"_s, u"tk:{gmail:default}:slots:YWxpY2VAZXhhbXBsZS5jb20"_s}),
             QByteArray("1"));
}

void TestFeedback::oneGrantHasOneNameOnEveryEngine()
{
    QuotaRequest request = BucketScene::request(100);
    request.id = u"job 7"_s;
    const Answered first = here().acquire(request);
    const Answered again = there().acquire(request);
    QVERIFY(first.answer.granted && again.answer.granted);
    QCOMPARE(again.answer.grantId, first.answer.grantId);
    QVERIFY(here().acquire(BucketScene::request(100)).answer.grantId != first.answer.grantId);
}

void TestFeedback::aGrantIsGivenBackOnce()
{
    const Answered granted = here().acquire(BucketScene::request(100));
    const QJsonObject back = there().refund(granted.answer.grantId);
    QCOMPARE(back["refunded"_L1], QJsonValue(true));
    // What has refilled since the grant has come back by itself.
    QVERIFY2(back["account_units"_L1].toInt() >= 95 && back["account_units"_L1].toInt() <= 100,
             qPrintable(QString::number(back["account_units"_L1].toInt())));
    QVERIFY(back.contains("project_units"_L1));
    QVERIFY(here().acquire(BucketScene::request(0)).answer.accountLevel > 359'900);
    QCOMPARE(here().buckets.usage().value(u"gmail"_s).refunds.calls, 0);
    QCOMPARE(there().buckets.usage().value(u"gmail"_s).refunds.units, back["account_units"_L1].toInt());

    const QJsonObject again = here().refund(granted.answer.grantId);
    QCOMPARE(again["refunded"_L1], QJsonValue(false));
    QCOMPARE(again["reason"_L1].toString(), u"already"_s);
    QVERIFY(!again["text"_L1].toString().isEmpty());
}

void TestFeedback::aRefundForgetsTheId()
{
    QuotaRequest request = BucketScene::request(100);
    request.id = u"job 7"_s;
    const Answered first = here().acquire(request);
    QCOMPARE(here().refund(first.answer.grantId)["refunded"_L1], QJsonValue(true));
    const Answered second = here().acquire(request); // charged: the answer of before is void
    QVERIFY(second.answer.granted);
    QVERIFY(second.answer.grantId != first.answer.grantId);
    QVERIFY(second.answer.accountLevel < 265'000);
}

void TestFeedback::nothingComesBackOfNothing()
{
    const Answered free = here().acquire(BucketScene::request(0));
    QCOMPARE(here().refund(free.answer.grantId)["reason"_L1].toString(), u"free"_s);
    const qint64 longAgoUs = here().clock.nowMs() * 1'000 - 61'000'000;
    const QString old = grantIdOf(u"gmail"_s, {u"default"_s, alice, 100, longAgoUs, false, {}});
    QCOMPARE(here().refund(old)["reason"_L1].toString(), u"late"_s);
    QCOMPARE(here().refund(u"mistyped"_s)["field"_L1].toString(), u"grant_id"_s);
    const QString elsewhere = grantIdOf(u"gmail"_s, {u"gone"_s, alice, 100, longAgoUs, false, {}});
    QCOMPARE(here().refund(elsewhere)["code"_L1].toString(), u"unknown_project"_s);

    QJsonObject shadow = BucketScene::policy();
    shadow[u"enforce"_s] = false;
    QVERIFY(here().publish(shadow).ok());
    QVERIFY(here().acquire(BucketScene::request(300)).answer.refusedBy.isEmpty());
    const Answered refused = here().acquire(BucketScene::request(300));
    QVERIFY(refused.answer.granted);
    QCOMPARE(refused.answer.refusedBy, u"account"_s);
    QCOMPARE(refused.answer.waitMs, 0);
    QCOMPARE(here().refund(refused.answer.grantId)["reason"_L1].toString(), u"free"_s);
}

// meltylabs/melty#86: a lock-out of 15 minutes that each further call makes longer.
void TestFeedback::aRefusalFreezesEveryEngine()
{
    const Answered granted = here().acquire(BucketScene::request(40));
    const QJsonObject frozen = here().report(verdict(
        true, u"account"_s, {{u"retry_after_ms"_s, 900'000}, {u"grant_id"_s, granted.answer.grantId}}));
    const qint64 inMs = frozen["frozen_until"_L1].toInteger() - here().clock.nowMs();
    QVERIFY2(inMs > 890'000 && inMs <= 900'001, QByteArray::number(inMs));
    QVERIFY(frozen["retry_after_ms"_L1].toInteger() > 890'000);
    QCOMPARE(frozen["pace"_L1].toDouble(), 0.7);

    for (const qint64 cost : {1, 0}) { // also who only asks before sending
        const Answered refused = there().acquire(BucketScene::request(cost));
        QCOMPARE(refused.answer.refusedBy, u"account_frozen"_s);
        QVERIFY(refused.answer.retryAfterMs > 890'000 && refused.answer.retryAfterMs <= 900'000);
    }
    QVERIFY(there().acquire(BucketScene::request(1, u"bob@example.com"_s)).answer.granted);

    const Usage usage = here().buckets.usage().value(u"gmail"_s);
    QCOMPARE(usage.reports.at(u"account"_s), 1);
    QCOMPARE(usage.chargedButRefused.calls, 1);
    QCOMPARE(usage.chargedButRefused.units, 40);
    QCOMPARE(m_server.cli({u"hget"_s, u"tk:{gmail:default}:project"_s, u"refused_units"_s}),
             QByteArray("40"));
}

void TestFeedback::aFamilyFreezesItsMethodsOnly()
{
    QJsonObject policy = BucketScene::policy();
    policy[u"method_families"_s] = QJsonObject{{u"mail.send"_s, u"mail_sending"_s}};
    QVERIFY(here().publish(policy).ok());
    here().report(
        verdict(true, u"account"_s, {{u"family"_s, u"mail_sending"_s}, {u"retry_after_ms"_s, 60'000}}));
    QuotaRequest request = BucketScene::request(10);
    request.method = u"mail.send"_s;
    QCOMPARE(here().acquire(request).answer.refusedBy, u"account_frozen"_s);
    request.method = u"mail.read"_s;
    QVERIFY(here().acquire(request).answer.granted);
}

void TestFeedback::oneProbeAndAGoodAnswerOpen()
{
    here().report(verdict(true, u"account"_s, {{u"retry_after_ms"_s, 1}})); // a second at least
    // The freeze ends, then the bucket has refilled for one unit, and that call is the probe.
    QVERIFY(
        QTest::qWaitFor([this] { return here().acquire(BucketScene::request(1)).answer.granted; }, 8'000));
    QCOMPARE(there().acquire(BucketScene::request(1)).answer.refusedBy, u"account_frozen"_s);
    here().report(verdict(false));
    QVERIFY(there().acquire(BucketScene::request(0)).answer.granted);
    QCOMPARE(here().buckets.usage().value(u"gmail"_s).reports.at(u"ok"_s), 1);
}

void TestFeedback::aProjectIsFrozenForAll()
{
    const QJsonObject frozen = here().report(verdict(true, u"project"_s, {{u"told_limit"_s, 120'000}}));
    QCOMPARE(frozen["pace"_L1].toDouble(), 0.1); // of the 1,200,000 that are published
    const Answered refused = there().acquire(BucketScene::request(1, u"bob@example.com"_s));
    QCOMPARE(refused.answer.refusedBy, u"project_frozen"_s);
}

void TestFeedback::ownFaultsAreSaid()
{
    QCOMPARE(here().report(verdict(true, u"user"_s))["field"_L1].toString(), u"scope"_s);
    QCOMPARE(here().report(verdict(true, u"account"_s, {{u"project"_s, u"gone"_s}}))["code"_L1].toString(),
             u"unknown_project"_s);
    // With the policy gone it is published again on the way.
    m_server.cli({u"flushall"_s});
    QVERIFY(here().report(verdict(true, u"account"_s)).contains("frozen_until"_L1));
    m_server.kill();
    QTRY_VERIFY(!here().connection.isReady());
    QCOMPARE(here().report(verdict(true, u"account"_s))["code"_L1].toString(), u"limiter_unavailable"_s);
    QCOMPARE(here().release(holdIdOf(u"gmail"_s, {u"default"_s, "YQ", u"1-1"_s}))["code"_L1].toString(),
             u"limiter_unavailable"_s);
    QVERIFY(m_server.start());
}

void TestFeedback::theDayIsBudgeted()
{
    QJsonObject policy = BucketScene::policy();
    policy[u"day_budget"_s] = 100;
    policy[u"day_action"_s] = u"refuse-bulk"_s;
    policy[u"day_zone"_s] = u"America/Los_Angeles"_s;
    QVERIFY(here().publish(policy).ok());
    QuotaRequest bulk = BucketScene::request(60);
    bulk.lane = u"bulk"_s;
    QVERIFY(here().acquire(bulk).answer.granted);
    bulk.account = u"bob@example.com"_s;
    const Answered refused = here().acquire(bulk);
    QCOMPARE(refused.answer.refusedBy, u"day"_s);
    const qint64 endsInMs = QuotaDay::at(here().clock.nowMs(), *core::Zone::find("America/Los_Angeles")).endMs
        - here().clock.nowMs();
    QVERIFY2(qAbs(refused.answer.retryAfterMs - endsInMs) < 5'000,
             QByteArray::number(refused.answer.retryAfterMs));
    QVERIFY(here().acquire(BucketScene::request(60)).answer.granted); // realtime goes on
}

void TestFeedback::countsWhatWasUsed()
{
    QuotaRequest request = BucketScene::request(30);
    request.caller = u"sync"_s;
    here().acquire(request);
    here().acquire(request);
    request.cost = 350; // refused
    here().acquire(request);
    here().acquire(BucketScene::request(5));
    const std::map<QString, qint64> expected{{QString(), 5}, {u"sync"_s, 60}};
    QCOMPARE(here().buckets.usage().value(u"gmail"_s).unitsByCaller, expected);
}

void TestFeedback::callersBeyondFiftyAreOthers()
{
    Usage usage;
    usage.granted({}, 1);
    for (int i = 0; i < 60; ++i)
        usage.granted(u"caller %1"_s.arg(i), 2);
    usage.granted(u"caller 7"_s, 3);
    usage.granted(u"caller 57"_s, 4);
    QCOMPARE(usage.unitsByCaller.size(), size_t(52)); // 50, the unnamed and the others
    QCOMPARE(usage.unitsByCaller.at(u"caller 7"_s), 5);
    QCOMPARE(usage.unitsByCaller.at(u"other"_s), 10 * 2 + 4);
    QCOMPARE(usage.unitsByCaller.at({}), 1);
}

QTEST_GUILESS_MAIN(TestFeedback)
#include "tst_feedback.moc"
