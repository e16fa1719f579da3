// SPDX-License-Identifier: Apache-2.0
#include "core/capacity.h"
#include "core/planner.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

class TestCapacity : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void smallestTerm_data();
    void smallestTerm();
    void theReserveIsAFifth();
    void wordsSayWhatToDo();
};

namespace {

CapacityInput input()
{
    CapacityInput input;
    input.subscriptions = 100'000;
    input.windowMs = 6 * dayMs;
    input.medianMs = 100;
    input.dayBudget = 80'000'000;
    input.costUnits = 100;
    return input;
}

} // namespace

void TestCapacity::smallestTerm_data()
{
    QTest::addColumn<CapacityInput>("given");
    QTest::addColumn<QString>("smallest");
    QTest::addColumn<qint64>("possible");
    QTest::addColumn<bool>("holds");
    const auto row = [](const char *name, const QString &smallest, qint64 possible, bool holds, auto change) {
        CapacityInput given = input();
        change(given);
        QTest::newRow(name) << given << smallest << possible << holds;
    };
    // 8,000,000 units a day for renewals are 80,000 renewals a day, 480,000 in six days.
    row("day budget", u"day_budget"_s, 400'000, true, [](CapacityInput &) {});
    row("day budget too small", u"day_budget"_s, 40'000, false,
        [](CapacityInput &i) { i.dayBudget = 8'000'000; });
    // 500 a minute are 720,000 a day.
    row("no day budget", u"batch_rate"_s, 3'600'000, true, [](CapacityInput &i) { i.dayBudget = 0; });
    row("renewals are free", u"batch_rate"_s, 3'600'000, true, [](CapacityInput &i) { i.costUnits = 0; });
    row("fifty an hour and a day's window", u"batch_rate"_s, 1'000, false, [](CapacityInput &i) {
        i.batchSize = 50;
        i.scanIntervalMs = hourMs;
        i.windowMs = dayMs;
    });
    row("slow renewals", u"consumers"_s, 86'400, false, [](CapacityInput &i) { i.medianMs = 10'000; });
    row("none measured: one second", u"consumers"_s, 864'000, true, [](CapacityInput &i) {
        i.medianMs = 0;
        i.dayBudget = 0;
    });
    row("nobody", u"day_budget"_s, 400'000, true, [](CapacityInput &i) { i.subscriptions = 0; });
}

void TestCapacity::smallestTerm()
{
    QFETCH(CapacityInput, given);
    const QJsonObject capacity = capacityObject(given);
    QTEST(capacity["smallest"_L1].toString(), "smallest");
    QTEST(capacity["possible"_L1].toInteger(), "possible");
    QTEST(capacity["holds"_L1].toBool(), "holds");
    QCOMPARE(capacity["subscriptions"_L1].toInteger(), given.subscriptions);
}

void TestCapacity::theReserveIsAFifth()
{
    CapacityInput given = input();
    given.subscriptions = 399'999;
    QVERIFY(capacityOf(given).holds);
    given.subscriptions = 400'000; // × 1.2 is not less than what is possible
    QVERIFY(!capacityOf(given).holds);
}

void TestCapacity::wordsSayWhatToDo()
{
    CapacityInput given = input();
    given.dayBudget = 0;
    QCOMPARE(
        capacityOf(given).text,
        u"500 accounts each 60 s is enough for 3,600,000 accounts in a window of 6 days; there are 100,000."_s);
    given.medianMs = 10'000;
    QCOMPARE(
        capacityOf(given).text,
        u"2 consumers at 10 s a renewal is only enough for 86,400 accounts in a window of 6 days; there are "
        u"100,000. Raise consumers, add an engine or widen the window."_s);
}

QTEST_APPLESS_MAIN(TestCapacity)
#include "tst_capacity.moc"
