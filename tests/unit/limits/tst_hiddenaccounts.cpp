// SPDX-License-Identifier: Apache-2.0
// Accounts that are named by an HMAC, over a real Redis: engines with one key share buckets, people see whom an engine
// knows, and Redis never sees an address.
#include "bucketscene.h"
#include "limits/accountoverrides.h"
#include "limits/levelindex.h"
#include "limits/levelreader.h"

#include <tidekeeper/callback.h>

#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;
using namespace tidekeeper::limits::test;

namespace {

const QString alice = u"alice@example.com"_s;
const QByteArray aliceInBase64("YWxpY2VAZXhhbXBsZS5jb20");
const QString kim = u"kim@example.com"_s;
const QByteArray kimInBase64("a2ltQGV4YW1wbGUuY29t");

QJsonObject hidden(const QString &keyFile)
{
    QJsonObject policy = BucketScene::policy();
    policy[u"account_key"_s] = u"hmac"_s;
    policy[u"account_key_file"_s] = keyFile;
    return policy;
}

/// One process; publishes for the limiter "hidden".
struct TestEngine {
    TestEngine(const QString &url, const QJsonObject &policy) : scene(url)
    {
        QObject context;
        std::optional<Status> published;
        scene.buckets.publish(
            u"hidden"_s, u"default"_s, policy,
            whenDone(&context, [&](const Status &status, const QJsonObject &) { published = status; }));
        if (!QTest::qWaitFor([&] { return published.has_value(); }, 10'000) || !published->ok())
            qFatal("publish() failed");
    }

    QuotaAnswer acquire(const QuotaRequest &request)
    {
        QObject context;
        std::optional<QuotaAnswer> ended;
        scene.buckets.acquire(
            u"hidden"_s, request,
            whenDecided(&context, [&](const Status &, const QuotaAnswer &answer) { ended = answer; }));
        if (!QTest::qWaitFor([&] { return ended.has_value(); }, 10'000))
            qFatal("acquire() was not answered");
        return *ended;
    }

    QJsonObject list(const QString &filter = {})
    {
        return QCoro::waitFor(levels.list(u"hidden"_s, filter, 100)).value_or(QJsonObject());
    }

    BucketScene scene;
    LevelIndex index{scene.connection, scene.buckets.projects(), scene.clock};
    LevelReader levels{scene.connection, scene.library, scene.buckets.projects(), scene.clock};
    AccountOverrides overrides{scene.connection, scene.library, scene.buckets.projects()};
};

} // namespace

class TestHiddenAccounts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();

    void enginesWithOneKeyShareBuckets();
    void enginesWithOtherKeysDoNot();
    void grantsAndPlacesFindTheirWayBack();
    void listsWhomTheEngineKnows();
    void showsOneAccountByItsAddress();
    void overridesUnderOldNamesAreTakenBack();
    void theKeyIsReadOnce();
    void aBadFileIsNoPolicy();
    void redisNeverSeesAnAddress();

private:
    QString keyFile(const QByteArray &key)
    {
        QFile file(m_server.folder() + u"/names.key"_s);
        if (!file.open(QIODevice::WriteOnly) || file.write(key) != key.size())
            qFatal("%s", qPrintable(file.errorString()));
        file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
        return file.fileName();
    }
    QByteArray everythingInRedis();

    tidekeeper::test::TestRedis m_server;
    QString m_keyFile;
};

void TestHiddenAccounts::initTestCase()
{
    QVERIFY(m_server.start());
}

void TestHiddenAccounts::init()
{
    m_server.cli({u"flushall"_s});
    m_keyFile = keyFile("00112233445566778899aabbccddeeff\n");
}

/// All keys with all that is in them.
QByteArray TestHiddenAccounts::everythingInRedis()
{
    QByteArray all;
    for (const QByteArray &line : m_server.cli({u"--scan"_s}).split('\n')) {
        const QString key = QString::fromUtf8(line);
        const QByteArray type = m_server.cli({u"type"_s, key});
        all += line + '\n';
        if (type == "hash")
            all += m_server.cli({u"hgetall"_s, key});
        else if (type == "zset")
            all += m_server.cli({u"zrange"_s, key, u"0"_s, u"-1"_s});
        else if (type == "string")
            all += m_server.cli({u"get"_s, key});
        else
            qFatal("a key of type %s", type.constData());
        all += '\n';
    }
    return all;
}

void TestHiddenAccounts::enginesWithOneKeyShareBuckets()
{
    TestEngine first(m_server.url(), hidden(m_keyFile));
    TestEngine second(m_server.url(), hidden(m_keyFile));
    QVERIFY(first.acquire(BucketScene::request(200)).granted);
    const QuotaAnswer refused = second.acquire(BucketScene::request(200, u" ALICE@example.com"_s));
    QCOMPARE(refused.refusedBy, u"account"_s);
    QVERIFY(second.acquire(BucketScene::request(200, kim)).granted);
}

void TestHiddenAccounts::enginesWithOtherKeysDoNot()
{
    TestEngine first(m_server.url(), hidden(m_keyFile));
    TestEngine second(m_server.url(), hidden(keyFile("another key than the first\n")));
    QVERIFY(first.acquire(BucketScene::request(200)).granted);
    QVERIFY(second.acquire(BucketScene::request(200)).granted);
}

void TestHiddenAccounts::grantsAndPlacesFindTheirWayBack()
{
    TestEngine first(m_server.url(), hidden(m_keyFile));
    TestEngine second(m_server.url(), hidden(m_keyFile));
    QuotaRequest request = BucketScene::request(200);
    request.hold = true;
    request.id = u"once"_s;
    const QuotaAnswer granted = first.acquire(request);
    QVERIFY(granted.granted);
    QCOMPARE(second.acquire(request).grantId, granted.grantId); // the same answer again

    auto &buckets = second.scene.buckets;
    const auto released = QCoro::waitFor(buckets.release(u"hidden"_s, granted.holdId));
    QVERIFY(released);
    QCOMPARE((*released)["released"_L1].toBool(), true);
    const auto refunded = QCoro::waitFor(buckets.refund(u"hidden"_s, granted.grantId));
    QVERIFY(refunded);
    QCOMPARE((*refunded)["refunded"_L1].toBool(), true);
    QVERIFY(first.acquire(BucketScene::request(300)).granted);
}

void TestHiddenAccounts::listsWhomTheEngineKnows()
{
    TestEngine first(m_server.url(), hidden(m_keyFile));
    first.acquire(BucketScene::request(200));
    first.acquire(BucketScene::request(100, kim));
    const QString active = u"tk:{hidden:default}:active"_s;
    QTRY_COMPARE(m_server.cli({u"zcard"_s, active}), QByteArray("2"));
    const QJsonObject seen = first.list();
    QCOMPARE(seen["buckets"_L1][0]["account"_L1].toString(), alice);
    QVERIFY(seen["buckets"_L1][0]["key"_L1].isUndefined());
    QCOMPARE(seen["buckets"_L1][1]["account"_L1].toString(), kim);
    QVERIFY(first.list(u"alice"_s)["complete"_L1].toBool());

    TestEngine second(m_server.url(), hidden(m_keyFile));
    second.overrides.set(
        u"hidden"_s, u"default"_s,
        {{kim, {.capacity = 300, .refillPerMinute = 60, .reserveMilli = 5'000, .places = 3}}});
    const QJsonObject unseen = second.list();
    QCOMPARE(unseen["total"_L1].toInt(), 2);
    const QJsonObject unknown = unseen["buckets"_L1][0].toObject();
    QVERIFY(unknown["account"_L1].isNull());
    // printf %s alice@example.com | openssl dgst -sha256 -hmac KEY -binary | base64 | tr +/ -_ | tr -d =
    QCOMPARE(unknown["key"_L1].toString(), u"_gxjSFl5YEIbV-yPYXSI9E09D0WLVWBFEytJZT9B-Ho"_s);
    QCOMPARE(unknown["lanes"_L1]["realtime"_L1]["units"_L1].toInt(), 200);
    QCOMPARE(unseen["buckets"_L1][1]["account"_L1].toString(), kim); // it has an override

    const QJsonObject found = second.list(u"EXAMPLE"_s);
    QCOMPARE(found["total"_L1].toInt(), 1);
    QCOMPARE(found["buckets"_L1][0]["account"_L1].toString(), kim);
    QCOMPARE(found["complete"_L1].toBool(), false); // one could not be searched
}

void TestHiddenAccounts::showsOneAccountByItsAddress()
{
    TestEngine first(m_server.url(), hidden(m_keyFile));
    TestEngine second(m_server.url(), hidden(m_keyFile));
    first.acquire(BucketScene::request(200));
    const auto shown = QCoro::waitFor(second.levels.account(u"hidden"_s, {}, u" Alice@example.com"_s));
    QVERIFY(shown);
    QCOMPARE((*shown)["account"_L1].toString(), alice);
    QVERIFY((*shown)["level"_L1].toInt() < 170);
}

/// They were written before the accounts were hidden.
void TestHiddenAccounts::overridesUnderOldNamesAreTakenBack()
{
    const AccountOverrides::Wanted wanted{
        {kim, {.capacity = 300, .refillPerMinute = 60, .reserveMilli = 5'000, .places = 3}}};
    const QString policyKey = u"tk:{hidden:default}:policy"_s;
    {
        TestEngine before(m_server.url(), BucketScene::policy());
        before.overrides.set(u"hidden"_s, u"default"_s, wanted);
        QTRY_VERIFY(m_server.cli({u"hkeys"_s, policyKey}).contains(kimInBase64));
    }
    TestEngine after(m_server.url(), hidden(m_keyFile));
    after.overrides.set(u"hidden"_s, u"default"_s, wanted);
    QTRY_VERIFY(!m_server.cli({u"hkeys"_s, policyKey}).contains(kimInBase64));
    QCOMPARE(after.acquire(BucketScene::request(301, kim)).refusedBy, u"never"_s);
}

void TestHiddenAccounts::theKeyIsReadOnce()
{
    TestEngine engine(m_server.url(), hidden(m_keyFile));
    engine.acquire(BucketScene::request(200));
    keyFile("another key than the first\n");
    for (const QJsonObject &again : {hidden(m_keyFile), hidden(u"/nowhere"_s), BucketScene::policy()}) {
        std::optional<Status> published;
        engine.scene.buckets.publish(
            u"hidden"_s, u"default"_s, again,
            whenDone(this, [&](const Status &status, const QJsonObject &) { published = status; }));
        QTRY_VERIFY(published);
        QVERIFY2(published->ok(), qPrintable(published->text));
        QCOMPARE(engine.acquire(BucketScene::request(200)).refusedBy, u"account"_s);
    }
}

void TestHiddenAccounts::aBadFileIsNoPolicy()
{
    BucketScene scene(m_server.url());
    Status refused;
    scene.buckets.publish(
        u"hidden"_s, u"default"_s, hidden(keyFile("short")),
        whenDone(this, [&](const Status &status, const QJsonObject &) { refused = status; }));
    QCOMPARE(refused.code, u"invalid_policy"_s);
    QCOMPARE(refused.details["field"_L1].toString(), u"account_key_file"_s);
    QVERIFY(!scene.buckets.projects().find(u"hidden"_s, u"default"_s));
}

void TestHiddenAccounts::redisNeverSeesAnAddress()
{
    TestEngine engine(m_server.url(), hidden(m_keyFile));
    m_server.cli({u"config"_s, u"set"_s, u"slowlog-log-slower-than"_s, u"0"_s});
    engine.overrides.set(
        u"hidden"_s, u"default"_s,
        {{kim, {.capacity = 300, .refillPerMinute = 60, .reserveMilli = 5'000, .places = 3}}});
    QuotaRequest request = BucketScene::request(100);
    request.hold = true;
    request.id = u"once"_s;
    const QuotaAnswer granted = engine.acquire(request);
    QVERIFY(!granted.holdId.isEmpty());
    engine.acquire(BucketScene::request(100, kim));
    auto &buckets = engine.scene.buckets;
    QVERIFY(QCoro::waitFor(buckets.refund(u"hidden"_s, granted.grantId)));
    std::optional<Status> reported;
    const QJsonObject verdict{{u"account"_s, kim}, {u"rate"_s, true}, {u"scope"_s, u"account"_s}};
    buckets.report(u"hidden"_s, verdict,
                   whenDone(this, [&](const Status &status, const QJsonObject &) { reported = status; }));
    QTRY_VERIFY(reported && reported->ok());
    const QByteArray name =
        engine.scene.buckets.projects().find(u"hidden"_s, u"default"_s)->keys.accountName(kim);
    // Bucket, override, level and uses of both are there.
    QTRY_COMPARE(m_server.cli({u"zcard"_s, u"tk:{hidden:default}:active"_s}), QByteArray("2"));
    QTRY_VERIFY(everythingInRedis().count(name) >= 4);

    const QByteArray all = everythingInRedis() + m_server.cli({u"slowlog"_s, u"get"_s, u"1000"_s});
    for (const QByteArray &trace :
         {alice.toUtf8(), kim.toUtf8(), aliceInBase64, kimInBase64, QByteArray("@example"),
          alice.toUtf8().toHex(), QByteArray("00112233445566778899aabbccddeeff")})
        QVERIFY2(!all.contains(trace), trace.constData());
}

QTEST_GUILESS_MAIN(TestHiddenAccounts)
#include "tst_hiddenaccounts.moc"
