// SPDX-License-Identifier: Apache-2.0
// Limits of single accounts, against a real Redis that is stopped, emptied and written to by others.
#include "limits/accountoverrides.h"
#include "limits/bucketservice.h"
#include "limits/quotalibrary.h"
#include "support/fakeclock.h"
#include "support/testredis.h"

#include <tidekeeper/callback.h>

#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

namespace {

const QString kim = u"kim@example.com"_s;
const QString lee = u"lee@example.com"_s;
constexpr AccountLimits small{.capacity = 10, .refillPerMinute = 60, .reserveMilli = 5'000, .places = 3};

const QJsonObject policy{
    {u"account_capacity"_s, 360},    {u"account_refill_per_minute"_s, 5'450},
    {u"project_capacity"_s, 72'000}, {u"project_refill_per_minute"_s, 1'090'000},
    {u"bulk_reserve"_s, 0.5},        {u"project_bulk_reserve"_s, 0.2},
    {u"key_ttl_ms"_s, 3'600'000},    {u"send_slack_ms"_s, 2'000},
    {u"fail_open"_s, true},          {u"enforce"_s, true},
};

/// What one engine has of it.
struct Side {
    explicit Side(const QString &url)
        : connection(*redis::Endpoint::fromUrl(url)), library(connection, "tidekeeper_quota", libraryCode()),
          buckets(connection, library, clock), overrides(connection, library, buckets.projects())
    {
        connection.open();
        if (!QCoro::waitFor(connection.waitReady(10'000)))
            qFatal("no Redis");
        publish();
    }

    void publish(const QString &project = u"default"_s)
    {
        bool done = false;
        buckets.publish(u"gmail"_s, project, policy,
                        whenDone(&connection, [&](const Status &, const QJsonObject &) { done = true; }));
        if (!QTest::qWaitFor([&] { return done; }, 10'000))
            qFatal("publish() was not answered");
    }

    QuotaAnswer acquire(const QString &account, qint64 cost)
    {
        QuotaRequest request;
        request.account = account;
        request.cost = cost;
        request.deadlineMs = 5'000;
        std::optional<QuotaAnswer> ended;
        buckets.acquire(
            u"gmail"_s, request,
            whenDecided(&connection, [&](const Status &, const QuotaAnswer &answer) { ended = answer; }));
        if (!QTest::qWaitFor([&] { return ended.has_value(); }, 10'000))
            qFatal("acquire() was not answered");
        return *ended;
    }

    void set(const AccountOverrides::Wanted &wanted) { overrides.set(u"gmail"_s, u"default"_s, wanted); }

    test::FakeClock clock;
    redis::RedisConnection connection;
    redis::FunctionLibrary library;
    BucketService buckets;
    AccountOverrides overrides;
};

} // namespace

class TestAccountOverrides : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_server.start()); }
    void init() { m_server.cli({u"flushall"_s}); }

    void areSetChangedAndTakenBack();
    void waitForTheirProject();
    void holdForTheFirstCallAfterRedisWasEmptied();
    void anotherPolicyKeepsThem();
    void whatIsDecidedWithoutRedisArrivesLater();
    void takesBackWhatAnotherLeft();
    void aThousandArrive();

private:
    QByteArray stored(const QString &account) const
    {
        const Keys keys(u"gmail"_s, u"default"_s);
        return m_server.cli(
            {u"hget"_s, QString::fromLatin1(keys.policy()), QString::fromLatin1(keys.account(account))});
    }

    test::TestRedis m_server;
};

void TestAccountOverrides::areSetChangedAndTakenBack()
{
    Side side(m_server.url());
    side.set({{kim, small}});
    QTRY_COMPARE(stored(kim), QByteArray("10000 60 5000 3"));
    const QuotaAnswer tooLarge = side.acquire(kim, 11);
    QCOMPARE(tooLarge.refusedBy, u"never"_s);
    QCOMPARE(tooLarge.largestCost, 10);
    QVERIFY(side.acquire(lee, 11).granted);
    QCOMPARE(side.overrides.find(u"gmail"_s, u"default"_s, kim)->places, 3);
    QVERIFY(!side.overrides.find(u"gmail"_s, u"default"_s, lee));
    QVERIFY(!side.overrides.find(u"gmail"_s, u"other"_s, kim));

    AccountLimits larger = small;
    larger.capacity = 20;
    side.set({{kim, larger}, {lee, small}});
    QTRY_COMPARE(stored(kim), QByteArray("20000 60 5000 3"));
    QTRY_COMPARE(stored(lee), QByteArray("10000 60 5000 3"));
    side.set({{lee, small}});
    QTRY_COMPARE(stored(kim), QByteArray());
    QCOMPARE(stored(lee), QByteArray("10000 60 5000 3"));
    QVERIFY(side.acquire(kim, 0).accountCapacity == 360'000);
}

void TestAccountOverrides::waitForTheirProject()
{
    Side side(m_server.url());
    side.overrides.set(u"gmail"_s, u"later"_s, {{kim, small}});
    side.overrides.retry();
    side.publish(u"later"_s);
    const Keys keys(u"gmail"_s, u"later"_s);
    QTRY_COMPARE(
        m_server.cli({u"hget"_s, QString::fromLatin1(keys.policy()), QString::fromLatin1(keys.account(kim))}),
        QByteArray("10000 60 5000 3"));
}

/// A project's policy and the limits of its accounts are lost together; the call that finds it out is decided by both.
void TestAccountOverrides::holdForTheFirstCallAfterRedisWasEmptied()
{
    Side side(m_server.url());
    side.set({{kim, small}});
    QTRY_VERIFY(!stored(kim).isEmpty());
    m_server.cli({u"flushall"_s});
    QCOMPARE(side.acquire(kim, 11).refusedBy, u"never"_s);
    QTRY_COMPARE(stored(kim), QByteArray("10000 60 5000 3"));
}

void TestAccountOverrides::anotherPolicyKeepsThem()
{
    Side side(m_server.url());
    side.set({{kim, small}});
    QTRY_VERIFY(!stored(kim).isEmpty());
    m_server.cli({u"del"_s, u"tk:{gmail:default}:policy"_s});
    side.publish();
    QTRY_COMPARE(stored(kim), QByteArray("10000 60 5000 3"));
}

void TestAccountOverrides::whatIsDecidedWithoutRedisArrivesLater()
{
    Side side(m_server.url());
    side.set({{kim, small}});
    QTRY_VERIFY(!stored(kim).isEmpty());
    m_server.stop();
    QTRY_VERIFY(!side.connection.isReady());
    side.set({{lee, small}});
    side.overrides.retry();
    QVERIFY(m_server.start());
    QTRY_COMPARE_WITH_TIMEOUT(stored(lee), QByteArray("10000 60 5000 3"), 10'000);
    QTRY_COMPARE(stored(kim), QByteArray());
}

/// An engine may have been stopped before it could take back what it had set.
void TestAccountOverrides::takesBackWhatAnotherLeft()
{
    {
        Side gone(m_server.url());
        gone.set({{kim, small}, {lee, small}});
        QTRY_VERIFY(!stored(lee).isEmpty());
    }
    QVERIFY(!stored(kim).isEmpty());
    Side side(m_server.url());
    side.set({{lee, small}});
    QTRY_COMPARE(stored(kim), QByteArray());
    QCOMPARE(stored(lee), QByteArray("10000 60 5000 3"));
    QVERIFY(!m_server.cli({u"hget"_s, u"tk:{gmail:default}:policy"_s, u"compiled"_s}).isEmpty());
}

void TestAccountOverrides::aThousandArrive()
{
    Side side(m_server.url());
    AccountOverrides::Wanted wanted;
    for (int i = 0; i < 1'000; ++i)
        wanted.insert(u"%1@example.com"_s.arg(i), small);
    side.set(wanted);
    const auto fields = [this] { return m_server.cli({u"hlen"_s, u"tk:{gmail:default}:policy"_s}).toInt(); };
    QTRY_VERIFY(fields() > 1'000);
    side.set({});
    QTRY_VERIFY(fields() < 100);
}

QTEST_GUILESS_MAIN(TestAccountOverrides)
#include "tst_accountoverrides.moc"
