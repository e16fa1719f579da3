// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"

#include <QtCore/QHash>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

constexpr qint64 now = 1'800'000'000'000;

/// How many of these instants fall into the fullest minute.
int fullestMinute(const QList<qint64> &instants)
{
    QHash<qint64, int> perMinute;
    int most = 0;
    for (const qint64 at : instants)
        most = qMax(most, ++perMinute[at / minuteMs]);
    return most;
}

} // namespace

class TestPlanner : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void spreadIsStableAndEven();
    void effectiveWindow_data();
    void effectiveWindow();
    void target_data();
    void target();
    void sevenDayWatchIsRenewedADayAfterItsSuccess();
    void aHerdSpreadsAndStaysApart();
    void shortLifetimeIsNotRenewedInALoop();
    void firstTarget_data();
    void firstTarget();
    void due_data();
    void due();
};

void TestPlanner::spreadIsStableAndEven()
{
    // The same number on every machine and in every version: a changed hash would move every account's turn at once.
    QCOMPARE(qRound64(spreadOf(u"acct-1"_s) * 1e6), 207304);
    QCOMPARE(qRound64(spreadOf(QString()) * 1e6), 936769);
    QList<int> tenths(10, 0);
    for (int i = 0; i < 10'000; ++i) {
        const double spread = spreadOf(u"acct-%1"_s.arg(i));
        QVERIFY(spread >= 0 && spread < 1);
        ++tenths[static_cast<int>(spread * 10)];
    }
    for (const int count : tenths)
        QVERIFY2(count > 850 && count < 1'150, qPrintable(QString::number(count)));
}

void TestPlanner::effectiveWindow_data()
{
    QTest::addColumn<qint64>("window");
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<qint64>("lastSuccessAt");
    QTest::addColumn<qint64>("expected");
    QTest::newRow("7 days, window 6 days") << 6 * dayMs << now + 7 * dayMs << now << 6 * dayMs;
    QTest::newRow("7 days, window 1 day") << dayMs << now + 7 * dayMs << now << dayMs;
    QTest::newRow("granted 7 hours only") << 6 * dayMs << now + 7 * hourMs << now << 6 * hourMs;
    QTest::newRow("never a success: the declared lifetime")
        << 6 * dayMs << now + hourMs << qint64(0) << 6 * dayMs;
    QTest::newRow("expiry before the success") << 6 * dayMs << now - 1 << now << 6 * dayMs;
    QTest::newRow("no expiry") << 6 * dayMs << qint64(0) << now << 6 * dayMs;
}

void TestPlanner::effectiveWindow()
{
    QFETCH(qint64, window);
    QFETCH(qint64, expiresAt);
    QFETCH(qint64, lastSuccessAt);
    QTEST(effectiveWindowMs(window, lifetimeMs(expiresAt, lastSuccessAt, 7 * dayMs)), "expected");
}

void TestPlanner::target_data()
{
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<qint64>("lastSuccessAt");
    QTest::addColumn<qint64>("earliest");
    QTest::addColumn<qint64>("latest");
    const qint64 h2 = 2 * hourMs;
    QTest::newRow("7-day watch") << now + 7 * dayMs << now << now + dayMs - h2 << now + dayMs + h2;
    QTest::newRow("imported, never renewed")
        << now + 7 * dayMs << qint64(0) << now + dayMs - h2 << now + dayMs + h2;
    QTest::newRow("7-hour watch: offset at most w/12")
        << now + 7 * hourMs << now << now + 30 * minuteMs << now + 90 * minuteMs;
    QTest::newRow("1-hour watch: a quarter of an hour after the success")
        << now + hourMs << now << now + 15 * minuteMs << now + 15 * minuteMs;
    QTest::newRow("lapsed already") << now - dayMs << now - 8 * dayMs << now - 7 * dayMs - h2
                                    << now - 7 * dayMs + h2;
    // langgenius/dify#41162: −1 was read as "never expires" and the watch was never renewed.
    QTest::newRow("expiry 0") << qint64(0) << now << qint64(0) << qint64(0);
    QTest::newRow("expiry -1") << qint64(-1) << now << qint64(0) << qint64(0);
}

void TestPlanner::target()
{
    QFETCH(qint64, expiresAt);
    QFETCH(qint64, lastSuccessAt);
    QFETCH(qint64, earliest);
    QFETCH(qint64, latest);
    for (int i = 0; i < 200; ++i) {
        const qint64 target = nextTarget({u"acct-%1"_s.arg(i), expiresAt, lastSuccessAt});
        QVERIFY2(target >= earliest && target <= latest, qPrintable(QString::number(target - now)));
    }
}

void TestPlanner::sevenDayWatchIsRenewedADayAfterItsSuccess()
{
    // Everything renews at the same moment: 1,000 accounts with one expiry have to spread over four hours.
    qint64 least = now + 100 * dayMs;
    qint64 most = 0;
    for (int i = 0; i < 1'000; ++i) {
        const qint64 target = nextTarget({u"acct-%1"_s.arg(i), now + 7 * dayMs, now});
        least = qMin(least, target);
        most = qMax(most, target);
    }
    QVERIFY(most - least > 3 * hourMs + 50 * minuteMs);
    QVERIFY(most - least <= 4 * hourMs);
}

void TestPlanner::aHerdSpreadsAndStaysApart()
{
    // mozilla/fxa-oauth-server#370, Azure/azure-sdk-for-python#43720: what was connected in one hour came back at one
    // moment each time. apache/pekko-management#912: the offset counts in every round, not in the first alone.
    constexpr int accounts = 10'000;
    constexpr int meanPerMinute = accounts / 240; // over the four hours of ± 2 h
    constexpr int watchesPerMinute = 1'090'000 / 100; // what the project's limit lets through, in units
    QList<qint64> imported;
    QList<qint64> successes;
    for (int i = 0; i < accounts; ++i) {
        imported.append(tidekeeper::core::firstTarget(u"acct-%1"_s.arg(i), now + 7 * dayMs, now));
        successes.append(now);
    }
    QVERIFY(fullestMinute(imported) <= 3 * accounts / (24 * 60)); // over a day
    int before = accounts;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < accounts; ++i)
            successes[i] = nextTarget({u"acct-%1"_s.arg(i), successes[i] + 7 * dayMs, successes[i]});
        const int most = fullestMinute(successes);
        QVERIFY2(most <= 2 * meanPerMinute && most <= watchesPerMinute, qPrintable(QString::number(most)));
        QVERIFY2(most < before, qPrintable(QString::number(most))); // the herd decays
        before = most;
    }
}

