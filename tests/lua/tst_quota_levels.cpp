// SPDX-License-Identifier: Apache-2.0
// What the buckets hold now: read without writing, most drained first.
#include "quotalevels.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs; // a full hour
constexpr qint64 msUs = 1'000;
constexpr qint64 secondUs = QuotaRedis::secondUs;
constexpr qint64 minuteUs = 60 * secondUs;

} // namespace

class TestQuotaLevels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void tellsWhatADecisionWouldTell();
    void ofAnyAccount();
    void topIsMostDrainedFirst();
    void topInPieces_data();
    void topInPieces();
    void frozenUntilTheProbeIsBack();
    void silentProbeIsNoFreezeForEver();
    void frozenFamilies();
    void familyWhoseProbeWasSilentIsFrozenNoMore();
    void projectIsFrozenAndSlow();
    void paceAndRefill();
    void placesThatAreHeld();
    void ownLimits();
    void dayOfTheProject();
    void bookedIsTheSumBelowZero();
    void bookedOfOwnLimits();
    void timesAreTheServers();
    void readsOnly();
    void worksWithoutAnyKeyButThePolicy();
    void aThousandRows();

private:
    QuotaAccountLevel alice(qint64 atUs) { return levelsAt(m_redis, atUs, {"of", "alice"}).accounts.at(0); }
    QuotaProjectLevel project(qint64 atUs) { return levelsAt(m_redis, atUs).project; }
    /// As an engine does after a decision: when the bucket will be full.
    void index(const QByteArray &account, const QuotaDecision &decision, qint64 refill = 5'450)
    {
        const qint64 missing = decision.accountCapacity - decision.accountLevel;
        m_redis.command({"ZADD", QuotaRedis::activeKey(),
                         QByteArray::number(decision.nowUs / 1000 + (missing * 60 + refill - 1) / refill),
                         account});
    }
    QByteArrayList names(const QList<QuotaAccountLevel> &rows)
    {
        QByteArrayList names;
        for (const QuotaAccountLevel &row : rows)
            names.append(row.account);
        return names;
    }

    QuotaRedis m_redis{{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"no"_s}};
};

