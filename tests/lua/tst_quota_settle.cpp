// SPDX-License-Identifier: Apache-2.0
// What was granted while Redis was away is taken when it is back, and nobody is stalled for it.
#include "quotalevels.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs; // a full hour
constexpr qint64 secondUs = QuotaRedis::secondUs;
constexpr qint64 hourUs = 3'600 * secondUs;

struct Levels {
    qint64 account;
    qint64 project;
};

} // namespace

class TestQuotaSettle : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init()
    {
        m_redis.restart();
        m_redis.setLimits(limits()); // debt of at most 500 and 5,000
    }

    void takesNoDeeperThanHalfAMinute_data();
    void takesNoDeeperThanHalfAMinute();
    void deeperDebtStays();
    void slowPaceOwesLess();
    void ownLimitsOfAnAccount();
    void refillsFromThere();
    void countsAsUsed();
    void countsIntoTheDayOfALostHash();
    void countsIntoTheDayThatHasBegun();
    void nothingToSettleWritesNothing();
    void isNotForgottenEarly();
    void withoutAPolicyNothingIsTaken();

private:
    static QuotaLimits limits()
    {
        return {.accountCapacity = 360,
                .accountRefill = 1'000,
                .projectCapacity = 2'000,
                .projectRefill = 10'000,
                .dayBudget = 10'000,
                .dayAction = 2,
                .dayEndUs = t0 + 3 * hourUs,
                .dayAfterUs = t0 + 27 * hourUs};
    }
    redis::Value call(qint64 nowUs, qint64 account, qint64 project)
    {
        return m_redis.callAt(nowUs, "tidekeeper_settle",
                              {QuotaRedis::accountKey(), QuotaRedis::projectKey(), QuotaRedis::policyKey()},
                              {QByteArray::number(account), QByteArray::number(project)});
    }
    Levels settle(qint64 nowUs, qint64 account, qint64 project)
    {
        const redis::Value answer = call(nowUs, account, project);
        if (answer.items.size() != 3 || answer.items[2].integer != nowUs)
            qFatal("settle: %s", answer.text.constData());
        return {answer.items[0].integer, answer.items[1].integer};
    }

    QuotaRedis m_redis{{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"no"_s}};
};

