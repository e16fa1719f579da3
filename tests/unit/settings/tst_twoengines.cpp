// SPDX-License-Identifier: Apache-2.0
// Two engines on one database, with one Redis that is stopped and emptied: what is changed in one is in force in the
// other within a second, and after a restart.
#include "settings/fakelimiter.h"
#include "support/testdatabase.h"
#include "support/testredis.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::settings;

namespace {

const QString kim = u"kim@example.com"_s;

} // namespace

class TestTwoEngines : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void aChangeReachesTheOtherWithinASecond_data();
    void aChangeReachesTheOtherWithinASecond();

private:
    QByteArray inRedis() const
    {
        return m_redis.cli({u"hget"_s, u"tk:{gmail:default}:policy"_s,
                            QString::fromLatin1(limits::Keys(u"gmail"_s, u"default"_s).account(kim))});
    }

    test::TestRedis m_redis;
};

void TestTwoEngines::aChangeReachesTheOtherWithinASecond_data()
{
    QTest::addColumn<bool>("isRedisAway");
    QTest::newRow("with Redis") << false;
    QTest::newRow("while Redis is stopped") << true;
}

void TestTwoEngines::aChangeReachesTheOtherWithinASecond()
{
    QFETCH(bool, isRedisAway);

    test::TestDatabase shared;
    store::Database second(shared.url());
    QVERIFY(QCoro::waitFor(second.open()));
    auto one = std::make_unique<test::EngineSide>(shared.database(), m_redis.url());
    auto two = std::make_unique<test::EngineSide>(second, m_redis.url());
    for (test::EngineSide *side : {one.get(), two.get()}) {
        side->connection.open();
        QVERIFY(QCoro::waitFor(side->connection.waitReady(10'000)));
        bool isPublished = false;
        side->buckets.publish(
            u"gmail"_s, u"default"_s, side->limiter.describe()["projects"_L1]["default"_L1].toObject(),
            whenDone(this, [&](const Status &, const QJsonObject &) { isPublished = true; }));
        QTRY_VERIFY(isPublished);
        side->start();
    }
    if (isRedisAway) {
        m_redis.stop();
        QTRY_VERIFY(!one->connection.isReady() && !two->connection.isReady());
    }

    QElapsedTimer timer;
    timer.start();
    QVERIFY(one->change({{u"fail_open"_s, false}, {u"enabled"_s, false}}));
    QVERIFY(one->putOverride({u"default"_s, kim}, {{u"account_capacity"_s, 100}}));
    QCOMPARE(one->limiter.adjusted, QJsonObject({{u"fail_open"_s, false}})); // here at once
    const auto hasArrived = [&two] {
        return two->limiter.adjusted == QJsonObject{{u"fail_open"_s, false}}
        && two->overrides.find(u"gmail"_s, u"default"_s, kim);
    };
    QVERIFY(QTest::qWaitFor(hasArrived, 2'000));
    QVERIFY2(timer.elapsed() <= 1'000, qPrintable(QString::number(timer.elapsed())));
    QuotaRequest request;
    request.account = kim;
    request.cost = 1;
    two->registry.acquire(
        u"gmail"_s, request,
        whenDecided(this, [](const Status &, const QuotaAnswer &answer) { QVERIFY(answer.degraded); }));
    QCOMPARE(two->limiter.asked, 0);

    // A new process reads the same before it decides anything; Redis learns it as soon as it is there.
    QCoro::waitFor(one->settings.stop());
    one = std::make_unique<test::EngineSide>(shared.database(), m_redis.url());
    QCoro::waitFor(one->settings.take(one->limiter.profile()));
    QCOMPARE(one->limiter.adjusted, QJsonObject({{u"fail_open"_s, false}}));
    if (isRedisAway)
        QVERIFY(m_redis.start());
    QTRY_COMPARE_WITH_TIMEOUT(inRedis(), QByteArray("100000 5450 50000 10"), 10'000);

    QVERIFY(QCoro::waitFor(two->settings.removeOverride(u"gmail"_s, {u"default"_s, kim}, u"lee"_s)));
    QTRY_COMPARE(inRedis(), QByteArray());
    QCoro::waitFor(one->settings.stop());
    QCoro::waitFor(two->settings.stop());
}

QTEST_GUILESS_MAIN(TestTwoEngines)
#include "tst_twoengines.moc"
