// SPDX-License-Identifier: Apache-2.0
#include "scheduler/watchdog.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using tidekeeper::scheduler::Watchdog;

namespace {

constexpr qint64 start = 1'800'000'000'000;
constexpr qint64 second = 1'000;

/// What the watchdog is shown at a time after the start, and what it says.
struct Step {
    qint64 wallMs;
    qint64 monotonicMs;
    std::optional<qint64> dueMs; ///< after the start
    Watchdog::News news;
};

} // namespace

Q_DECLARE_METATYPE(QList<Step>)

class TestWatchdog : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void says_data();
    void says();
    void schedulesAreApart();
};

void TestWatchdog::says_data()
{
    QTest::addColumn<QList<Step>>("steps");
    const auto none = Watchdog::News::None;
    const auto overdue = Watchdog::News::Overdue;
    const auto recovered = Watchdog::News::Recovered;
    QTest::newRow("in time") << QList<Step>{{0, 0, 60 * second, none},
                                            {60 * second, 60 * second, 120 * second, none}};
    QTest::newRow("late, then there") << QList<Step>{{60 * second, 60 * second, 60 * second, none},
                                                     {90 * second, 90 * second, 60 * second, none},
                                                     {91 * second, 91 * second, 60 * second, overdue},
                                                     {99 * second, 99 * second, 60 * second, none},
                                                     {100 * second, 100 * second, 120 * second, recovered}};
    QTest::newRow("fires, each tick late") << QList<Step>{{100 * second, 100 * second, 60 * second, none},
                                                          {125 * second, 125 * second, 120 * second, none},
                                                          {145 * second, 145 * second, 120 * second, none}};
    QTest::newRow("overdue, then the next is overdue too")
        << QList<Step>{{60 * second, 60 * second, 60 * second, none},
                       {100 * second, 100 * second, 60 * second, overdue},
                       {130 * second, 130 * second, 120 * second, recovered},
                       {170 * second, 170 * second, 120 * second, overdue}};
    QTest::newRow("paused while overdue") << QList<Step>{{60 * second, 60 * second, 60 * second, none},
                                                         {95 * second, 95 * second, 60 * second, overdue},
                                                         {96 * second, 96 * second, std::nullopt, recovered}};
    // quartznet/quartznet#1490: a step of the wall clock is no silence of the leader.
    QTest::newRow("the clock steps a day ahead")
        << QList<Step>{{0, 0, 60 * second, none},
                       {86'400 * second, 1 * second, 60 * second, none},
                       {86'402 * second, 3 * second, 60 * second, none},
                       {86'403 * second, 4 * second, 86'460 * second, none}};
    QTest::newRow("the clock steps ahead and nobody fires")
        << QList<Step>{{86'400 * second, 1 * second, 60 * second, none},
                       {86'432 * second, 33 * second, 60 * second, overdue}};
    QTest::newRow("the clock steps back an hour while overdue")
        << QList<Step>{{60 * second, 60 * second, 60 * second, none},
                       {95 * second, 95 * second, 60 * second, overdue},
                       {-3'500 * second, 100 * second, 60 * second, recovered}};
    // The monotonic clock counts suspended time; who leads gets its 30 s after waking.
    QTest::newRow("wakes from a night's suspend")
        << QList<Step>{{0, 0, 60 * second, none},
                       {30'000 * second, 30'000 * second, 60 * second, none},
                       {30'002 * second, 30'002 * second, 30'060 * second, none}};
}

void TestWatchdog::says()
{
    QFETCH(QList<Step>, steps);
    Watchdog watchdog;
    for (const Step &step : steps) {
        std::optional<qint64> due;
        if (step.dueMs)
            due = start + *step.dueMs;
        QCOMPARE(watchdog.see(u"s"_s, due, start + step.wallMs, step.monotonicMs), step.news);
        if (step.news == Watchdog::News::Overdue)
            QCOMPARE(watchdog.overdueSinceMs(u"s"_s), *due);
        if (step.news == Watchdog::News::Recovered)
            QCOMPARE(watchdog.overdueSinceMs(u"s"_s), 0);
    }
}

void TestWatchdog::schedulesAreApart()
{
    Watchdog watchdog;
    for (const qint64 at : {60 * second, 95 * second}) {
        watchdog.see(u"late"_s, start + 60 * second, start + at, at);
        watchdog.see(u"early"_s, start + at + 1, start + at, at);
    }
    QCOMPARE(watchdog.overdueSinceMs(u"late"_s), start + 60 * second);
    QCOMPARE(watchdog.overdueSinceMs(u"early"_s), 0);
}

QTEST_APPLESS_MAIN(TestWatchdog)
#include "tst_watchdog.moc"
