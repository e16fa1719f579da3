// SPDX-License-Identifier: Apache-2.0
// The list of levels over a real Redis: two engines write what they see, a client without an engine is found, and
// whoever asks reads it all.
#include "limits/bucketservice.h"
#include "limits/levelindex.h"
#include "limits/levelreader.h"
#include "limits/levelsweep.h"
#include "limits/quotalibrary.h"
#include "support/realclock.h"
#include "support/testredis.h"

#include <tidekeeper/callback.h>

#include <QtCore/QDateTime>
#include <QtCore/QElapsedTimer>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

namespace {

QJsonObject policy()
{
    return {
        {u"account_capacity"_s, 360},    {u"account_refill_per_minute"_s, 60},
        {u"project_capacity"_s, 72'000}, {u"project_refill_per_minute"_s, 1'090'000},
        {u"published_account"_s, 6'000}, {u"published_project"_s, 1'162'100},
        {u"bulk_reserve"_s, 0.5},        {u"project_bulk_reserve"_s, 0.2},
        {u"key_ttl_ms"_s, 3'600'000},    {u"send_slack_ms"_s, 2'000},
        {u"fail_open"_s, true},          {u"enforce"_s, true},
        {u"day_budget"_s, 80'000'000},   {u"day_action"_s, u"warn"_s},
        {u"day_zone"_s, u"UTC"_s},
    };
}

/// What one process holds.
struct TestEngine {
    explicit TestEngine(const test::TestRedis &server)
        : connection(*redis::Endpoint::fromUrl(server.url())),
          library(connection, "tidekeeper_quota", libraryCode()), buckets(connection, library, clock),
          index(connection, buckets.projects(), clock), sweep(connection, buckets.projects(), clock),
          levels(connection, library, buckets.projects(), clock)
    {
        connection.open();
        if (!QCoro::waitFor(connection.waitReady(10'000)))
            qFatal("no Redis");
        bool isPublished = false;
        buckets.publish(u"gmail"_s, u"default"_s, policy(),
                        whenDone(&buckets, [&](const Status &status, const QJsonObject &) {
                            isPublished = status.ok();
                        }));
        if (!QTest::qWaitFor([&] { return isPublished; }, 10'000))
            qFatal("publish() failed");
    }
    ~TestEngine() { connection.close(); }

    test::RealClock clock;
    redis::RedisConnection connection;
    redis::FunctionLibrary library;
    BucketService buckets;
    LevelIndex index;
    LevelSweep sweep;
    LevelReader levels;
};

struct Ask {
    QString account = {};
    qint64 cost = 1;
    QString lane = u"realtime"_s;
    QString caller = {};
    qint64 maxWaitMs = 0;
    bool hold = false;
};

} // namespace

class TestLevels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup();

    void listsTheMostDrainedFirst();
    void addsUpWhatAllEnginesGranted();
    void showsFreezesPlacesAndOwnLimits();
    void filtersByAddress();
    void findsClientsWithoutAnEngine();
    void showsOneAccount();
    void tellsTheProject();
    void countsEngines();
    void forgetsWhoIsFullForLong();
    void manyViewersCostOneReading();
    void thousandsOfAccounts();
    void failures();
    void worksAgainAfterRedisWasAway();

private:
    QuotaAnswer acquire(TestEngine &engine, const Ask &ask);
    QJsonObject list(int most = 100, const QString &filter = {});
    QStringList listed(int most = 100, const QString &filter = {});
    QJsonObject account(const QString &address);
    qint64 calls(const QString &command);
    qint64 active();

    test::TestRedis m_server;
    std::unique_ptr<TestEngine> m_engine;
};

void TestLevels::initTestCase()
{
    QVERIFY(m_server.start());
}

void TestLevels::init()
{
    m_server.cli({u"flushall"_s});
    m_engine = std::make_unique<TestEngine>(m_server);
}

void TestLevels::cleanup()
{
    m_engine.reset();
}

QuotaAnswer TestLevels::acquire(TestEngine &engine, const Ask &ask)
{
    QuotaRequest request;
    request.account = ask.account;
    request.cost = ask.cost;
    request.lane = ask.lane;
    request.caller = ask.caller;
    request.maxWaitMs = ask.maxWaitMs;
    request.hold = ask.hold;
    request.deadlineMs = 5'000;
    std::optional<QuotaAnswer> answered;
    engine.buckets.acquire(
        u"gmail"_s, request,
        whenDecided(this, [&](const Status &, const QuotaAnswer &answer) { answered = answer; }));
    if (!QTest::qWaitFor([&] { return answered.has_value(); }, 10'000))
        qFatal("acquire() was not answered");
    return *answered;
}

QJsonObject TestLevels::list(int most, const QString &filter)
{
    const Result<QJsonObject> answer = QCoro::waitFor(m_engine->levels.list(u"gmail"_s, filter, most));
    if (!answer)
        qWarning("%s", qPrintable(answer.error().text));
    return answer.value_or(QJsonObject());
}

QStringList TestLevels::listed(int most, const QString &filter)
{
    QStringList accounts;
    for (const QJsonValue &row : list(most, filter)["buckets"_L1].toArray())
        accounts.append(row["account"_L1].toString());
    return accounts;
}

QJsonObject TestLevels::account(const QString &address)
{
    return QCoro::waitFor(m_engine->levels.account(u"gmail"_s, {}, address)).value_or(QJsonObject());
}

/// How often Redis executed a command.
qint64 TestLevels::calls(const QString &command)
{
    const QByteArray stats = m_server.cli({u"info"_s, u"commandstats"_s});
    const qsizetype at = stats.indexOf("cmdstat_" + command.toLatin1() + ":calls=");
    const QByteArray rest = at < 0 ? QByteArray() : stats.mid(at).split('=').value(1);
    return rest.left(rest.indexOf(',')).toLongLong();
}

qint64 TestLevels::active()
{
    return m_server.cli({u"zcard"_s, u"tk:{gmail:default}:active"_s}).toLongLong();
}

void TestLevels::listsTheMostDrainedFirst()
{
    acquire(*m_engine, {u"ann@example.com"_s, 100});
    acquire(*m_engine, {u"Bea@Example.com"_s, 300});
    acquire(*m_engine, {u"cid@example.com"_s, 200});
    acquire(*m_engine, {u"bea@example.com"_s, 200}); // refused
    const QStringList drained{u"bea@example.com"_s, u"cid@example.com"_s, u"ann@example.com"_s};
    QElapsedTimer timer;
    timer.start();
    QTRY_COMPARE_WITH_TIMEOUT(listed(), drained, 3'000);
    QVERIFY2(timer.elapsed() < 1'100, qPrintable(QString::number(timer.elapsed()))); // a second old at most

    QTest::qWait(300); // past what is kept
    QCOMPARE(listed(2), drained.mid(0, 2));
    const QJsonObject all = list();
    QCOMPARE(all["total"_L1].toInt(), 3);
    QCOMPARE(all["complete"_L1].toBool(), true);
    const QJsonObject first = all["buckets"_L1].toArray()[0].toObject();
    QVERIFY(first["level"_L1].toInt() >= 60 && first["level"_L1].toInt() < 70);
    QCOMPARE(first["capacity"_L1].toInt(), 360);
    QCOMPARE(first["refill_per_minute"_L1].toInt(), 60);
    QCOMPARE(first["project"_L1].toString(), u"default"_s);
    QCOMPARE(first["pace"_L1].toDouble(), 1.0);
    QVERIFY(first["frozen_until"_L1].isNull());
    QCOMPARE(first["held"_L1].toInt(), 0);
    QCOMPARE(first["override"_L1].toBool(), false);
}

void TestLevels::addsUpWhatAllEnginesGranted()
{
    TestEngine second(m_server);
    acquire(*m_engine, {u"ann@example.com"_s, 30, u"realtime"_s, u"sync"_s});
    acquire(second, {u"ann@example.com"_s, 20, u"realtime"_s, u"sync"_s});
    acquire(second, {u"ann@example.com"_s, 10, u"bulk"_s, u"import"_s});
    acquire(second, {u"bea@example.com"_s, 100, u"bulk"_s, u"import"_s});
    acquire(second, {u"bea@example.com"_s, 350}); // refused: granted to nobody
    QTRY_COMPARE(account(u"ann@example.com"_s)["uses"_L1].toArray().size(), 2);
    QTRY_COMPARE(account(u"ann@example.com"_s)["lanes"_L1]["realtime"_L1]["units"_L1].toInt(), 50);

    const QJsonObject ann = account(u"ann@example.com"_s);
    QCOMPARE(ann["uses"_L1][0]["caller"_L1].toString(), u"sync"_s);
    QCOMPARE(ann["uses"_L1][0]["lane"_L1].toString(), u"realtime"_s);
    QCOMPARE(ann["uses"_L1][0]["units"_L1].toInt(), 50);
    QCOMPARE(ann["uses"_L1][0]["calls"_L1].toInt(), 2);
    QCOMPARE(ann["uses"_L1][1]["caller"_L1].toString(), u"import"_s);

    QTRY_COMPARE(list()["buckets"_L1][0]["lanes"_L1]["bulk"_L1]["units"_L1].toInt(), 100); // bea
    const QJsonValue callers = list()["projects"_L1][0]["callers"_L1]; // who burns the quota
    QCOMPARE(callers.toArray().size(), 2);
    QCOMPARE(callers[0]["caller"_L1].toString(), u"import"_s);
    QCOMPARE(callers[0]["units"_L1].toInt(), 110);
    QCOMPARE(callers[0]["calls"_L1].toInt(), 2);
    QCOMPARE(callers[1]["units"_L1].toInt(), 50);
}

void TestLevels::showsFreezesPlacesAndOwnLimits()
{
    acquire(*m_engine, {u"ann@example.com"_s, 50});
    acquire(*m_engine, {.account = u"bea@example.com"_s, .cost = 40, .hold = true});
    acquire(*m_engine, {u"cid@example.com"_s, 30});
    const QString project = u"tk:{gmail:default}:project"_s;
    const QString policyKey = u"tk:{gmail:default}:policy"_s;
    const auto keyOf = [](const QString &address) {
        return u"tk:{gmail:default}:account:"_s
            + QString::fromLatin1(
                   address.toUtf8().toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
    };
    m_server.cli({u"fcall"_s, u"tidekeeper_override_v1"_s, u"3"_s, keyOf(u"cid@example.com"_s), project,
                  policyKey, u"1000000"_s, u"600"_s, u"500000"_s, u"10"_s});
    m_server.cli({u"fcall"_s, u"tidekeeper_report_v1"_s, u"3"_s, keyOf(u"bea@example.com"_s), project,
                  policyKey, u"rate"_s, u"account"_s, u"mail_sending"_s, u"60000"_s});

    std::optional<Status> reported;
    const QJsonObject refused{{u"account"_s, u"ann@example.com"_s},
                              {u"rate"_s, true},
                              {u"scope"_s, u"account"_s},
                              {u"retry_after_ms"_s, 90'000}};
    const qint64 beforeMs = QDateTime::currentMSecsSinceEpoch();
    m_engine->buckets.report(
        u"gmail"_s, refused,
        whenDone(this, [&](const Status &status, const QJsonObject &) { reported = status; }));
    QTRY_VERIFY(reported);
    QVERIFY2(reported->ok(), qPrintable(reported->text));

    QTRY_COMPARE(listed().value(0), u"ann@example.com"_s); // the report emptied its bucket
    const QJsonObject ann = account(u"ann@example.com"_s);
    const auto untilMs = ann["frozen_until"_L1].toInteger();
    QVERIFY(untilMs >= beforeMs + 90'000 && untilMs < beforeMs + 95'000);
    QCOMPARE(ann["pace"_L1].toDouble(), 0.7);
    QCOMPARE(ann["refill_per_minute"_L1].toInt(), 42);
    QCOMPARE(ann["probe"_L1].toBool(), false);

    const QJsonObject bea = account(u"bea@example.com"_s);
    QCOMPARE(bea["held"_L1].toInt(), 1);
    QVERIFY(bea["frozen_until"_L1].isNull());
    QCOMPARE(bea["frozen_families"_L1][0]["family"_L1].toString(), u"mail_sending"_s);
    QVERIFY(bea["frozen_families"_L1][0]["until"_L1].toInteger() > beforeMs + 50'000);

    const QJsonObject cid = account(u"cid@example.com"_s);
    QCOMPARE(cid["override"_L1].toBool(), true);
    QCOMPARE(cid["capacity"_L1].toInt(), 1'000);
    QCOMPARE(cid["refill_per_minute"_L1].toInt(), 600);
}

void TestLevels::filtersByAddress()
{
    for (int i = 0; i < 30; ++i)
        acquire(*m_engine, {u"user%1@example.com"_s.arg(i), 10 + i});
    acquire(*m_engine, {u"weiß:{}@example.org"_s, 5});
    QTRY_COMPARE(active(), 31);
    QCOMPARE(listed(100, u"EXAMPLE.ORG"_s), QStringList{u"weiß:{}@example.org"_s});
    QCOMPARE(listed(100, u"user2"_s).size(), 11); // 2, 20 … 29
    QCOMPARE(listed(100, u"user2"_s)[0], u"user29@example.com"_s);
    QCOMPARE(listed(100, u"nobody"_s), QStringList());
    QVERIFY(list(100, u"user2"_s)["complete"_L1].toBool());
    QCOMPARE(listed(3, u"user"_s),
             (QStringList{u"user29@example.com"_s, u"user28@example.com"_s, u"user27@example.com"_s}));
    QVERIFY(!list(3, u"user"_s)["complete"_L1].toBool());
}

void TestLevels::findsClientsWithoutAnEngine()
{
    const QString prefix = u"tk:{gmail:default}:"_s;
    const auto direct = [&](const QString &name, const QString &cost) {
        m_server.cli({u"fcall"_s, u"tidekeeper_acquire_v1"_s, u"3"_s, prefix + u"account:"_s + name,
                      prefix + u"project"_s, prefix + u"policy"_s, cost, u"realtime"_s, u"0"_s});
    };
    acquire(*m_engine, {u"bea@example.com"_s, 100});
    direct(u"YUBleGFtcGxlLmNvbQ"_s, u"300"_s); // a@example.com
    m_server.cli({u"hset"_s, prefix + u"account:b2xkQGV4YW1wbGUuY29t"_s, u"format"_s, u"1"_s,
                  u"level_milli"_s, u"360000"_s, u"at_us"_s,
                  QString::number((QDateTime::currentMSecsSinceEpoch() - 3'000'000) * 1000)});
    QTRY_COMPARE_WITH_TIMEOUT(listed(), (QStringList{u"a@example.com"_s, u"bea@example.com"_s}), 10'000);

    direct(u"YmVhQGV4YW1wbGUuY29t"_s, u"250"_s); // bea@example.com, whom an engine has told of
    QTRY_COMPARE_WITH_TIMEOUT(listed().value(0), u"bea@example.com"_s, 10'000);
    QCOMPARE(active(), 2); // who is full for long is not active
    QCOMPARE(calls(u"keys"_s), 0);
}

void TestLevels::showsOneAccount()
{
    const QJsonObject nobody = account(u" Nobody@Example.COM "_s); // full, and never asked
    QCOMPARE(nobody["account"_L1].toString(), u"nobody@example.com"_s);
    QCOMPARE(nobody["level"_L1].toInt(), 360);
    QCOMPARE(nobody["uses"_L1].toArray().size(), 0);
    QVERIFY(nobody["uses"_L1].isArray());
}

void TestLevels::tellsTheProject()
{
    acquire(*m_engine, {u"ann@example.com"_s, 360});
    QJsonObject project = list()["projects"_L1][0].toObject();
    QCOMPARE(project["project"_L1].toString(), u"default"_s);
    QCOMPARE(project["capacity"_L1].toInt(), 72'000);
    QCOMPARE(project["day"_L1]["units"_L1].toInt(), 360);
    QCOMPARE(project["day"_L1]["last_24h"_L1].toInt(), 360);
    QVERIFY(project["day"_L1]["forecast"_L1].isNull()); // too early
    QCOMPARE(project["day"_L1]["budget"_L1].toInt(), 80'000'000);
    QCOMPARE(project["day"_L1]["action"_L1].toString(), u"warn"_s);
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    const qint64 leftMs = project["day"_L1]["ends_at"_L1].toInteger() - nowMs;
    QVERIFY(leftMs > -1'000 && leftMs <= 24 * 3'600'000);
    QVERIFY(project["booked"_L1]["warning"_L1].isNull());
    QCOMPARE(project["booked"_L1]["allowed"_L1].toInt(), 100);

    for (int i = 0; i < 8; ++i) { // each books 20 of the 100 that may be booked
        const QString address = u"user%1@example.com"_s.arg(i);
        acquire(*m_engine, {u"user%1@example.com"_s.arg(i), 360});
        QVERIFY(acquire(*m_engine, {.account = address, .cost = 20, .maxWaitMs = 30'000}).granted);
    }
    QTRY_VERIFY(list()["projects"_L1][0]["booked"_L1]["units"_L1].toInt() > 110);
    QTRY_VERIFY(list()["projects"_L1][0]["booked"_L1]["warning"_L1].toString().contains(u"1,162,100"_s));
    const QJsonObject booked = QCoro::waitFor(m_engine->levels.booked(u"gmail"_s));
    QVERIFY(booked["default"_L1]["units"_L1].toInt() > 110);
}

void TestLevels::countsEngines()
{
    QSignalSpy counted(&m_engine->index, &LevelIndex::enginesCounted);
    QVERIFY(counted.wait(3'000));
    QCOMPARE(counted.last()[0].toString(), u"gmail"_s);
    QCOMPARE(counted.last()[1].toString(), u"default"_s);
    QCOMPARE(counted.last()[2].toInt(), 1);
    {
        const TestEngine second(m_server);
        QTRY_COMPARE(counted.last()[2].toInt(), 2);
    }
    // One that was last seen eleven seconds ago does not count, and is forgotten when its uses are.
    m_server.cli({u"del"_s, u"tk:{gmail:default}:engines"_s});
    const auto seen = [this](const QString &name, qint64 agoMs) {
        m_server.cli({u"zadd"_s, u"tk:{gmail:default}:engines"_s,
                      QString::number(QDateTime::currentMSecsSinceEpoch() - agoMs), name});
    };
    seen(u"lately"_s, 3'000);
    seen(u"silent"_s, 11'000);
    seen(u"gone"_s, 151'000);
    QTRY_COMPARE(m_server.cli({u"zcard"_s, u"tk:{gmail:default}:engines"_s}), "3");
    counted.clear();
    QVERIFY(counted.wait(3'000));
    QCOMPARE(counted.last()[2].toInt(), 2);
}

void TestLevels::forgetsWhoIsFullForLong()
{
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    QStringList add{u"zadd"_s, u"tk:{gmail:default}:active"_s, QString::number(nowMs - 14 * 60'000),
                    u"eW91bmc"_s};
    for (int i = 0; i < 1'200; ++i)
        add << QString::number(nowMs - 16 * 60'000 + i) << QString::number(i);
    QElapsedTimer timer;
    timer.start();
    m_server.cli(add);
    QTRY_COMPARE_WITH_TIMEOUT(active(), 1, 10'000);
    QVERIFY(timer.elapsed() > 1'900); // 500 a second
    QCOMPARE(m_server.cli({u"zrange"_s, u"tk:{gmail:default}:active"_s, u"0"_s, u"-1"_s}), "eW91bmc");
}

void TestLevels::manyViewersCostOneReading()
{
    acquire(*m_engine, {u"ann@example.com"_s, 100});
    QTRY_COMPARE(active(), 1);
    QTest::qWait(300);
    const qint64 before = calls(u"fcall"_s);
    std::vector<QCoro::Task<Result<QJsonObject>>> viewers;
    for (int i = 0; i < 50; ++i)
        viewers.push_back(m_engine->levels.list(u"gmail"_s, {}, 100));
    for (auto &viewer : viewers)
        QCOMPARE((*QCoro::waitFor(std::move(viewer)))["total"_L1].toInt(), 1);
    QCOMPARE(calls(u"fcall"_s) - before, 1);
}

void TestLevels::thousandsOfAccounts()
{
    constexpr int accounts = 5'000;
    int granted = 0;
    for (int i = 0; i < accounts; ++i) {
        QuotaRequest request;
        request.account = u"user%1@example.com"_s.arg(i);
        request.cost = 1;
        request.lane = u"realtime"_s;
        request.deadlineMs = 10'000;
        m_engine->buckets.acquire(
            u"gmail"_s, request,
            whenDecided(this, [&](const Status &, const QuotaAnswer &a) { granted += a.granted ? 1 : 0; }));
    }
    QTRY_COMPARE_WITH_TIMEOUT(granted, accounts, 10'000);
    for (int i = 0; i < 150; ++i)
        acquire(*m_engine, {u"user%1@example.com"_s.arg(i), 100 + i});
    QTRY_COMPARE_WITH_TIMEOUT(active(), accounts, 10'000);
    QStringList expected;
    for (int i = 149; i >= 30; --i)
        expected.append(u"user%1@example.com"_s.arg(i));
    QTRY_COMPARE(listed(120), expected);

    QTest::qWait(300); // past what is kept
    m_server.cli({u"config"_s, u"resetstat"_s});
    QCOMPARE(listed(120), expected);
    QCOMPARE(calls(u"fcall"_s), 2); // a hundred rows each
    QCOMPARE(list(120)["total"_L1].toInt(), accounts);
}

void TestLevels::failures()
{
    QCOMPARE(QCoro::waitFor(m_engine->levels.list(u"other"_s, {}, 1)).error().code, u"unknown_limiter"_s);
    auto &levels = m_engine->levels;
    QCOMPARE(QCoro::waitFor(levels.account(u"other"_s, {}, u"a"_s)).error().code, u"unknown_limiter"_s);
    QCOMPARE(QCoro::waitFor(levels.account(u"gmail"_s, u"x"_s, u"a"_s)).error().code, u"unknown_project"_s);
    QCOMPARE(QCoro::waitFor(levels.account(u"gmail"_s, {}, u" "_s)).error().code, u"invalid_request"_s);
    QCOMPARE(QCoro::waitFor(levels.account(u"gmail"_s, {}, QString(321, u'x'))).error().details["field"_L1],
             u"account"_s);
    QCOMPARE(QCoro::waitFor(levels.booked(u"other"_s)), QJsonObject());
}

void TestLevels::worksAgainAfterRedisWasAway()
{
    acquire(*m_engine, {u"ann@example.com"_s, 100});
    m_server.kill();
    QTRY_VERIFY(!m_engine->connection.isReady());
    QTest::qWait(300);
    QCOMPARE(QCoro::waitFor(m_engine->levels.list(u"gmail"_s, {}, 1)).error().code, u"limiter_unavailable"_s);
    acquire(*m_engine, {u"ann@example.com"_s, 1}); // degraded
    QVERIFY(m_server.start());
    QTRY_VERIFY_WITH_TIMEOUT(m_engine->connection.isReady(), 10'000);
    acquire(*m_engine, {u"ann@example.com"_s, 10});
    QTRY_COMPARE_WITH_TIMEOUT(listed(), QStringList{u"ann@example.com"_s}, 5'000);
}

QTEST_GUILESS_MAIN(TestLevels)
#include "tst_levels.moc"
