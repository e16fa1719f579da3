// SPDX-License-Identifier: Apache-2.0
// What the API answered: freezes for everyone, one probe, the pace.
#include "quotaredis.h"

#include <QtTest/QTest>

using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs;
constexpr qint64 msUs = 1'000;
constexpr qint64 secondUs = QuotaRedis::secondUs;
constexpr qint64 minuteUs = 60 * secondUs;
constexpr qint64 quarterHourUs = 15 * minuteUs;

} // namespace

class TestQuotaFeedback : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void freezesItsScope_data();
    void freezesItsScope();
    void waitsAsTold_data();
    void waitsAsTold();
    void oneCallAfterTheLockOut();
    void goodProbeOpens();
    void unsentProbeLeavesItsPlace();
    void silentProbeOpens();
    void refusedProbeFreezesLonger();
    void costZeroIsNoProbe();
    void answersFromBeforeAreNoNews();
    void answersFromBeforeOpenNothing();
    void onlyTheFamilyIsFrozen();
    void familyBacksOffAsAllCallsDo();
    void backOffDoublesAndIsForgotten();
    void paceFallsToAQuarterAndComesBack();
    void refillFollowsThePace();
    void statedLimitIsThePaceForAnHour();
    void keyOutlivesTheFreeze();
    void calmBucketForgetsAllOfIt();
    void refusedUnitsAreCounted();
    void longestWaitNamesTheRefuser();

private:
    QuotaFreeze lockOut(qint64 atUs, qint64 ms) { return m_redis.report(atUs, {.retryAfterMs = ms}); }
    QuotaFreeze good(qint64 atUs, qint64 grantUs = 0)
    {
        return m_redis.report(atUs, {.verdict = "ok", .scope = "", .grantUs = grantUs});
    }

    QuotaRedis m_redis;
};

void TestQuotaFeedback::freezesItsScope_data()
{
    QTest::addColumn<QByteArray>("scope");
    QTest::addColumn<QByteArray>("refusedBy");
    QTest::addColumn<bool>("othersToo");
    QTest::newRow("account") << QByteArray("account") << QByteArray("account_frozen") << false;
    QTest::newRow("project") << QByteArray("project") << QByteArray("project_frozen") << true;
}

