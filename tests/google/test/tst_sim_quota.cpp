// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/gmailapi.h"
#include "google/quota/meter.h"
#include "google/quota/preset.h"
#include "google/test/simbench.h"

#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

constexpr qint64 second = 1'000'000;
constexpr Limits published{6'000, 1'200'000, 10, false};

} // namespace

class TestSimQuota : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void windowHoldsExactlyItsLength();
    void windowRemembersItsWorst();
    void windowAgreesWithRecount();
    void admits_data();
    void admits();
    void refusalsAreChargedOnlyWhenTold();
    void steadyUseAtTheLimitIsNeverRefused();
    void noMinuteEverExceedsTheLimit();
    void oneMailboxInTwoProjectsHasTwoOfEachLimit();
    void costs_data();
    void costs();
    void everyServedMethodHasACost();
};

void TestSimQuota::windowHoldsExactlyItsLength()
{
    SlidingWindow window(60 * second);
    window.add(1, 10);
    QCOMPARE(window.sum(1), 10);
    QCOMPARE(window.sum(60 * second), 10); // one microsecond before a minute has passed
    QCOMPARE(window.sum(60 * second + 1), 0);
}

void TestSimQuota::windowRemembersItsWorst()
{
    SlidingWindow window(60 * second);
    window.add(0, 100);
    window.add(59 * second, 50);
    window.add(60 * second, 60); // the first charge has just left
    window.add(200 * second, 1);
    QCOMPARE(window.worst(), 150);
}

/// Against the definition itself: every charge of the last minute added up anew.
void TestSimQuota::windowAgreesWithRecount()
{
    SlidingWindow window(60 * second);
    std::vector<std::pair<qint64, qint64>> charges;
    std::mt19937 random(7);
    qint64 now = 0;
    for (int i = 0; i < 3000; ++i) {
        now += random() % (3 * second / 10);
        const qint64 units = random() % 100;
        window.add(now, units);
        charges.emplace_back(now, units);
        qint64 recount = 0;
        for (const auto &[at, charged] : charges)
            recount += at > now - 60 * second ? charged : 0;
        QCOMPARE(window.sum(now), recount);
    }
}

void TestSimQuota::admits_data()
{
    QTest::addColumn<qint64>("spentInMinute"); // 30 s ago
    QTest::addColumn<qint64>("spentInBurst"); // 5 s ago
    QTest::addColumn<qint64>("spentByProject"); // by others
    QTest::addColumn<int>("inFlight");
    QTest::addColumn<qint64>("cost");
    QTest::addColumn<QString>("verdict");
    QTest::newRow("fresh") << 0LL << 0LL << 0LL << 0 << 100LL << u"admitted"_s;
    QTest::newRow("up to the minute") << 3'000LL << 2'900LL << 0LL << 0 << 100LL << u"admitted"_s;
    QTest::newRow("one over the minute") << 3'000LL << 2'900LL << 0LL << 0 << 101LL << u"user_minute"_s;
    QTest::newRow("half in 18 s") << 0LL << 2'960LL << 0LL << 0 << 40LL << u"admitted"_s;
    QTest::newRow("over half in 18 s") << 0LL << 2'961LL << 0LL << 0 << 40LL << u"user_burst"_s;
    QTest::newRow("project full") << 0LL << 0LL << 1'199'900LL << 0 << 100LL << u"admitted"_s;
    QTest::newRow("project over") << 0LL << 0LL << 1'199'901LL << 0 << 100LL << u"project_minute"_s;
    QTest::newRow("tenth in flight") << 0LL << 0LL << 0LL << 9 << 1LL << u"admitted"_s;
    QTest::newRow("eleventh in flight") << 0LL << 0LL << 0LL << 10 << 1LL << u"concurrency"_s;
}

void TestSimQuota::admits()
{
    QFETCH(qint64, spentInMinute);
    QFETCH(qint64, spentInBurst);
    QFETCH(qint64, spentByProject);
    QFETCH(int, inFlight);
    QFETCH(qint64, cost);
    QFETCH(QString, verdict);
    Usage user;
    Usage project;
    const qint64 now = 100 * second;
    user.minute.add(now - 30 * second, spentInMinute);
    user.minute.add(now - 5 * second, spentInBurst);
    user.burst.add(now - 5 * second, spentInBurst);
    project.minute.add(now - 5 * second, spentByProject);
    user.inFlight = inFlight;
    QCOMPARE(toString(admit(user, project, cost, published, now)), verdict);
    const bool admitted = verdict == u"admitted"_s;
    QCOMPARE(user.units, admitted ? cost : 0);
    QCOMPARE(user.minute.sum(now), spentInMinute + spentInBurst + (admitted ? cost : 0));
    QCOMPARE(project.minute.sum(now), spentByProject + (admitted ? cost : 0));
    QCOMPARE(user.refusedBy.value(verdict), admitted ? 0 : 1);
    QCOMPARE(project.refusedUnits, admitted ? 0 : cost);
}