void TestQuotaLevels::tellsWhatADecisionWouldTell()
{
    m_redis.at(t0, QuotaAsk(300));
    for (const qint64 atUs : {t0, t0 + 1, t0 + secondUs, t0 + minuteUs}) {
        const QuotaLevels levels = levelsAt(m_redis, atUs, {"of", "alice"});
        const QuotaDecision decision = m_redis.at(atUs, QuotaAsk(qint64(0)));
        QCOMPARE(levels.nowUs, atUs);
        QCOMPARE(levels.accounts.size(), 1);
        QCOMPARE(levels.accounts[0].account, QByteArray("alice"));
        QCOMPARE(levels.accounts[0].level, decision.accountLevel);
        QCOMPARE(levels.accounts[0].capacity, 360'000);
        QCOMPARE(levels.accounts[0].refillPerMinute, 5'450);
        QCOMPARE(levels.accounts[0].pace, 1'000);
        QCOMPARE(levels.accounts[0].frozenUntilUs, 0);
        QCOMPARE(levels.project.level, decision.projectLevel);
        QCOMPARE(levels.project.capacity, 72'000'000);
        QCOMPARE(levels.project.refillPerMinute, 1'090'000);
    }
}

void TestQuotaLevels::ofAnyAccount()
{
    m_redis.at(t0, QuotaAsk(360));
    m_redis.at(t0, QuotaAsk(100).waiting(30'000));
    const QuotaLevels levels = levelsAt(m_redis, t0, {"of", "bob", "alice", "bob"});
    QCOMPARE(names(levels.accounts), (QByteArrayList{"bob", "alice", "bob"})); // as asked for
    QCOMPARE(levels.accounts[0].level, 360'000); // never seen: full
    QCOMPARE(levels.accounts[1].level, -100'000); // booked
    QCOMPARE(levels.active, 0); // indexed by nobody
    QVERIFY(levelsAt(m_redis, t0, {"of"}).accounts.isEmpty());
}

void TestQuotaLevels::topIsMostDrainedFirst()
{
    const QList<std::pair<QByteArray, qint64>> used{{"a", 10}, {"b", 360}, {"c", 200}, {"d", 1}, {"e", 300}};
    for (const auto &[account, units] : used)
        index(account, m_redis.at(t0, QuotaAsk(units).of(account)));
    const QuotaLevels levels = levelsAt(m_redis, t0, {"top", "0", "10"});
    QCOMPARE(names(levels.accounts), (QByteArrayList{"b", "e", "c", "a", "d"}));
    QCOMPARE(levels.accounts[1].level, 60'000);
    QCOMPARE(levels.active, 5);
    // An account that is indexed and whose hash is gone is full.
    m_redis.command({"DEL", QuotaRedis::accountKey("b")});
    QCOMPARE(levelsAt(m_redis, t0, {"top", "0", "1"}).accounts[0].level, 360'000);
}

void TestQuotaLevels::topInPieces_data()
{
    QTest::addColumn<QByteArray>("offset");
    QTest::addColumn<QByteArray>("count");
    QTest::addColumn<QByteArrayList>("accounts");
    QTest::newRow("first") << QByteArray("0") << QByteArray("2") << QByteArrayList{"a", "b"};
    QTest::newRow("next") << QByteArray("2") << QByteArray("2") << QByteArrayList{"c", "d"};
    QTest::newRow("last") << QByteArray("4") << QByteArray("2") << QByteArrayList{"e"};
    QTest::newRow("beyond") << QByteArray("5") << QByteArray("2") << QByteArrayList{};
    QTest::newRow("far beyond") << QByteArray("1000000000") << QByteArray("1000") << QByteArrayList{};
    QTest::newRow("none") << QByteArray("0") << QByteArray("0") << QByteArrayList{};
}

void TestQuotaLevels::topInPieces()
{
    QFETCH(QByteArray, offset);
    QFETCH(QByteArray, count);
    QFETCH(QByteArrayList, accounts);
    for (int i = 0; i < 5; ++i)
        index(QByteArray(1, char('a' + i)),
              m_redis.at(t0, QuotaAsk(300 - i).of(QByteArray(1, char('a' + i)))));
    const QuotaLevels levels = levelsAt(m_redis, t0, {"top", offset, count});
    QCOMPARE(names(levels.accounts), accounts);
    QCOMPARE(levels.active, 5);
}

void TestQuotaLevels::frozenUntilTheProbeIsBack()
{
    m_redis.report(t0, {.retryAfterMs = 5'000});
    QCOMPARE(alice(t0).frozenUntilUs, t0 + 5 * secondUs);
    QVERIFY(!alice(t0).probeIsOut);
    QCOMPARE(alice(t0).level, 0);
    // The time is over; until somebody's probe was answered it is not open.
    QCOMPARE(alice(t0 + 6 * secondUs).frozenUntilUs, t0 + 5 * secondUs);
    const QuotaDecision probe = m_redis.at(t0 + 6 * secondUs, QuotaAsk(1));
    QVERIFY(probe.granted);
    QVERIFY(alice(t0 + 6 * secondUs).probeIsOut);
    QCOMPARE(alice(t0 + 6 * secondUs).frozenUntilUs, t0 + 5 * secondUs);
    m_redis.report(t0 + 7 * secondUs, {.verdict = "ok", .scope = "", .grantUs = probe.nowUs});
    QCOMPARE(alice(t0 + 7 * secondUs).frozenUntilUs, 0);
    QVERIFY(!alice(t0 + 7 * secondUs).probeIsOut);
    QCOMPARE(project(t0 + 7 * secondUs).frozenUntilUs, 0);
}

void TestQuotaLevels::silentProbeIsNoFreezeForEver()
{
    m_redis.report(t0, {.retryAfterMs = 1'000});
    m_redis.at(t0 + secondUs, QuotaAsk(1));
    QVERIFY(alice(t0 + 11 * secondUs - 1).probeIsOut);
    const QuotaAccountLevel open = alice(t0 + 11 * secondUs);
    QVERIFY(!open.probeIsOut);
    QCOMPARE(open.frozenUntilUs, 0);
}

void TestQuotaLevels::frozenFamilies()
{
    m_redis.report(t0, {.family = "mail_sending", .retryAfterMs = 60'000});
    m_redis.report(t0, {.family = "forwarding_rules", .retryAfterMs = 5'000});
    m_redis.report(t0, {.scope = "project", .family = "uploads", .retryAfterMs = 7'000});
    const QuotaAccountLevel account = alice(t0 + secondUs);
    QCOMPARE(account.families,
             "mail_sending " + QByteArray::number(t0 + minuteUs) + " forwarding_rules "
                 + QByteArray::number(t0 + 5 * secondUs));
    QCOMPARE(account.frozenUntilUs, 0); // other calls are not
    QCOMPARE(account.pace, 1'000);
    QCOMPARE(project(t0).families, "uploads " + QByteArray::number(t0 + 7 * secondUs));
    const QuotaDecision probe = m_redis.at(t0 + 5 * secondUs, QuotaAsk(1).ofFamily("forwarding_rules"));
    m_redis.report(t0 + 6 * secondUs, {.verdict = "ok", .scope = "", .grantUs = probe.nowUs});
    QCOMPARE(alice(t0 + 6 * secondUs).families, "mail_sending " + QByteArray::number(t0 + minuteUs));
}

void TestQuotaLevels::familyWhoseProbeWasSilentIsFrozenNoMore()
{
    m_redis.report(t0, {.family = "mail_sending", .retryAfterMs = 1'000});
    QVERIFY(m_redis.at(t0 + secondUs, QuotaAsk(1).ofFamily("mail_sending")).granted);
    QVERIFY(!alice(t0 + 11 * secondUs - 1).families.isEmpty());
    QCOMPARE(alice(t0 + 11 * secondUs).families, QByteArray());
    // Nor after the next call, which found it open, and for ever.
    QVERIFY(m_redis.at(t0 + 11 * secondUs, QuotaAsk(1).ofFamily("mail_sending")).granted);
    QCOMPARE(alice(t0 + 11 * secondUs).families, QByteArray());
    m_redis.at(t0 + 5 * minuteUs, QuotaAsk(1));
    QVERIFY(!m_redis.hash(QuotaRedis::accountKey()).contains("care"));
}

void TestQuotaLevels::projectIsFrozenAndSlow()
{
    m_redis.report(t0, {.scope = "project", .retryAfterMs = 5'000, .cost = 40});
    const QuotaProjectLevel frozen = project(t0 + secondUs);
    QCOMPARE(frozen.frozenUntilUs, t0 + 5 * secondUs);
    QCOMPARE(frozen.pace, 700);
    QCOMPARE(frozen.refillPerMinute, 763'000);
    QCOMPARE(frozen.level, 763'000'000 / 60);
    QCOMPARE(frozen.refusedCalls, 1);
    QCOMPARE(frozen.refusedUnits, 40);
    m_redis.at(t0 + 5 * secondUs, QuotaAsk(1));
    QVERIFY(project(t0 + 5 * secondUs).probeIsOut);
    QCOMPARE(alice(t0 + 5 * secondUs).frozenUntilUs, 0);
}

void TestQuotaLevels::paceAndRefill()
{
    m_redis.report(t0, {.retryAfterMs = 1'000});
    QCOMPARE(alice(t0).pace, 700);
    QCOMPARE(alice(t0).refillPerMinute, 3'815);
    QCOMPARE(alice(t0 + secondUs).level, 3'815'000 / 60);
    QCOMPARE(alice(t0 + 2 * minuteUs).pace, 800);
    QCOMPARE(alice(t0 + 6 * minuteUs).pace, 1'000);
    QCOMPARE(alice(t0 + 6 * minuteUs).refillPerMinute, 5'450);
}

void TestQuotaLevels::placesThatAreHeld()
{
    m_redis.at(t0, QuotaAsk(1).withPlace());
    m_redis.at(t0 + secondUs, QuotaAsk(1).withPlace());
    const QuotaDecision third = m_redis.at(t0 + secondUs, QuotaAsk(1).withPlace());
    QCOMPARE(alice(t0 + secondUs).places, 3);
    m_redis.command({"FCALL", "tidekeeper_release_v1", "1", QuotaRedis::slotsKey(), third.slot});
    QCOMPARE(alice(t0 + secondUs).places, 2);
    QCOMPARE(alice(t0 + 60 * secondUs).places, 1); // the first lease is over
    QCOMPARE(alice(t0 + 61 * secondUs).places, 0);
    QCOMPARE(levelsAt(m_redis, t0, {"of", "bob"}).accounts[0].places, 0);
}

void TestQuotaLevels::ownLimits()
{
    m_redis.callAt(t0, "tidekeeper_override",
                   {QuotaRedis::accountKey(), QuotaRedis::projectKey(), QuotaRedis::policyKey()},
                   {"200000", "600", "100000", "10"});
    const QuotaLevels levels = levelsAt(m_redis, t0, {"of", "alice", "bob"});
    QVERIFY(levels.accounts[0].hasOwnLimits);
    QCOMPARE(levels.accounts[0].level, 200'000);
    QCOMPARE(levels.accounts[0].capacity, 200'000);
    QCOMPARE(levels.accounts[0].refillPerMinute, 600);
    QVERIFY(!levels.accounts[1].hasOwnLimits);
    QCOMPARE(levels.accounts[1].capacity, 360'000);
}

void TestQuotaLevels::dayOfTheProject()
{
    m_redis.setLimits({.dayEndUs = t0 + 3'600 * secondUs, .dayAfterUs = t0 + 25 * 3'600 * secondUs});
    m_redis.at(t0, QuotaAsk(100));
    const QuotaDecision granted = m_redis.at(t0, QuotaAsk(50).of("bob"));
    m_redis.refund(t0, 50, granted.nowUs, "bob");
    m_redis.at(t0 + 3'600 * secondUs, QuotaAsk(7));
    const QuotaProjectLevel day = project(t0 + 3'601 * secondUs);
    QCOMPARE(day.used, 107);
    QCOMPARE(day.usedWhenDayBegan, 100);
    QCOMPARE(day.dayEndUs, t0 + 25 * 3'600 * secondUs);
    QCOMPARE(day.marks, QByteArray::number(t0) + ":0 " + QByteArray::number(t0 + 3'600 * secondUs) + ":100");
}

void TestQuotaLevels::bookedIsTheSumBelowZero()
{
    m_redis.setLimits({.accountRefill = 6'000}); // a tenth of a unit each ms: levels are exact
    QCOMPARE(project(t0).bookedMilli, 0);
    for (const QByteArray &account : QByteArrayList{"a", "b", "c"})
        m_redis.at(t0, QuotaAsk(360).of(account));
    index("a", m_redis.at(t0, QuotaAsk(100).of("a").waiting(30'000)), 6'000);
    index("b", m_redis.at(t0, QuotaAsk(250).of("b").waiting(30'000)), 6'000);
    index("c", m_redis.at(t0, QuotaAsk(qint64(0)).of("c")), 6'000); // empty, owes nothing
    index("d", m_redis.at(t0, QuotaAsk(10).of("d")), 6'000);
    QCOMPARE(project(t0).bookedMilli, 350'000);
    QCOMPARE(project(t0 + secondUs).bookedMilli, 150'000); // a's is sent
    QCOMPARE(project(t0 + 3 * secondUs).bookedMilli, 0);
}

/// A bucket that takes longer to fill than the others is not booked for that.
void TestQuotaLevels::bookedOfOwnLimits()
{
    m_redis.setLimits({.accountRefill = 6'000});
    m_redis.callAt(t0, "tidekeeper_override",
                   {QuotaRedis::accountKey(), QuotaRedis::projectKey(), QuotaRedis::policyKey()},
                   {"3600000", "600", "0", "10"});
    index("alice", m_redis.at(t0, QuotaAsk(360)), 600);
    QCOMPARE(project(t0).bookedMilli, 0);
    index("alice", m_redis.at(t0, QuotaAsk(50).waiting(30'000)), 600);
    QCOMPARE(project(t0).bookedMilli, 50'000);
}

/// Buckets go on when the server's clock is set back; what they tell is in the server's time of now.
void TestQuotaLevels::timesAreTheServers()
{
    m_redis.at(t0, QuotaAsk(100));
    const qint64 steppedUs = t0 - minuteUs;
    m_redis.at(steppedUs, QuotaAsk(1));
    m_redis.report(steppedUs, {.retryAfterMs = 5'000});
    m_redis.report(steppedUs, {.family = "mail_sending", .retryAfterMs = 9'000});
    const QuotaLevels levels = levelsAt(m_redis, steppedUs + secondUs, {"of", "alice"});
    QCOMPARE(levels.nowUs, steppedUs + secondUs);
    QCOMPARE(levels.accounts[0].frozenUntilUs, steppedUs + 5 * secondUs);
    QCOMPARE(levels.accounts[0].families, "mail_sending " + QByteArray::number(steppedUs + 9 * secondUs));
    QCOMPARE(levels.project.clockSteps, 1);
}

void TestQuotaLevels::readsOnly()
{
    m_redis.at(t0, QuotaAsk(300).withPlace());
    m_redis.report(t0, {.family = "mail_sending", .retryAfterMs = 1'000});
    m_redis.report(t0, {.scope = "project", .retryAfterMs = 1'000});
    m_redis.command({"ZADD", QuotaRedis::activeKey(), "1", "alice"});
    const qint64 written = m_redis.appendedBytes();
    const QByteArrayList keys{QuotaRedis::projectKey(), QuotaRedis::policyKey(), QuotaRedis::activeKey()};
    for (const QByteArrayList &arguments :
         {QByteArrayList{"top", "0", "10"}, QByteArrayList{"of", "alice", "bob"}}) {
        for (const char *command : {"FCALL", "FCALL_RO"}) {
            const QuotaLevels levels = levelsFrom(
                m_redis.command(QByteArrayList{command, "tidekeeper_levels_v1", "3"} + keys + arguments));
            QCOMPARE(levels.accounts[0].account, QByteArray("alice"));
            QVERIFY(levels.nowUs > t0 / 2); // the server's own clock
        }
        // Also long after everything, when a decision would forget freezes, and at a time before.
        levelsAt(m_redis, t0 + 600 * minuteUs, arguments);
        levelsAt(m_redis, t0 - minuteUs, arguments);
    }
    QCOMPARE(m_redis.appendedBytes(), written);
}

void TestQuotaLevels::worksWithoutAnyKeyButThePolicy()
{
    const QuotaLevels levels = levelsAt(m_redis, t0, {"top", "0", "10"});
    QCOMPARE(levels.active, 0);
    QCOMPARE(levels.project.level, 72'000'000);
    QCOMPARE(levels.project.used, 0);
    QCOMPARE(levels.project.marks, QByteArray());
    m_redis.command({"DEL", QuotaRedis::policyKey()});
    const redis::Value none =
        m_redis.callAt(t0, "tidekeeper_levels",
                       {QuotaRedis::projectKey(), QuotaRedis::policyKey(), QuotaRedis::activeKey()}, {"of"});
    QVERIFY(none.text.startsWith("TKPOLICY "));
}

void TestQuotaLevels::aThousandRows()
{
    m_redis.setLimits({.projectCapacity = 1'000'000});
    QList<QByteArrayList> grants;
    QByteArrayList add{"ZADD", QuotaRedis::activeKey()};
    QByteArrayList of{"of"};
    for (int i = 0; i < 1'200; ++i) {
        const QByteArray account = "mailbox" + QByteArray::number(i);
        grants.append(QuotaRedis::words(t0, QuotaAsk(1 + i % 360).of(account)));
        add << QByteArray::number(t0 / msUs + i) << account;
        if (i < 1'000)
            of << account;
    }
    m_redis.commands(grants);
    m_redis.command(add);
    const QuotaLevels top = levelsAt(m_redis, t0, {"top", "0", "1000"});
    QCOMPARE(top.accounts.size(), 1'000);
    QCOMPARE(top.active, 1'200);
    QCOMPARE(top.accounts.first().account, QByteArray("mailbox1199"));
    QCOMPARE(top.accounts.last().account, QByteArray("mailbox200"));
    const QuotaLevels named = levelsAt(m_redis, t0, of);
    QCOMPARE(named.accounts.size(), 1'000);
    for (int i = 0; i < 1'000; ++i)
        QCOMPARE(named.accounts[i].level, (360 - 1 - i % 360) * 1'000);
}

QTEST_GUILESS_MAIN(TestQuotaLevels)
#include "tst_quota_levels.moc"
