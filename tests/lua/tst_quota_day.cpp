// SPDX-License-Identifier: Apache-2.0
// The project's day: what its budget refuses, when it turns, and the marks from which a rolling day is told.
#include "quotalevels.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs; // a full hour
constexpr qint64 msUs = 1'000;
constexpr qint64 secondUs = QuotaRedis::secondUs;
constexpr qint64 hourUs = 3'600 * secondUs;
constexpr qint64 dayUs = 24 * hourUs;
constexpr qint64 endUs = t0 + 3 * hourUs;
constexpr qint64 afterUs = endUs + 23 * hourUs; // a day in spring has 23 hours

enum Action : quint8 { Warn, RefuseBulk, Refuse };

/// A budget that other limits do not get in the way of.
QuotaLimits limitsOf(Action action, qint64 budget = 1'000)
{
    return {.accountCapacity = 5'000,
            .accountRefill = 600'000,
            .accountReserve = 0.1,
            .projectReserve = 0.1,
            .dayBudget = budget,
            .dayAction = action,
            .dayStartUs = endUs - dayUs,
            .dayEndUs = endUs,
            .dayAfterUs = afterUs};
}

QuotaAsk renewal(qint64 cost)
{
    QuotaAsk ask(cost);
    ask.lane = "renewal";
    return ask;
}

} // namespace

class TestQuotaDay : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void whoIsRefused_data();
    void whoIsRefused();
    void theWholeBudgetMayBeUsed();
    void theDayIsTheProjects();
    void retryIsAtTheEndOfTheDay();
    void dayCannotBeBookedOver();
    void refusalsWriteNothing();
    void longestWaitNamesTheRefuser();
    void turnsAtTheBoundsOfThePolicy_data();
    void turnsAtTheBoundsOfThePolicy();
    void renewalsCountButAreNotRefused();
    void refundGivesTheBudgetBack();
    void refundOfYesterdayCountsToday();
    void callLargerThanTheBudget();
    void budgetChangesAtOnce();
    void boundsOfTheNextDayArePublishedLater();
    void marksAtFullHours();
    void marksOfTheLastDayOnly();
    void lostProjectHashBeginsTheDayAnew();
    void hashOutlivesTheDay();

private:
    QuotaProjectLevel project(qint64 atUs) { return levelsAt(m_redis, atUs).project; }

    QuotaRedis m_redis{{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"no"_s}};
};