void TestQuotaSettle::takesNoDeeperThanHalfAMinute_data()
{
    QTest::addColumn<qint64>("used"); // units, before Redis went away
    QTest::addColumn<qint64>("account"); // milli-units
    QTest::addColumn<qint64>("project");
    QTest::addColumn<qint64>("accountLevel");
    QTest::addColumn<qint64>("projectLevel");
    const auto row = [](const char *name, qint64 used, Levels taken, Levels left) {
        QTest::newRow(name) << used << taken.account << taken.project << left.account << left.project;
    };
    row("some of it", 0, {100'000, 300'000}, {260'000, 1'700'000});
    row("a milli-unit", 0, {1, 1}, {359'999, 1'999'999});
    row("all of it", 0, {360'000, 2'000'000}, {0, 0});
    row("beyond", 0, {400'000, 2'500'000}, {-40'000, -500'000});
    row("to the deepest", 0, {860'000, 7'000'000}, {-500'000, -5'000'000});
    row("no deeper", 0, {860'001, 7'000'001}, {-500'000, -5'000'000});
    row("an outage of days", 0, {1'000'000'000'000'000, 1'000'000'000'000'000}, {-500'000, -5'000'000});
    row("from an empty bucket", 360, {499'999, 1}, {-499'999, 1'639'999});
    row("of the project only", 100, {0, 900'000}, {260'000, 1'000'000});
    row("of the account only", 100, {60'000, 0}, {200'000, 1'900'000});
}

void TestQuotaSettle::takesNoDeeperThanHalfAMinute()
{
    QFETCH(qint64, used);
    QFETCH(qint64, account);
    QFETCH(qint64, project);
    QFETCH(qint64, accountLevel);
    QFETCH(qint64, projectLevel);
    m_redis.at(t0, QuotaAsk(used));
    const Levels left = settle(t0, account, project);
    QCOMPARE(left.account, accountLevel);
    QCOMPARE(left.project, projectLevel);
    const QuotaDecision now = m_redis.at(t0, QuotaAsk(qint64(0)));
    QCOMPARE(now.accountLevel, accountLevel);
    QCOMPARE(now.projectLevel, projectLevel);
}

/// Nobody gets anything back from a settlement.
void TestQuotaSettle::deeperDebtStays()
{
    m_redis.at(t0, QuotaAsk(360));
    m_redis.at(t0, QuotaAsk(360).waiting(30'000));
    m_redis.setLimits({.accountCapacity = 360, .accountRefill = 600}); // 300 at most from now on
    QCOMPARE(m_redis.at(t0, QuotaAsk(qint64(0))).accountLevel, -360'000);
    QCOMPARE(settle(t0, 50'000, 0).account, -360'000);
}

void TestQuotaSettle::slowPaceOwesLess()
{
    m_redis.report(t0, {.retryAfterMs = 1'000}); // empties the bucket; pace 0.7
    QCOMPARE(settle(t0, 1'000'000, 1).account, -350'000);
    m_redis.report(t0, {.scope = "project", .retryAfterMs = 1'000});
    QCOMPARE(settle(t0, 1, 10'000'000).project, -3'500'000);
}

void TestQuotaSettle::ownLimitsOfAnAccount()
{
    m_redis.callAt(t0, "tidekeeper_override",
                   {QuotaRedis::accountKey(), QuotaRedis::projectKey(), QuotaRedis::policyKey()},
                   {"360000", "60", "0", "10"});
    QCOMPARE(settle(t0, 1'000'000, 1).account, -30'000);
}

void TestQuotaSettle::refillsFromThere()
{
    m_redis.at(t0, QuotaAsk(360));
    settle(t0 + 6 * secondUs, 200'000, 200'000); // 100 refilled, then 200 taken
    QCOMPARE(m_redis.at(t0 + 6 * secondUs, QuotaAsk(qint64(0))).accountLevel, -100'000);
    const QuotaDecision refused = m_redis.at(t0 + 6 * secondUs, QuotaAsk(50));
    QCOMPARE(refused.refusedBy, QByteArray("account"));
    QCOMPARE(refused.retryAfterMs, 9'000);
    QVERIFY(m_redis.at(t0 + 15 * secondUs, QuotaAsk(50)).granted);
}

/// All of it, also what no level could take.
void TestQuotaSettle::countsAsUsed()
{
    m_redis.at(t0, QuotaAsk(100));
    settle(t0 + secondUs, 900'000, 9'000'000);
    const QuotaProjectLevel project = levelsAt(m_redis, t0 + secondUs).project;
    QCOMPARE(project.used, 9'100);
    QCOMPARE(project.usedToday(), 9'100);
    QCOMPARE(m_redis.at(t0 + hourUs - 1, QuotaAsk(300)).granted, true);
    const QuotaDecision refused = m_redis.at(t0 + hourUs - 1, QuotaAsk(360));
    QVERIFY(!refused.granted);
    settle(t0 + hourUs, 0, 600'001);
    QCOMPARE(m_redis.at(t0 + hourUs, QuotaAsk(1)).refusedBy, QByteArray("day"));
}

/// Redis came back without its data: what was used meanwhile is of this day.
void TestQuotaSettle::countsIntoTheDayOfALostHash()
{
    settle(t0, 360'000, 9'900'000);
    QCOMPARE(levelsAt(m_redis, t0).project.usedToday(), 9'900);
    const qint64 laterUs = t0 + 60 * secondUs;
    QVERIFY(m_redis.at(laterUs, QuotaAsk(100)).granted);
    QCOMPARE(levelsAt(m_redis, laterUs).project.usedToday(), 10'000);
    QCOMPARE(m_redis.at(laterUs, QuotaAsk(1)).refusedBy, QByteArray("day"));
}

/// It was away over midnight: nobody knows how much of it was yesterday's, so all of it is today's.
void TestQuotaSettle::countsIntoTheDayThatHasBegun()
{
    m_redis.at(t0, QuotaAsk(300));
    const qint64 morningUs = t0 + 3 * hourUs + secondUs;
    settle(morningUs, 0, 9'000'000);
    const QuotaProjectLevel project = levelsAt(m_redis, morningUs).project;
    QCOMPARE(project.used, 9'300);
    QCOMPARE(project.usedToday(), 9'000);
    QCOMPARE(project.dayEndUs, t0 + 27 * hourUs);
    QVERIFY(project.marks.endsWith(QByteArray::number(morningUs) + ":300"));
}

void TestQuotaSettle::nothingToSettleWritesNothing()
{
    m_redis.at(t0, QuotaAsk(100));
    const qint64 written = m_redis.appendedBytes();
    const Levels left = settle(t0 + 6 * secondUs, 0, 0);
    QCOMPARE(left.account, 360'000);
    QCOMPARE(left.project, 2'000'000);
    QCOMPARE(m_redis.appendedBytes(), written);
}

void TestQuotaSettle::isNotForgottenEarly()
{
    settle(t0, 1'000, 1'000);
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::accountKey()}) >= 3'600'000);
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::projectKey()}) >= 25 * 3'600'000);
    QCOMPARE(m_redis.hash(QuotaRedis::accountKey())["format"], QByteArray("1"));
    QCOMPARE(m_redis.hash(QuotaRedis::projectKey())["format"], QByteArray("1"));
}

void TestQuotaSettle::withoutAPolicyNothingIsTaken()
{
    m_redis.command({"FLUSHALL"});
    QVERIFY(call(t0, 1, 1).text.startsWith("TKPOLICY "));
    QCOMPARE(m_redis.integer({"DBSIZE"}), 0);
}

QTEST_GUILESS_MAIN(TestQuotaSettle)
#include "tst_quota_settle.moc"
