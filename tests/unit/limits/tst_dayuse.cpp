// SPDX-License-Identifier: Apache-2.0
// A day's units from a counter and its marks at the full hours.
#include "limits/dayuse.h"

#include <QtTest/QTest>

using namespace tidekeeper::limits;

namespace {

constexpr qint64 minute = 60'000'000;
constexpr qint64 hour = 60 * minute;
constexpr qint64 midnight = 500'000 * hour; // the day's begin, µs
constexpr qint64 unknown = -1;

} // namespace

class TestDayUse : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sums_data();
    void sums();
    void readsMarks();
};

void TestDayUse::sums_data()
{
    QTest::addColumn<QByteArray>("marks");
    QTest::addColumn<qint64>("at"); // after midnight
    QTest::addColumn<qint64>("used");
    QTest::addColumn<qint64>("usedWhenDayBegan");
    QTest::addColumn<qint64>("today");
    QTest::addColumn<qint64>("last24h");
    QTest::addColumn<qint64>("forecast");
    const auto mark = [](qint64 afterMidnight, qint64 units) {
        return QByteArray::number(midnight + afterMidnight) + ':' + QByteArray::number(units) + ' ';
    };
    const auto evenly = [&mark](qint64 fromHour, qint64 toHour, qint64 perHour) {
        QByteArray marks;
        for (qint64 h = fromHour; h <= toHour; ++h)
            marks += mark(h * hour, (h - fromHour) * perHour);
        return marks;
    };
    using Row = std::array<qint64, 6>;
    const auto row = [](const char *name, const QByteArray &marks, const Row &r) {
        QTest::newRow(name) << marks << r[0] << r[1] << r[2] << r[3] << r[4] << r[5];
    };
    //                                                          at, used, began, today, last 24 h, forecast
    row("nothing yet", {}, {hour, 0, 0, 0, 0, unknown});
    row("first minutes: too early to tell", mark(hour, 0), {hour + 4 * minute, 50, 0, 50, 50, unknown});
    row("ten minutes", mark(hour, 0), {hour + 10 * minute, 50, 0, 50, 50, 50 + 50 * 6 * 22 + 250});
    row("even for two days", evenly(-25, 12, 100), {12 * hour, 3'700, 2'500, 1'200, 2'400, 2'400});
    row("even, at half past", evenly(-25, 12, 100),
        {12 * hour + 30 * minute, 3'750, 2'500, 1'250, 2'400, 2'400});
    row("faster in the last three hours", evenly(-1, 9, 100) + mark(10 * hour, 1'500),
        {12 * hour, 3'000, 100, 2'900, 3'000, 2'900 + 12 * 2'000 / 3});
    row("idle since the morning", evenly(-25, 3, 100), {12 * hour, 2'800, 2'500, 300, 1'500, 300});
    row("a project that was idle for days", mark(5 * hour, 9'000), {6 * hour, 9'400, 9'000, 400, 400, 7'600});
    row("more was given back than taken", evenly(-25, 12, 0), {12 * hour, 0, 10, 0, 0, 0});
    row("the clock was set back", evenly(-25, 12, 100), {11 * hour, 3'750, 2'500, 1'250, 2'450, 2'650});
    row("after the day's end", evenly(-1, 23, 100), {25 * hour, 2'400, 2'400, 0, 2'200, 0});
}

void TestDayUse::sums()
{
    QFETCH(QByteArray, marks);
    QFETCH(qint64, at);
    QFETCH(qint64, used);
    QFETCH(qint64, usedWhenDayBegan);
    QFETCH(qint64, forecast);
    const DayUse use =
        DayUse::from(marksFrom(marks), {midnight + at, used}, usedWhenDayBegan, midnight + 24 * hour);
    QTEST(use.today, "today");
    QTEST(use.last24h, "last24h");
    QCOMPARE(use.forecast.has_value(), forecast != unknown);
    if (forecast != unknown)
        QVERIFY2(qAbs(*use.forecast - forecast) <= 1, qPrintable(QString::number(*use.forecast)));
}

void TestDayUse::readsMarks()
{
    const auto marks = marksFrom("100:5 nonsense 200: :7 300:9 250:10 x:1");
    QCOMPARE(marks.size(), size_t(2)); // time never runs backwards
    QCOMPARE(marks[0].atUs, 100);
    QCOMPARE(marks[0].units, 5);
    QCOMPARE(marks[1].units, 9);
    QVERIFY(marksFrom({}).empty());
}

QTEST_GUILESS_MAIN(TestDayUse)
#include "tst_dayuse.moc"
