// SPDX-License-Identifier: Apache-2.0
#include "cli/humanize.h"
#include "cli/table.h"

#include <QtTest/QTest>

#include <limits>

using namespace tidekeeper::cli;
using namespace Qt::StringLiterals;

class TestCliText : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void durations_data();
    void durations();
    void relatives_data();
    void relatives();
    void instants_data();
    void instants();
    void numbers();
    void widths_data();
    void widths();
    void tables();
    void tablesDisarmData();
};

void TestCliText::durations_data()
{
    QTest::addColumn<qint64>("ms");
    QTest::addColumn<QString>("text");
    constexpr qint64 second = 1000;
    constexpr qint64 minute = 60 * second;
    constexpr qint64 hour = 60 * minute;
    constexpr qint64 day = 24 * hour;
    QTest::newRow("nothing") << qint64(0) << u"0 ms"_s;
    QTest::newRow("ms") << qint64(999) << u"999 ms"_s;
    QTest::newRow("s") << second << u"1 s"_s;
    QTest::newRow("s and ms") << 12 * second + 700 << u"12 s"_s;
    QTest::newRow("min and s") << 3 * minute + 20 * second << u"3 min 20 s"_s;
    QTest::newRow("just below an hour") << hour - 1 << u"59 min 59 s"_s;
    QTest::newRow("h and min") << 2 * hour + 5 * minute + 59 * second << u"2 h 5 min"_s;
    QTest::newRow("d and h") << 4 * day + 2 * hour + 59 * minute << u"4 d 2 h"_s;
    QTest::newRow("no hours") << 7 * day + 59 * minute << u"7 d"_s;
    QTest::newRow("negative") << -4 * day - 2 * hour << u"4 d 2 h"_s;
    QTest::newRow("least") << std::numeric_limits<qint64>::min() << u"106751991167 d 7 h"_s;
}

void TestCliText::durations()
{
    QFETCH(qint64, ms);
    QTEST(duration(ms), "text");
}

void TestCliText::relatives_data()
{
    QTest::addColumn<qint64>("left");
    QTest::addColumn<QString>("text");
    QTest::newRow("now") << qint64(0) << u"now"_s;
    QTest::newRow("half a second") << qint64(-500) << u"now"_s;
    QTest::newRow("future") << qint64(3'600'000) << u"in 1 h"_s;
    QTest::newRow("past") << qint64(-61'000) << u"1 min 1 s ago"_s;
}

void TestCliText::relatives()
{
    QFETCH(qint64, left);
    QTEST(relative(1'800'000'000'000 + left, 1'800'000'000'000), "text");
}

void TestCliText::instants_data()
{
    QTest::addColumn<QByteArray>("zone");
    QTest::addColumn<qint64>("at");
    QTest::addColumn<QString>("text");
    QTest::newRow("UTC") << QByteArray("UTC") << qint64(1772953200000) << u"2026-03-08 07:00:00 UTC"_s;
    QTest::newRow("Seoul") << QByteArray("Asia/Seoul") << qint64(1772953200000)
                           << u"2026-03-08 16:00:00 +09:00"_s;
    QTest::newRow("New York, summer time just begun")
        << QByteArray("America/New_York") << qint64(1772953200000) << u"2026-03-08 03:00:00 -04:00"_s;
    QTest::newRow("never") << QByteArray("Asia/Seoul") << qint64(0) << u"never"_s;
}

void TestCliText::instants()
{
    QFETCH(QByteArray, zone);
    QFETCH(qint64, at);
    const QByteArray before = qgetenv("TZ");
    qputenv("TZ", zone);
    tzset();
    const QString text = instant(at);
    before.isNull() ? qunsetenv("TZ") : qputenv("TZ", before);
    tzset();
    QTEST(text, "text");
}

void TestCliText::numbers()
{
    QCOMPARE(number(0), u"0"_s);
    QCOMPARE(number(1'200'000), u"1,200,000"_s);
    QCOMPARE(number(-1234), u"-1,234"_s);
}

void TestCliText::widths_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("width");
    QTest::newRow("ASCII") << u"abc"_s << 3;
    QTest::newRow("Korean") << u"한글"_s << 4;
    QTest::newRow("half width") << u"ｱ"_s << 1;
    QTest::newRow("accent in two parts") << u"e\u0301"_s << 1;
    QTest::newRow("beyond 16 bits") << u"😀"_s << 2;
    QTest::newRow("empty") << QString() << 0;
}

void TestCliText::widths()
{
    QFETCH(QString, text);
    QTEST(displayWidth(text), "width");
}

void TestCliText::tables()
{
    Table table({{u"NAME"_s}, {u"UNITS"_s, Table::Align::Right}, {u"NOTE"_s}});
    table.add({u"a"_s, u"1,200"_s, u"x"_s});
    table.add({u"한글"_s, u"7"_s, QString()});
    QCOMPARE(table.text(),
             u"NAME  UNITS  NOTE\n"
             "a     1,200  x\n"
             "한글      7\n"_s);
    QCOMPARE(Table({{u"ID"_s}, {u"STATE"_s}}).text(), u"ID  STATE\n"_s);
}

void TestCliText::tablesDisarmData()
{
    Table table({{u"ID"_s}});
    table.add({u"\x1b[2Jgone\nID\tx\u009b"_s});
    QCOMPARE(table.text(), u"ID\n?[2Jgone?ID?x?\n"_s);
}

QTEST_GUILESS_MAIN(TestCliText)
#include "tst_clitext.moc"