void TestSimQuota::refusalsAreChargedOnlyWhenTold()
{
    for (const bool charge : {false, true}) {
        Usage user;
        Usage project;
        Limits limits = published;
        limits.chargeRefused = charge;
        QVERIFY(admit(user, project, 3'000, limits, second) == Verdict::Admitted);
        QVERIFY(admit(user, project, 100, limits, second) == Verdict::UserBurst);
        QCOMPARE(user.minute.sum(second), charge ? 3'100 : 3'000);
        QCOMPARE(user.units, 3'000);
    }
}

void TestSimQuota::steadyUseAtTheLimitIsNeverRefused()
{
    Usage user;
    Usage project;
    for (qint64 i = 0; i < 3000; ++i) // 40 units each 0.4 s are 6,000 a minute
        QVERIFY(admit(user, project, 40, published, i * 400'000) == Verdict::Admitted);
    QCOMPARE(user.minute.worst(), 6'000);
}

void TestSimQuota::noMinuteEverExceedsTheLimit()
{
    Usage user;
    Usage project;
    std::mt19937 random(3);
    qint64 now = 0;
    for (int i = 0; i < 20'000; ++i) {
        now += random() % 100'000;
        admit(user, project, 1 + random() % 100, published, now);
    }
    QVERIFY(user.refused > 0);
    QVERIFY(user.minute.worst() <= 6'000);
    QVERIFY(user.burst.worst() <= 3'000);
}

/// What one project used up, all three limits of it, leaves the other one's calls on the same mailbox alone.
void TestSimQuota::oneMailboxInTwoProjectsHasTwoOfEachLimit()
{
    SimBench bench;
    bench.control("accounts", {{u"emails"_s, QJsonArray{u"a@example.com"_s}}, {u"project_id"_s, u"other"_s}});
    World &world = bench.sim.world;
    const auto one = world.findUser(u"a@example.com"_s, u"sim-project"_s);
    const auto other = world.findUser(u"a@example.com"_s, u"other"_s);
    QVERIFY(one->mailbox == other->mailbox);
    one->usage.inFlight = 10;
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 429);
    one->usage.inFlight = 0;
    const qint64 now = world.clock.monotonicUs();
    for (const Verdict used : {Verdict::Admitted, Verdict::UserBurst})
        QVERIFY(admit(one->usage, one->project->usage, 3'000, published, now) == used);
    bench.advanceMs(20'000);
    const qint64 later = world.clock.monotonicUs();
    for (const Verdict used : {Verdict::Admitted, Verdict::UserMinute})
        QVERIFY(admit(one->usage, one->project->usage, 3'000, published, later) == used);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 403);

    QVERIFY(admit(other->usage, other->project->usage, 3'000, published, later) == Verdict::Admitted);
    QCOMPARE(other->usage.refused, 0);
    QCOMPARE(other->project->usage.units, 3'000);
    QCOMPARE(one->project->usage.units, 6'000);
}

void TestSimQuota::costs_data()
{
    QTest::addColumn<QString>("method");
    QTest::addColumn<qint64>("legacy");
    QTest::addColumn<qint64>("now");
    const auto row = [](const char *method, qint64 legacy, qint64 now) {
        QTest::newRow(method) << u"gmail.users."_s + QString::fromLatin1(method) << legacy << now;
    };
    // The six whose cost changed in May 2026, and those that renewals use.
    row("drafts.get", 5, 20);
    row("messages.get", 5, 20);
    row("messages.attachments.get", 5, 20);
    row("messages.trash", 5, 20);
    row("threads.get", 10, 40);
    row("threads.trash", 10, 20);
    row("threads.list", 10, 10);
    row("watch", 100, 100);
    row("stop", 50, 50);
    row("history.list", 2, 2);
    row("getProfile", 1, 1);
}

void TestSimQuota::costs()
{
    QFETCH(QString, method);
    QFETCH(qint64, legacy);
    QFETCH(qint64, now);
    QCOMPARE(costOf(method, Preset::GmailLegacy).value(), legacy);
    QCOMPARE(costOf(method, Preset::Gmail2026).value(), now);
}

void TestSimQuota::everyServedMethodHasACost()
{
    const Simulator simulator;
    QVERIFY(simulator.gmail.methods().size() > 30);
    for (const GmailMethod &method : simulator.gmail.methods())
        QVERIFY2(costOf(method.id, Preset::Gmail2026), qPrintable(method.id));
    QVERIFY(!costOf(u"gmail.users.threads.fetch"_s, Preset::Gmail2026));
}

QTEST_GUILESS_MAIN(TestSimQuota)
#include "tst_sim_quota.moc"