void TestPlanner::shortLifetimeIsNotRenewedInALoop()
{
    const qint64 target = nextTarget({u"a"_s, now + 5 * minuteMs, now});
    QCOMPARE(target, now + 15 * minuteMs);
}

void TestPlanner::firstTarget_data()
{
    QTest::addColumn<qint64>("left");
    QTest::addColumn<qint64>("latest");
    QTest::newRow("no watch") << qint64(-now) << qint64(0);
    QTest::newRow("lapsed") << -dayMs << qint64(0);
    QTest::newRow("24 h left") << dayMs << qint64(0);
    QTest::newRow("36 h left") << 36 * hourMs << 12 * hourMs;
    QTest::newRow("7 days left") << 7 * dayMs << dayMs;
}

void TestPlanner::firstTarget()
{
    QFETCH(qint64, left);
    QFETCH(qint64, latest);
    qint64 most = 0;
    for (int i = 0; i < 300; ++i) {
        const qint64 target = tidekeeper::core::firstTarget(u"acct-%1"_s.arg(i), now + left, now);
        QVERIFY(target >= now && target <= now + latest);
        most = qMax(most, target - now);
    }
    QVERIFY(most >= latest * 9 / 10);
}

void TestPlanner::due_data()
{
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<qint64>("target");
    QTest::addColumn<qint64>("attempt");
    QTest::addColumn<qint64>("expected");
    QTest::newRow("target") << now + dayMs << now + hourMs << qint64(0) << now + hourMs;
    QTest::newRow("back-off") << now + dayMs << now - hourMs << now + minuteMs << now + minuteMs;
    QTest::newRow("unknown expiry, target ignored") << qint64(0) << now + hourMs << qint64(0) << qint64(0);
    QTest::newRow("expiry -1, target ignored") << qint64(-1) << now + hourMs << qint64(0) << qint64(0);
    QTest::newRow("unknown expiry keeps its back-off")
        << qint64(0) << qint64(0) << now + minuteMs << now + minuteMs;
}

void TestPlanner::due()
{
    QFETCH(qint64, expiresAt);
    QFETCH(qint64, target);
    QFETCH(qint64, attempt);
    QTEST(dueAt(expiresAt, target, attempt), "expected");
}

QTEST_GUILESS_MAIN(TestPlanner)
#include "tst_planner.moc"
