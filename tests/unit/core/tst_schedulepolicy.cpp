// SPDX-License-Identifier: Apache-2.0
#include "core/retry.h"
#include "core/schedulepolicy.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

Q_DECLARE_METATYPE(tidekeeper::core::Misfire)

namespace {

constexpr qint64 minute = 60'000;
constexpr qint64 day = 86'400'000;

} // namespace

class TestSchedulePolicy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void plan_data();
    void plan();
    void clockThatWasAhead_data();
    void clockThatWasAhead();
    void lastEqualsWalking();
    void longAbsenceIsCheap();
    void intervalsAreCountedFromTheEpoch();
    void intervalLimits();
    void offsetsAreStableAndSpread();
    void backOff_data();
    void backOff();
};

void TestSchedulePolicy::plan_data()
{
    QTest::addColumn<Misfire>("misfire");
    QTest::addColumn<qint64>("now"); // ms after the last nominal time; one tick a minute
    QTest::addColumn<QList<qint64>>("fires");
    QTest::addColumn<qint64>("passedOver");
    const auto row = [](const char *name, Misfire misfire, qint64 now, QList<qint64> fires,
                        qint64 passedOver) { QTest::newRow(name) << misfire << now << fires << passedOver; };
    row("nothing due", Misfire::Coalesce, minute - 1, {}, 0);
    row("due now", Misfire::Coalesce, minute, {minute}, 0);
    row("one late", Misfire::Coalesce, 2 * minute - 1, {minute}, 0);
    row("five missed become one", Misfire::Coalesce, 5 * minute + 10, {5 * minute}, 0);
    row("skip: in time", Misfire::Skip, minute + punctualMs, {minute}, 0);
    row("skip: too late", Misfire::Skip, minute + punctualMs + 1, {}, minute);
    row("skip: five missed, the last in time", Misfire::Skip, 5 * minute + 10, {5 * minute}, 0);
    row("skip: five missed, all too late", Misfire::Skip, 5 * minute + 40'000, {}, 5 * minute);
    row("each", Misfire::Each, 2 * minute, {minute, 2 * minute}, 0);
    row("each, the latest three", Misfire::Each, 5 * minute, {3 * minute, 4 * minute, 5 * minute}, 0);
}

void TestSchedulePolicy::plan()
{
    QFETCH(Misfire, misfire);
    QFETCH(qint64, now);
    QFETCH(QList<qint64>, fires);
    QFETCH(qint64, passedOver);
    constexpr qint64 base = 1'800'000'000'000; // a whole minute
    const auto everyMinute = Trigger::interval(minute);
    const auto pattern = Trigger::cron(u"* * * * *"_s, "UTC");
    for (const auto *trigger : {&everyMinute, &pattern}) {
        const TickPlan plan = planTicks(**trigger, misfire, 3, base, base + now);
        QList<qint64> relative;
        for (const qint64 fire : plan.fires)
            relative.append(fire - base);
        QCOMPARE(relative, fires);
        QCOMPARE(plan.passedOverMs == 0 ? 0 : plan.passedOverMs - base, passedOver);
    }
}

void TestSchedulePolicy::clockThatWasAhead_data()
{
    QTest::addColumn<qint64>("interval");
    QTest::addColumn<qint64>("after"); // of the clock, ms after a tick
    QTest::addColumn<qint64>("now");
    QTest::addColumn<qint64>("from");
    const auto row = [](const char *name, qint64 interval, qint64 after, qint64 now, qint64 from) {
        QTest::newRow(name) << interval << after << now << from;
    };
    row("in order", minute, 0, 5 * minute, 0);
    row("fired just now", minute, minute, minute, minute);
    row("another engine's clock is 5 ms behind", minute, minute, minute - 5, minute);
    row("an hour back", minute, 60 * minute, 5, 5); // quartznet/quartznet#1490
    row("an hour back, daily: the tick is not run again", day, day, day - 60 * minute, day);
    row("thirty years back", day, 11'000 * day, 7, 7);
}

void TestSchedulePolicy::clockThatWasAhead()
{
    QFETCH(qint64, interval);
    QFETCH(qint64, after);
    QFETCH(qint64, now);
    QFETCH(qint64, from);
    constexpr qint64 base = 20'833LL * day; // a whole day
    QCOMPARE(countedFromMs(*Trigger::interval(interval), base + after, base + now) - base, from);
}

void TestSchedulePolicy::lastEqualsWalking()
{
    const auto trigger = Trigger::cron(u"7,19 */3 * * MON-FRI"_s, "Europe/Zurich");
    QVERIFY(trigger);
    constexpr qint64 from = 1'774'000'000'000; // the weeks around a change of the clocks
    QList<qint64> walked;
    for (auto tick = trigger->next(from); *tick <= from + 20 * day; tick = trigger->next(*tick))
        walked.append(*tick);
    for (int most : {1, 2, 7, 50, 1'000})
        QCOMPARE(trigger->last(from, from + 20 * day, most),
                 walked.mid(std::max<qsizetype>(0, walked.size() - most)));
}

void TestSchedulePolicy::longAbsenceIsCheap()
{
    // airbus/sen#198: a jump of years is not walked tick by tick.
    const auto trigger = Trigger::cron(u"*/15 * * * * *"_s, "America/New_York");
    QElapsedTimer timer;
    timer.start();
    const auto last = trigger->last(0, 1'800'000'000'000, 3);
    const auto yearly = Trigger::cron(u"@yearly"_s, "UTC")->last(0, 1'800'000'000'000, 3);
    QVERIFY(timer.elapsed() < 50);
    QCOMPARE(yearly.size(), 3);
    QCOMPARE(last, (QList<qint64>{1'799'999'970'000, 1'799'999'985'000, 1'800'000'000'000}));
}

void TestSchedulePolicy::intervalsAreCountedFromTheEpoch()
{
    const auto trigger = Trigger::interval(7'000);
    QCOMPARE(*trigger->next(0), 7'000);
    QCOMPARE(*trigger->next(6'999), 7'000);
    QCOMPARE(*trigger->next(7'000), 14'000);
    const auto monthly = Trigger::interval(28 * day); // agronholm/apscheduler#371: beyond 2^31 ms
    QCOMPARE(*monthly->next(1'800'000'000'000) % (28 * day), 0);
    QVERIFY(*monthly->next(1'800'000'000'000) - 1'800'000'000'000 <= 28 * day);
}

void TestSchedulePolicy::intervalLimits()
{
    QCOMPARE(Trigger::interval(999).error().details[u"field"].toString(), u"interval_ms"_s);
    QVERIFY(Trigger::interval(1'000));
    QVERIFY(Trigger::interval(366 * day));
    QVERIFY(!Trigger::interval(366 * day + 1));
    QVERIFY(!Trigger::interval(-5));
}

void TestSchedulePolicy::offsetsAreStableAndSpread()
{
    QCOMPARE(stableOffsetMs(u"scan"_s, 0), 0);
    QCOMPARE(stableOffsetMs(u"scan"_s, 60'000), stableOffsetMs(u"scan"_s, 60'000));
    QSet<qint64> tenths;
    for (int i = 0; i < 200; ++i) {
        const qint64 offset = stableOffsetMs(QString::number(i), 60'000);
        QVERIFY(offset >= 0 && offset < 60'000);
        tenths.insert(offset / 6'000);
    }
    QCOMPARE(tenths.size(), 10);
}

void TestSchedulePolicy::backOff_data()
{
    QTest::addColumn<int>("attempt");
    QTest::addColumn<qint64>("waitMs");
    QTest::newRow("first") << 1 << qint64(1'000);
    QTest::newRow("second") << 2 << qint64(2'000);
    QTest::newRow("tenth") << 10 << qint64(512'000);
    QTest::newRow("eleventh") << 11 << qint64(900'000);
    QTest::newRow("thousandth") << 1'000 << qint64(900'000);
    QTest::newRow("none") << 0 << qint64(1'000);
}

void TestSchedulePolicy::backOff()
{
    QFETCH(int, attempt);
    QFETCH(qint64, waitMs);
    QCOMPARE(backOffMs(attempt), waitMs);
    QCOMPARE(jitteredMs(waitMs, 0.5), waitMs);
    QCOMPARE(jitteredMs(waitMs, 0), waitMs * 8 / 10);
    QVERIFY(jitteredMs(waitMs, 0.999999) <= waitMs * 12 / 10);
}

QTEST_GUILESS_MAIN(TestSchedulePolicy)
#include "tst_schedulepolicy.moc"