void TestQuotaFeedback::freezesItsScope()
{
    QFETCH(QByteArray, scope);
    QFETCH(QByteArray, refusedBy);
    QFETCH(bool, othersToo);
    const QuotaFreeze freeze = m_redis.report(t0, {.scope = scope, .retryAfterMs = 5'000});
    QVERIFY(freeze.changed);
    QCOMPARE(freeze.untilUs, t0 + 5 * secondUs);
    for (const char *lane : {"realtime", "bulk", "renewal"}) {
        QuotaAsk ask(1);
        ask.lane = lane;
        const QuotaDecision refused = m_redis.at(t0 + secondUs, ask);
        QVERIFY(!refused.granted);
        QCOMPARE(refused.refusedBy, refusedBy);
        QCOMPARE(refused.retryAfterMs, 4'000);
    }
    QCOMPARE(m_redis.at(t0 + secondUs, QuotaAsk(1).of("bob")).granted, !othersToo);
    QVERIFY(!m_redis.at(t0 + secondUs, QuotaAsk(1).waiting(30'000)).granted); // a freeze is not booked over
}

void TestQuotaFeedback::waitsAsTold_data()
{
    QTest::addColumn<qint64>("told");
    QTest::addColumn<qint64>("ms");
    QTest::newRow("nothing: back-off") << qint64(0) << qint64(1'000);
    QTest::newRow("too short for anyone") << qint64(1) << qint64(1'000);
    QTest::newRow("as told") << qint64(7'321) << qint64(7'321);
    QTest::newRow("a day at most") << qint64(90'000'000'000) << qint64(86'400'000);
}

void TestQuotaFeedback::waitsAsTold()
{
    QFETCH(qint64, told);
    QFETCH(qint64, ms);
    const QuotaFreeze freeze = lockOut(t0, told);
    QCOMPARE(freeze.retryAfterMs, ms);
    QVERIFY(!m_redis.at(t0 + ms * msUs - 1, QuotaAsk(1)).granted);
    QVERIFY(m_redis.at(t0 + ms * msUs, QuotaAsk(1)).granted);
}

// twentyhq/twenty#17850, elie222/inbox-zero#711: "Retry after" a quarter of an hour away, and all attempts burnt before.
void TestQuotaFeedback::oneCallAfterTheLockOut()
{
    lockOut(t0, 900'000);
    qint64 calls = 0;
    // A hundred consumers that each come back when they are told.
    QList<qint64> nextUs(100, t0 + secondUs);
    for (int turn = 0; turn < 3; ++turn) {
        for (qint64 &atUs : nextUs) {
            const QuotaDecision decision = m_redis.at(atUs, QuotaAsk(5));
            calls += decision.granted;
            QVERIFY(!decision.granted || atUs >= t0 + quarterHourUs);
            if (!decision.granted && turn == 0)
                atUs += decision.retryAfterMs * msUs;
        }
    }
    QCOMPARE(calls, 1);
    // Its answer is another lock-out: again all wait, and one call goes out after it.
    const QuotaFreeze again = lockOut(t0 + quarterHourUs + secondUs, 900'000);
    QCOMPARE(again.untilUs, t0 + 2 * quarterHourUs + secondUs);
    QVERIFY(!m_redis.at(again.untilUs - 1, QuotaAsk(5)).granted);
    QVERIFY(m_redis.at(again.untilUs, QuotaAsk(5)).granted);
    QVERIFY(!m_redis.at(again.untilUs, QuotaAsk(5)).granted);
}

void TestQuotaFeedback::goodProbeOpens()
{
    lockOut(t0, 2'000);
    const QuotaDecision probe = m_redis.at(t0 + 2 * secondUs, QuotaAsk(1));
    QVERIFY(probe.granted);
    const QuotaDecision other = m_redis.at(t0 + 2 * secondUs + 1, QuotaAsk(1));
    QVERIFY(!other.granted);
    QCOMPARE(other.refusedBy, QByteArray("account_frozen"));
    QCOMPARE(other.retryAfterMs, 10'000);
    good(t0 + 3 * secondUs, probe.nowUs);
    QVERIFY(m_redis.at(t0 + 3 * secondUs, QuotaAsk(1)).granted);
    QVERIFY(m_redis.at(t0 + 3 * secondUs, QuotaAsk(1)).granted);
}

void TestQuotaFeedback::unsentProbeLeavesItsPlace()
{
    lockOut(t0, 2'000);
    const QuotaDecision probe = m_redis.at(t0 + 2 * secondUs, QuotaAsk(1));
    QVERIFY(probe.granted);
    QVERIFY(!m_redis.at(t0 + 3 * secondUs, QuotaAsk(1)).granted);
    QVERIFY(m_redis.refund(t0 + 3 * secondUs, 1, probe.nowUs).done);
    QVERIFY(m_redis.at(t0 + 3 * secondUs, QuotaAsk(1)).granted); // the probe now
    QVERIFY(!m_redis.at(t0 + 3 * secondUs, QuotaAsk(1)).granted);
}

void TestQuotaFeedback::silentProbeOpens()
{
    lockOut(t0, 2'000);
    QVERIFY(m_redis.at(t0 + 2 * secondUs, QuotaAsk(1)).granted);
    QVERIFY(!m_redis.at(t0 + 12 * secondUs - 1, QuotaAsk(1)).granted);
    QVERIFY(m_redis.at(t0 + 12 * secondUs, QuotaAsk(1)).granted);
    QVERIFY(m_redis.at(t0 + 12 * secondUs, QuotaAsk(1)).granted);
}

void TestQuotaFeedback::refusedProbeFreezesLonger()
{
    lockOut(t0, 0);
    const QuotaDecision probe = m_redis.at(t0 + secondUs, QuotaAsk(1));
    QVERIFY(probe.granted);
    const QuotaFreeze again = m_redis.report(t0 + 2 * secondUs, {.grantUs = probe.nowUs});
    QVERIFY(again.changed);
    QCOMPARE(again.retryAfterMs, 2'000);
    QCOMPARE(again.pace, 490);
    QVERIFY(!m_redis.at(t0 + 4 * secondUs - 1, QuotaAsk(1)).granted);
    QVERIFY(m_redis.at(t0 + 4 * secondUs, QuotaAsk(1)).granted);
}

void TestQuotaFeedback::costZeroIsNoProbe()
{
    lockOut(t0, 2'000);
    QVERIFY(!m_redis.at(t0 + secondUs, QuotaAsk(qint64(0))).granted);
    QVERIFY(m_redis.at(t0 + 2 * secondUs, QuotaAsk(qint64(0))).granted);
    QVERIFY(m_redis.at(t0 + 2 * secondUs, QuotaAsk(1)).granted); // the probe was still free
    const QuotaDecision behind = m_redis.at(t0 + 2 * secondUs, QuotaAsk(qint64(0)));
    QVERIFY(!behind.granted);
    QVERIFY(m_redis.at(t0 + 2 * secondUs + behind.retryAfterMs * msUs, QuotaAsk(qint64(0))).granted);
}

void TestQuotaFeedback::answersFromBeforeAreNoNews()
{
    // Ten calls in flight when the limit struck: one refusal, not ten.
    for (int i = 0; i < 10; ++i)
        m_redis.at(t0, QuotaAsk(1));
    const QuotaFreeze first = m_redis.report(t0 + secondUs, {.grantUs = t0});
    QCOMPARE(first.pace, 700);
    for (int i = 1; i < 10; ++i) {
        const QuotaFreeze next = m_redis.report(t0 + secondUs + i * msUs, {.grantUs = t0});
        QVERIFY(!next.changed);
        QCOMPARE(next.untilUs, first.untilUs);
        QCOMPARE(next.pace, 700);
    }
    // Also when the freeze is over already, but a longer time that one of them was told counts.
    QVERIFY(!m_redis.report(t0 + 3 * secondUs, {.grantUs = t0}).changed);
    const QuotaFreeze longer = m_redis.report(t0 + 3 * secondUs, {.retryAfterMs = 60'000, .grantUs = t0});
    QVERIFY(longer.changed);
    QCOMPARE(longer.pace, 700);
    QCOMPARE(longer.untilUs, t0 + 63 * secondUs);
}

void TestQuotaFeedback::answersFromBeforeOpenNothing()
{
    const QuotaDecision early = m_redis.at(t0, QuotaAsk(1));
    lockOut(t0 + secondUs, 2'000);
    good(t0 + 2 * secondUs); // while the time runs, nothing opens
    QVERIFY(!m_redis.at(t0 + 2 * secondUs, QuotaAsk(1)).granted);
    QVERIFY(m_redis.at(t0 + 3 * secondUs, QuotaAsk(1)).granted); // the probe
    good(t0 + 4 * secondUs, early.nowUs);
    QVERIFY(!m_redis.at(t0 + 4 * secondUs, QuotaAsk(1)).granted);
    good(t0 + 4 * secondUs); // nobody knows whose answer it is: the probe's may be
    QVERIFY(m_redis.at(t0 + 4 * secondUs, QuotaAsk(1)).granted);
}

// googleapis/google-api-ruby-client#20544: the lock-out names the limit behind it, "(Forwarding rules)".
void TestQuotaFeedback::onlyTheFamilyIsFrozen()
{
    const QuotaFreeze freeze = m_redis.report(t0, {.family = "mail_sending", .retryAfterMs = 60'000});
    QCOMPARE(freeze.pace, 1'000);
    const QuotaDecision sending = m_redis.at(t0 + secondUs, QuotaAsk(100).ofFamily("mail_sending"));
    QCOMPARE(sending.refusedBy, QByteArray("account_frozen"));
    QCOMPARE(sending.retryAfterMs, 59'000);
    QVERIFY(m_redis.at(t0 + secondUs, QuotaAsk(20)).granted);
    QVERIFY(m_redis.at(t0 + secondUs, QuotaAsk(20).ofFamily("forwarding_rules")).granted);
    QVERIFY(m_redis.at(t0 + 60 * secondUs, QuotaAsk(100).ofFamily("mail_sending")).granted);
    QVERIFY(!m_redis.at(t0 + 60 * secondUs, QuotaAsk(100).ofFamily("mail_sending")).granted);
    QVERIFY(m_redis.at(t0 + 60 * secondUs, QuotaAsk(20)).granted);
    good(t0 + 61 * secondUs, t0 + 60 * secondUs);
    QVERIFY(m_redis.at(t0 + 61 * secondUs, QuotaAsk(100).ofFamily("mail_sending")).granted);
    // A freeze of everything holds for the family too.
    lockOut(t0 + 62 * secondUs, 5'000);
    QVERIFY(!m_redis.at(t0 + 63 * secondUs, QuotaAsk(20).ofFamily("mail_sending")).granted);
}

void TestQuotaFeedback::familyBacksOffAsAllCallsDo()
{
    const QuotaReport sending{.family = "mail_sending"};
    qint64 nowUs = t0;
    for (const qint64 ms : {1'000, 2'000, 4'000}) {
        const QuotaFreeze freeze = m_redis.report(nowUs, sending);
        QCOMPARE(freeze.retryAfterMs, ms);
        nowUs = freeze.untilUs;
        QVERIFY(m_redis.at(nowUs, QuotaAsk(1).ofFamily("mail_sending")).granted);
        good(nowUs, nowUs);
    }
    // A late answer to a call from before is no news either, although the freeze is over.
    QVERIFY(!m_redis.report(nowUs + secondUs, {.family = "mail_sending", .grantUs = t0}).changed);
    QCOMPARE(m_redis.report(nowUs + 2 * minuteUs, sending).retryAfterMs, 1'000);
}

void TestQuotaFeedback::backOffDoublesAndIsForgotten()
{
    qint64 nowUs = t0;
    for (const qint64 ms : {1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 64'000, 64'000}) {
        const QuotaFreeze freeze = m_redis.report(nowUs, {});
        QCOMPARE(freeze.retryAfterMs, ms);
        nowUs = freeze.untilUs;
        QVERIFY(m_redis.at(nowUs, QuotaAsk(1)).granted);
        nowUs += 500 * msUs;
    }
    good(nowUs);
    QCOMPARE(m_redis.report(nowUs + 2 * minuteUs, {}).retryAfterMs, 1'000);
}

void TestQuotaFeedback::paceFallsToAQuarterAndComesBack()
{
    qint64 nowUs = t0;
    for (const qint64 pace : {700, 490, 343, 250, 250}) {
        const QuotaFreeze freeze = m_redis.report(nowUs, {.retryAfterMs = 1'000});
        QCOMPARE(freeze.pace, pace);
        nowUs = freeze.untilUs;
        m_redis.at(nowUs, QuotaAsk(1));
    }
    good(nowUs);
    const qint64 lastUs = nowUs - secondUs; // of the last refusal
    const auto pace = [this](qint64 atUs) {
        return m_redis
            .callAt(atUs, "tidekeeper_levels",
                    {QuotaRedis::projectKey(), QuotaRedis::policyKey(), QuotaRedis::activeKey()},
                    {"of", "alice"})
            .items[3]
            .items[0]
            .items[3]
            .integer;
    };
    QCOMPARE(pace(lastUs + minuteUs - 1), 250);
    QCOMPARE(pace(lastUs + minuteUs), 300);
    QCOMPARE(pace(lastUs + 14 * minuteUs), 950);
    QCOMPARE(pace(lastUs + 15 * minuteUs), 1'000);
}

void TestQuotaFeedback::refillFollowsThePace()
{
    m_redis.setLimits({.accountCapacity = 60'000, .accountRefill = 6'000, .keyTtlMs = 36'000'000});
    lockOut(t0, 1'000); // empties the bucket; pace 0.7 for a minute, then 0.05 more each minute
    m_redis.at(t0 + secondUs, QuotaAsk(1));
    good(t0 + secondUs);
    const auto level = [this](qint64 atUs) { return m_redis.at(atUs, QuotaAsk(qint64(0))).accountLevel; };
    QCOMPARE(level(t0 + minuteUs), (4'200 - 1) * 1'000);
    QCOMPARE(level(t0 + 2 * minuteUs), (4'200 + 4'500 - 1) * 1'000);
    // The same in one step as in many, and with a wait that holds at the slow pace.
    QCOMPARE(level(t0 + 7 * minuteUs), (4'200 + 4'500 + 4'800 + 5'100 + 5'400 + 5'700 + 6'000 - 1) * 1'000);
    const qint64 nowUs = t0 + minuteUs / 2;
    const QuotaDecision refused = m_redis.at(nowUs, QuotaAsk(3'000));
    QVERIFY(!refused.granted);
    QCOMPARE(refused.retryAfterMs, (3'000 - 2'100 + 1) * 60'000 / 4'200 + 1);
    QVERIFY(m_redis.at(nowUs + refused.retryAfterMs * msUs, QuotaAsk(3'000)).granted);
}

void TestQuotaFeedback::statedLimitIsThePaceForAnHour()
{
    // The project may spend 100,000 a minute, the API says, not the published 1,200,000.
    const QuotaFreeze freeze = m_redis.report(t0, {.scope = "project", .toldLimit = 100'000});
    QCOMPARE(freeze.pace, 83);
    m_redis.at(freeze.untilUs, QuotaAsk(1));
    good(freeze.untilUs);
    // What refilled while it was frozen is not believed.
    QCOMPARE(m_redis.at(freeze.untilUs, QuotaAsk(qint64(0))).projectLevel, 0);
    const auto refill = [this](qint64 atUs) {
        return m_redis
            .callAt(atUs, "tidekeeper_levels",
                    {QuotaRedis::projectKey(), QuotaRedis::policyKey(), QuotaRedis::activeKey()}, {"of"})
            .items[1]
            .items[2]
            .integer;
    };
    QCOMPARE(refill(t0 + 60 * minuteUs), 1'090'000 * 83 / 1'000);
    QCOMPARE(refill(t0 + 61 * minuteUs), 1'090'000 * 133 / 1'000);
    // A limit that is no lower than the pace is no news: the pace falls as for any refusal.
    QCOMPARE(m_redis.report(t0, {.toldLimit = 6'000, .account = "bob"}).pace, 700);
}

void TestQuotaFeedback::keyOutlivesTheFreeze()
{
    constexpr qint64 passingMs = 5'000; // a key's life is counted by the server's own clock, which goes on
    lockOut(t0, 86'400'000);
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::accountKey()}) >= 86'400'000 + 60'000 - passingMs);
    m_redis.report(t0, {.toldLimit = 1'000, .account = "bob"});
    // An hour at the stated pace, and 17 minutes until it is back.
    QVERIFY(m_redis.integer({"PTTL", QuotaRedis::accountKey("bob")}) >= (60 + 17 + 1) * 60'000 - passingMs);
}

void TestQuotaFeedback::calmBucketForgetsAllOfIt()
{
    lockOut(t0, 1'000);
    m_redis.at(t0 + secondUs, QuotaAsk(1));
    good(t0 + secondUs);
    m_redis.at(t0 + 8 * minuteUs, QuotaAsk(1));
    const auto fields = m_redis.hash(QuotaRedis::accountKey());
    for (const char *field :
         {"care", "frozen", "frozen_until_us", "frozen_count", "pace", "pace_us", "probe_us"})
        QVERIFY2(!fields.contains(field), field);
}

void TestQuotaFeedback::refusedUnitsAreCounted()
{
    m_redis.report(t0, {.grantUs = t0, .cost = 40});
    m_redis.report(t0, {.grantUs = t0, .cost = 5});
    const auto project = m_redis.hash(QuotaRedis::projectKey());
    QCOMPARE(project["refused_calls"], QByteArray("2"));
    QCOMPARE(project["refused_units"], QByteArray("45"));
}

void TestQuotaFeedback::longestWaitNamesTheRefuser()
{
    // Frozen for a second, but 360 units take four: the told wait is enough for both.
    lockOut(t0, 1'000);
    const QuotaDecision refused = m_redis.at(t0, QuotaAsk(360));
    QCOMPARE(refused.refusedBy, QByteArray("account"));
    QVERIFY(m_redis.at(t0 + refused.retryAfterMs * msUs, QuotaAsk(360)).granted);
}

QTEST_GUILESS_MAIN(TestQuotaFeedback)
#include "tst_quota_feedback.moc"
