// SPDX-License-Identifier: Apache-2.0
#include "core/pacing.h"
#include "core/planner.h"

#include <QtTest/QTest>

#include <algorithm>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

class TestPacing : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aBacklogIsWorkedWithinTwiceTheMean_data();
    void aBacklogIsWorkedWithinTwiceTheMean();
    void theUsualWorkNeverWaits();
    void aSmallInstallationDoesNotWait();
    void aLongRestDoesNotSaveUpAFlood();
    void whatWasNotBegunIsGivenBack();
    void aClockSetBackNeitherFillsNorStops();
};

namespace {

constexpr qint64 now = 1'800'000'000'000;

/// What scans once a minute take in so long when far more is there.
qint64 takenIn(qint64 durationMs, const Pace &pace)
{
    PaceLevel level;
    qint64 taken = 0;
    for (qint64 ms = 0; ms < durationMs; ms += minuteMs)
        taken += takePaced(level, pace, 500, now + ms);
    return taken;
}

} // namespace

void TestPacing::aBacklogIsWorkedWithinTwiceTheMean_data()
{
    QTest::addColumn<qint64>("subscriptions");
    QTest::addColumn<qint64>("cycleMs");
    QTest::newRow("10,000, renewed daily") << 10'000LL << dayMs;
    QTest::newRow("100,000, renewed daily") << 100'000LL << dayMs;
    QTest::newRow("100,000, renewed each six days") << 100'000LL << 6 * dayMs;
}

void TestPacing::aBacklogIsWorkedWithinTwiceTheMean()
{
    QFETCH(qint64, subscriptions);
    QFETCH(qint64, cycleMs);
    const double meanHour = static_cast<double>(subscriptions) * hourMs / static_cast<double>(cycleMs);
    const Pace pace = backlogPace(subscriptions, cycleMs);
    // The first hour too, which finds everything saved up.
    const auto firstHour = static_cast<double>(takenIn(hourMs, pace));
    QVERIFY2(firstHour <= 2 * meanHour, qPrintable(QString::number(firstHour)));
    const auto taken = static_cast<double>(takenIn(10 * hourMs, pace));
    QVERIFY2(taken >= 10 * 1.75 * meanHour, qPrintable(QString::number(taken)));
}

void TestPacing::theUsualWorkNeverWaits()
{
    // 14,400 accounts, each daily: ten a minute, and a scan that comes late finds twenty.
    const Pace pace = backlogPace(14'400, dayMs);
    PaceLevel level;
    for (int minute = 0; minute < 600; minute += minute % 3 == 0 ? 2 : 1) {
        const int due = minute % 3 == 0 ? 20 : 10;
        QCOMPARE(takePaced(level, pace, due, now + minute * minuteMs), due);
    }
}

void TestPacing::aSmallInstallationDoesNotWait()
{
    PaceLevel level;
    QCOMPARE(takePaced(level, backlogPace(10, dayMs), 10, now), 10);
    // A hundred at once: in an hour and a half, not in half a day.
    QVERIFY(takenIn(90 * minuteMs, backlogPace(100, dayMs)) >= 100);
    QVERIFY(takenIn(minuteMs, backlogPace(0, 0)) > 0); // before anybody was counted
}

void TestPacing::aLongRestDoesNotSaveUpAFlood()
{
    const Pace pace = backlogPace(100'000, dayMs);
    PaceLevel level;
    takePaced(level, pace, 1, now);
    const int taken = takePaced(level, pace, 1'000'000, now + 3 * dayMs);
    QVERIFY2(taken <= 300, qPrintable(QString::number(taken)));
}

void TestPacing::whatWasNotBegunIsGivenBack()
{
    const Pace pace = backlogPace(0, dayMs);
    PaceLevel level;
    QCOMPARE(takePaced(level, pace, 20, now), 20);
    QCOMPARE(takePaced(level, pace, 20, now), 0);
    returnPaced(level, pace, 7);
    QCOMPARE(takePaced(level, pace, 20, now), 7);
    returnPaced(level, pace, 1'000);
    QCOMPARE(takePaced(level, pace, 1'000, now), 20);
}

void TestPacing::aClockSetBackNeitherFillsNorStops()
{
    const Pace pace = backlogPace(0, dayMs);
    PaceLevel level;
    QCOMPARE(takePaced(level, pace, 20, now), 20);
    QCOMPARE(takePaced(level, pace, 20, now - hourMs), 0);
    QCOMPARE(takePaced(level, pace, 20, now - hourMs + 3 * minuteMs), 3);
}

QTEST_APPLESS_MAIN(TestPacing)
#include "tst_pacing.moc"