void TestQuotaDay::whoIsRefused_data()
{
    QTest::addColumn<int>("action");
    QTest::addColumn<qint64>("budget");
    QTest::addColumn<QByteArray>("lane");
    QTest::addColumn<bool>("refused");
    const auto row = [](const char *name, Action action, qint64 budget, const char *lane, bool refused) {
        QTest::newRow(name) << int(action) << budget << QByteArray(lane) << refused;
    };
    row("warn, realtime", Warn, 1'000, "realtime", false);
    row("warn, bulk", Warn, 1'000, "bulk", false);
    row("warn, renewal", Warn, 1'000, "renewal", false);
    row("refuse bulk, realtime", RefuseBulk, 1'000, "realtime", false);
    row("refuse bulk, bulk", RefuseBulk, 1'000, "bulk", true);
    row("refuse bulk, renewal", RefuseBulk, 1'000, "renewal", false);
    row("refuse, realtime", Refuse, 1'000, "realtime", true);
    row("refuse, bulk", Refuse, 1'000, "bulk", true);
    row("refuse, renewal", Refuse, 1'000, "renewal", false);
    row("refuse without a budget", Refuse, 0, "bulk", false);
}

void TestQuotaDay::whoIsRefused()
{
    QFETCH(int, action);
    QFETCH(qint64, budget);
    QFETCH(QByteArray, lane);
    QFETCH(bool, refused);
    m_redis.setLimits(limitsOf(Action(action), budget));
    QVERIFY(m_redis.at(t0, QuotaAsk(1'000)).granted);
    QuotaAsk ask(1);
    ask.lane = lane;
    const QuotaDecision decision = m_redis.at(t0 + secondUs, ask);
    QCOMPARE(decision.granted, !refused);
    QCOMPARE(decision.refusedBy, refused ? QByteArray("day") : QByteArray());
    QCOMPARE(project(t0 + secondUs).usedToday(), refused ? 1'000 : 1'001);
}

void TestQuotaDay::theWholeBudgetMayBeUsed()
{
    m_redis.setLimits(limitsOf(Refuse));
    QVERIFY(m_redis.at(t0, QuotaAsk(600)).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(401)).refusedBy, QByteArray("day"));
    QVERIFY(m_redis.at(t0, QuotaAsk(400)).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(1)).refusedBy, QByteArray("day"));
    QVERIFY(m_redis.at(t0, QuotaAsk(qint64(0))).granted); // asks only
}

void TestQuotaDay::theDayIsTheProjects()
{
    m_redis.setLimits(limitsOf(Refuse));
    QVERIFY(m_redis.at(t0, QuotaAsk(700)).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(301).of("bob")).refusedBy, QByteArray("day"));
    QVERIFY(m_redis.at(t0, QuotaAsk(300).of("bob")).granted);
    m_redis.setLimits(limitsOf(Refuse), "other");
    QVERIFY(m_redis.at(t0, QuotaAsk(700), "other").granted);
}

void TestQuotaDay::retryIsAtTheEndOfTheDay()
{
    m_redis.setLimits(limitsOf(Refuse));
    m_redis.at(t0, QuotaAsk(1'000));
    const qint64 nowUs = t0 + hourUs + 1; // a microsecond on: rounded up
    const QuotaDecision refused = m_redis.at(nowUs, QuotaAsk(500));
    QCOMPARE(refused.retryAfterMs, 2 * hourUs / msUs);
    QCOMPARE(m_redis.at(endUs - 1, QuotaAsk(500)).retryAfterMs, 1);
    QVERIFY(m_redis.at(nowUs + refused.retryAfterMs * msUs, QuotaAsk(500)).granted);
}

void TestQuotaDay::dayCannotBeBookedOver()
{
    m_redis.setLimits(limitsOf(Refuse));
    m_redis.at(t0, QuotaAsk(1'000));
    const QuotaDecision refused = m_redis.at(endUs - 10 * secondUs, QuotaAsk(1).waiting(30'000));
    QCOMPARE(refused.refusedBy, QByteArray("day"));
    QCOMPARE(refused.retryAfterMs, 10'000);
}

void TestQuotaDay::refusalsWriteNothing()
{
    m_redis.setLimits(limitsOf(Refuse));
    m_redis.at(t0, QuotaAsk(1'000));
    const qint64 written = m_redis.appendedBytes();
    for (int hour = 0; hour < 3; ++hour) // also over full hours
        QCOMPARE(m_redis.at(t0 + hour * hourUs + 1, QuotaAsk(1)).refusedBy, QByteArray("day"));
    QCOMPARE(m_redis.appendedBytes(), written);
}

void TestQuotaDay::longestWaitNamesTheRefuser()
{
    QuotaLimits limits = limitsOf(Refuse);
    limits.accountRefill = 60;
    m_redis.setLimits(limits);
    m_redis.at(t0, renewal(5'000));
    // The account needs 5 s for 5 units, the day three hours.
    QuotaDecision refused = m_redis.at(t0, QuotaAsk(5));
    QCOMPARE(refused.refusedBy, QByteArray("day"));
    QCOMPARE(refused.retryAfterMs, 3 * hourUs / msUs);
    // A second before the end the account takes longer, and the told wait is enough for both.
    m_redis.at(endUs - secondUs, renewal(5'000));
    refused = m_redis.at(endUs - secondUs, QuotaAsk(5));
    QCOMPARE(refused.refusedBy, QByteArray("account"));
    QCOMPARE(refused.retryAfterMs, 5'000);
    QVERIFY(m_redis.at(endUs - secondUs + refused.retryAfterMs * msUs, QuotaAsk(5)).granted);
}

void TestQuotaDay::turnsAtTheBoundsOfThePolicy_data()
{
    QTest::addColumn<qint64>("spentUs");
    QTest::addColumn<qint64>("nextDayUs");
    QTest::newRow("this day") << t0 << endUs;
    QTest::newRow("its last microsecond") << endUs - 1 << endUs;
    QTest::newRow("the next") << endUs << afterUs;
    QTest::newRow("the end of the next") << afterUs - 1 << afterUs;
    QTest::newRow("one that no engine published") << afterUs << afterUs + dayUs;
    QTest::newRow("its end") << afterUs + dayUs - 1 << afterUs + dayUs;
    QTest::newRow("one much later") << afterUs + 40 * dayUs + hourUs << afterUs + 41 * dayUs;
}

void TestQuotaDay::turnsAtTheBoundsOfThePolicy()
{
    QFETCH(qint64, spentUs);
    QFETCH(qint64, nextDayUs);
    m_redis.setLimits(limitsOf(Refuse));
    m_redis.at(t0, QuotaAsk(1)); // so that the day is not the first one
    QVERIFY(m_redis.at(spentUs, QuotaAsk(999)).granted);
    QCOMPARE(project(spentUs).dayEndUs, nextDayUs);
    const QuotaDecision refused = m_redis.at(nextDayUs - 1, QuotaAsk(900));
    QCOMPARE(refused.refusedBy, QByteArray("day"));
    QCOMPARE(refused.retryAfterMs, 1);

    // Already before the first grant of the new day.
    QCOMPARE(project(nextDayUs - 1).usedToday(), spentUs < endUs ? 1'000 : 999);
    QCOMPARE(project(nextDayUs).usedToday(), 0);
    QVERIFY(m_redis.at(nextDayUs, QuotaAsk(900)).granted);
    QCOMPARE(project(nextDayUs).usedToday(), 900);
    QCOMPARE(m_redis.at(nextDayUs, QuotaAsk(101)).refusedBy, QByteArray("day"));
}

void TestQuotaDay::renewalsCountButAreNotRefused()
{
    m_redis.setLimits(limitsOf(Refuse));
    QVERIFY(m_redis.at(t0, renewal(900)).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(101)).refusedBy, QByteArray("day"));
    QVERIFY(m_redis.at(t0, renewal(900)).granted);
    QCOMPARE(project(t0).usedToday(), 1'800);
    QVERIFY(m_redis.at(endUs, QuotaAsk(1'000)).granted); // what was beyond is not owed
}

void TestQuotaDay::refundGivesTheBudgetBack()
{
    m_redis.setLimits(limitsOf(Refuse));
    const QuotaDecision granted = m_redis.at(t0, QuotaAsk(1'000));
    // A second later all of it has refilled by itself, but the day has its units back.
    const QuotaRefund refund = m_redis.refund(t0 + secondUs, 1'000, granted.nowUs);
    QVERIFY(refund.done);
    QCOMPARE(refund.accountBack, 0);
    QCOMPARE(project(t0 + secondUs).usedToday(), 0);
    QVERIFY(m_redis.at(t0 + secondUs, QuotaAsk(1'000)).granted);
    QCOMPARE(m_redis.at(t0 + secondUs, QuotaAsk(1)).refusedBy, QByteArray("day"));
}

void TestQuotaDay::refundOfYesterdayCountsToday()
{
    m_redis.setLimits(limitsOf(Refuse));
    const QuotaDecision granted = m_redis.at(endUs - secondUs, QuotaAsk(300));
    QVERIFY(m_redis.at(endUs, QuotaAsk(700)).granted);
    QVERIFY(m_redis.refund(endUs + secondUs, 300, granted.nowUs).done);
    QVERIFY(m_redis.at(endUs + secondUs, QuotaAsk(300)).granted);
    // Used is net of refunds: at most what was given back is granted beyond the new day's budget.
    QVERIFY(!m_redis.at(endUs + secondUs, QuotaAsk(301)).granted);
}

/// It is the first call of a day or none: a budget that is too small stalls nobody for ever.
void TestQuotaDay::callLargerThanTheBudget()
{
    m_redis.setLimits(limitsOf(Refuse, 100));
    QVERIFY(m_redis.at(t0, QuotaAsk(50)).granted);
    const QuotaDecision refused = m_redis.at(t0, QuotaAsk(200));
    QCOMPARE(refused.refusedBy, QByteArray("day"));
    QCOMPARE(refused.retryAfterMs, 3 * hourUs / msUs);
    QVERIFY(m_redis.at(endUs, QuotaAsk(200)).granted);
    for (const qint64 cost : {1, 200})
        QCOMPARE(m_redis.at(endUs, QuotaAsk(cost)).refusedBy, QByteArray("day"));
}

void TestQuotaDay::budgetChangesAtOnce()
{
    m_redis.setLimits(limitsOf(Refuse));
    QVERIFY(m_redis.at(t0, QuotaAsk(500)).granted);
    m_redis.publish(limitsOf(Refuse, 400));
    QCOMPARE(m_redis.at(t0, QuotaAsk(1)).refusedBy, QByteArray("day"));
    m_redis.publish(limitsOf(RefuseBulk, 400));
    QVERIFY(m_redis.at(t0, QuotaAsk(1)).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(1).bulk()).refusedBy, QByteArray("day"));
    m_redis.publish(limitsOf(Refuse, 600));
    QVERIFY(m_redis.at(t0, QuotaAsk(99).bulk()).granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(1).bulk()).refusedBy, QByteArray("day"));
    m_redis.publish(limitsOf(Refuse, 0));
    QVERIFY(m_redis.at(t0, QuotaAsk(1'000)).granted);
    QCOMPARE(project(t0).usedToday(), 1'600);
}

/// An engine publishes the bounds of each day when it begins; late is no harm.
void TestQuotaDay::boundsOfTheNextDayArePublishedLater()
{
    m_redis.setLimits(limitsOf(Refuse));
    QVERIFY(m_redis.at(t0, QuotaAsk(1'000)).granted);
    QVERIFY(m_redis.at(endUs, QuotaAsk(600)).granted);
    QuotaLimits next = limitsOf(Refuse);
    next.dayStartUs = endUs;
    next.dayEndUs = afterUs;
    next.dayAfterUs = afterUs + 25 * hourUs; // a day in autumn
    m_redis.publish(next);
    QCOMPARE(m_redis.at(endUs, QuotaAsk(401)).refusedBy, QByteArray("day"));
    QVERIFY(m_redis.at(afterUs, QuotaAsk(1'000)).granted);
    QCOMPARE(m_redis.at(afterUs, QuotaAsk(1)).retryAfterMs, 25 * hourUs / msUs);
}

void TestQuotaDay::marksAtFullHours()
{
    m_redis.setLimits(limitsOf(Warn));
    const auto mark = [](qint64 us, qint64 units) {
        return QByteArray::number(us) + ':' + QByteArray::number(units);
    };
    const qint64 beganUs = t0 + 20 * 60 * secondUs;
    m_redis.at(beganUs, QuotaAsk(100));
    m_redis.at(t0 + hourUs - 1, QuotaAsk(10));
    QCOMPARE(project(t0 + hourUs).marks, mark(beganUs, 0));
    m_redis.at(t0 + hourUs, QuotaAsk(1));
    m_redis.at(t0 + hourUs + 1, QuotaAsk(1));
    // Nothing was used in the next two hours: the mark of the first grant after them tells that.
    const qint64 lateUs = t0 + 3 * hourUs + 7;
    m_redis.at(lateUs, QuotaAsk(5));
    QCOMPARE(project(lateUs).marks,
             mark(beganUs, 0) + ' ' + mark(t0 + hourUs, 110) + ' ' + mark(lateUs, 112));
    QCOMPARE(project(lateUs).used, 117);
}

void TestQuotaDay::marksOfTheLastDayOnly()
{
    m_redis.setLimits(limitsOf(Warn));
    for (int hour = 0; hour < 60; ++hour)
        m_redis.at(t0 + hour * hourUs, QuotaAsk(1));
    const QByteArrayList marks = project(t0 + 59 * hourUs).marks.split(' ');
    QVERIFY2(marks.size() == 25 || marks.size() == 26,
             QByteArray::number(marks.size())); // a day and its begin
    QCOMPARE(marks.last(), QByteArray::number(t0 + 59 * hourUs) + ":59");
    QVERIFY(marks.first().split(':').first().toLongLong() <= t0 + 59 * hourUs - dayUs);
}

/// Lost with its key: what was used. Nothing stalls, and the day ends when it did.
void TestQuotaDay::lostProjectHashBeginsTheDayAnew()
{
    m_redis.setLimits(limitsOf(Refuse));
    m_redis.at(t0, QuotaAsk(1'000));
    m_redis.command({"DEL", QuotaRedis::projectKey()});
    const QuotaProjectLevel lost = project(t0 + hourUs + secondUs);
    QCOMPARE(lost.used, 0);
    QCOMPARE(lost.usedToday(), 0);
    QCOMPARE(lost.dayEndUs, endUs);
    QVERIFY(m_redis.at(t0 + hourUs + secondUs, QuotaAsk(1'000)).granted);
    const QuotaDecision refused = m_redis.at(t0 + hourUs + secondUs, QuotaAsk(1));
    QCOMPARE(refused.refusedBy, QByteArray("day"));
    QCOMPARE(refused.retryAfterMs, (2 * hourUs - secondUs) / msUs);
    QVERIFY(m_redis.at(endUs, QuotaAsk(1'000)).granted);
}

void TestQuotaDay::hashOutlivesTheDay()
{
    m_redis.setLimits(limitsOf(Refuse));
    m_redis.at(t0, QuotaAsk(1));
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::projectKey()}) > 25 * hourUs / msUs);
}

QTEST_GUILESS_MAIN(TestQuotaDay)
#include "tst_quota_day.moc"
