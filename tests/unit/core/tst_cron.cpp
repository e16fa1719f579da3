// SPDX-License-Identifier: Apache-2.0
#include "core/cron.h"

#include <QtCore/QDateTime>
#include <QtCore/QElapsedTimer>
#include <QtCore/QRegularExpression>
#include <QtCore/QSet>
#include <QtTest/QTest>

#include <functional>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

qint64 ms(const char *iso)
{
    return QDateTime::fromString(QString::fromLatin1(iso), Qt::ISODate).toMSecsSinceEpoch();
}

QStringList iso(const QList<qint64> &fires)
{
    QStringList texts;
    for (const qint64 fire : fires)
        texts.append(QDateTime::fromMSecsSinceEpoch(fire, Qt::UTC).toString(Qt::ISODate));
    return texts;
}

/// What a pattern of the enumeration test means, said without the parser.
struct Meaning {
    const char *pattern;
    bool rhythm;
    std::function<bool(int hour, int minute, int second)> matches;
};

const std::vector<Meaning> &meanings()
{
    static const std::vector<Meaning> list{
        {"0 * * * *", true, [](int, int m, int s) { return m == 0 && s == 0; }},
        {"*/15 * * * * *", true, [](int, int, int s) { return s % 15 == 0; }},
        {"0 */2 * * *", false, [](int h, int m, int s) { return h % 2 == 0 && m == 0 && s == 0; }},
        {"*/20 1 * * *", false, [](int h, int m, int s) { return h == 1 && m % 20 == 0 && s == 0; }},
        {"0 9-17 * * *", false, [](int h, int m, int s) { return h >= 9 && h <= 17 && m == 0 && s == 0; }},
        {"30 0 * * *", false, [](int h, int m, int s) { return h == 0 && m == 30 && s == 0; }},
        {"30 1 * * *", false, [](int h, int m, int s) { return h == 1 && m == 30 && s == 0; }},
        {"30 2 * * *", false, [](int h, int m, int s) { return h == 2 && m == 30 && s == 0; }},
        {"0 0 * * *", false, [](int h, int m, int s) { return h == 0 && m == 0 && s == 0; }},
        {"0,15 0-4 * * *", false,
         [](int h, int m, int s) { return h <= 4 && (m == 0 || m == 15) && s == 0; }},
    };
    return list;
}

/// The wall clock at every 15 s of a span and of the day before it.
QList<std::pair<qint64, qint64>> wallClock(const QTimeZone &zone, qint64 fromMs, qint64 toMs)
{
    QList<std::pair<qint64, qint64>> shown; // UTC and local seconds
    for (qint64 at = fromMs / 1000 - 86'400; at <= toMs / 1000; at += 15)
        shown.append({at, at + zone.offsetFromUtc(QDateTime::fromSecsSinceEpoch(at, Qt::UTC))});
    return shown;
}

/// Every fire after fromMs, found by looking at the wall clock all the time.
QList<qint64> enumerate(const Meaning &meaning, const QList<std::pair<qint64, qint64>> &shown, qint64 fromMs)
{
    const auto matches = [&](qint64 localS) {
        return meaning.matches(int(localS / 3600 % 24), int(localS / 60 % 60), int(localS % 60));
    };
    QSet<qint64> seen;
    QList<qint64> fires;
    qint64 previousLocal = 0;
    for (const auto &[at, local] : shown) {
        bool fire = matches(local) && (meaning.rhythm || !seen.contains(local));
        if (!meaning.rhythm && previousLocal != 0) {
            for (qint64 skipped = previousLocal + 15; skipped < local; skipped += 15)
                fire = fire || matches(skipped);
        }
        seen.insert(local);
        previousLocal = local;
        if (fire && at * 1000 > fromMs)
            fires.append(at * 1000);
    }
    return fires;
}

} // namespace

class TestCron : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void next_data();
    void next();
    void stepsEqualEnumeration_data();
    void stepsEqualEnumeration();
    void midnightGapKeepsItsDay();
    void refused_data();
    void refused();
    void remedies_data();
    void remedies();
    void rareButValid();
    void limits();
};

void TestCron::next_data()
{
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QByteArray>("zone");
    QTest::addColumn<qint64>("from");
    QTest::addColumn<QStringList>("fires");

    const auto row = [](const char *pattern, const char *zone, const char *from, const QStringList &fires) {
        QTest::addRow("%s in %s from %s", pattern, zone, from)
            << QString::fromLatin1(pattern) << QByteArray(zone) << ms(from) << fires;
    };
    // use-agent-os/agent-os#2472, spring-projects/spring-framework#28245, rundeck/rundeck#6879,
    // netresearch/go-cron#41: once in the night of either change.
    row("30 2 * * *", "Europe/Zurich", "2022-03-26T12:00:00Z",
        {u"2022-03-27T01:00:00Z"_s, u"2022-03-28T00:30:00Z"_s});
    row("30 2 * * *", "Europe/Zurich", "2022-10-29T12:00:00Z",
        {u"2022-10-30T00:30:00Z"_s, u"2022-10-31T01:30:00Z"_s});
    row("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
        {u"2026-03-08T07:00:00Z"_s, u"2026-03-09T06:30:00Z"_s});
    row("30 1 * * *", "America/New_York", "2025-11-01T12:00:00Z",
        {u"2025-11-02T05:30:00Z"_s, u"2025-11-03T06:30:00Z"_s});
    row("30 1 * * *", "America/New_York", "2025-11-02T05:30:00Z", {u"2025-11-03T06:30:00Z"_s});
    row("30 1 * * *", "America/New_York", "2025-11-02T06:10:00Z",
        {u"2025-11-03T06:30:00Z"_s}); // in the second pass
    // Rhythms go through both passes and leave no hole in real time (quartz-scheduler/quartz#1104).
    row("0 * * * *", "America/New_York", "2025-11-02T04:30:00Z",
        {u"2025-11-02T05:00:00Z"_s, u"2025-11-02T06:00:00Z"_s, u"2025-11-02T07:00:00Z"_s});
    row("*/15 * * * * *", "America/New_York", "2025-11-02T05:59:30Z",
        {u"2025-11-02T05:59:45Z"_s, u"2025-11-02T06:00:00Z"_s, u"2025-11-02T06:00:15Z"_s});
    row("0 * * * *", "America/New_York", "2026-03-08T06:30:00Z",
        {u"2026-03-08T07:00:00Z"_s, u"2026-03-08T08:00:00Z"_s});
    // Three local times inside one gap are one instant.
    row("*/20 1 * * *", "Europe/London", "2026-03-28T12:00:00Z",
        {u"2026-03-29T01:00:00Z"_s, u"2026-03-30T00:00:00Z"_s, u"2026-03-30T00:20:00Z"_s});
    row("*/20 1 * * *", "Europe/London", "2026-10-25T00:10:00Z",
        {u"2026-10-25T00:20:00Z"_s, u"2026-10-25T00:40:00Z"_s, u"2026-10-26T01:00:00Z"_s});
    // Gap at midnight (spring-projects/spring-framework#36859, spring-projects/spring-framework#28095).
    row("0 */2 * * *", "Africa/Cairo", "2025-04-24T19:00:00Z",
        {u"2025-04-24T20:00:00Z"_s, u"2025-04-24T22:00:00Z"_s, u"2025-04-24T23:00:00Z"_s,
         u"2025-04-25T01:00:00Z"_s});
    row("0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z",
        {u"2026-09-06T04:00:00Z"_s, u"2026-09-07T03:00:00Z"_s});
    // Half an hour.
    row("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
        {u"2026-10-03T15:30:00Z"_s, u"2026-10-04T15:15:00Z"_s});
    row("0 * * * *", "Australia/Lord_Howe", "2026-10-03T14:00:00Z",
        {u"2026-10-03T14:30:00Z"_s, u"2026-10-03T16:00:00Z"_s});
    row("0 9 * * *", "Asia/Seoul", "2026-01-01T00:00:00Z", {u"2026-01-02T00:00:00Z"_s});
    // Calendar.
    row("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", {u"2028-02-29T00:00:00Z"_s, u"2032-02-29T00:00:00Z"_s});
    row("0 0 29 2 *", "UTC", "2097-01-01T00:00:00Z", {u"2104-02-29T00:00:00Z"_s});
    // Weekdays of 29 February: up to forty years apart, since 2100 has none.
    row("0 0 * 2 MON#5", "UTC", "2026-01-01T00:00:00Z", {u"2044-02-29T00:00:00Z"_s});
    row("0 0 29 2 */7", "UTC", "2088-03-01T00:00:00Z", {u"2128-02-29T00:00:00Z"_s});
    row("30 * 29 2 */7", "America/New_York", "2032-03-02T00:00:00Z", {u"2060-02-29T05:30:00Z"_s});
    row("0 0 */29 2 THU", "UTC", "2091-02-02T00:00:00Z", {u"2103-02-01T00:00:00Z"_s});
    row("59 59 23 31 12 *", "UTC", "2025-12-31T23:59:58Z",
        {u"2025-12-31T23:59:59Z"_s, u"2026-12-31T23:59:59Z"_s});
    row("@yearly", "Asia/Seoul", "2025-06-01T00:00:00Z", {u"2025-12-31T15:00:00Z"_s});
    row("@DAILY", "UTC", "2026-01-01T00:00:00Z", {u"2026-01-02T00:00:00Z"_s});
    row("@hourly", "", "2026-01-01T00:00:00Z", {u"2026-01-01T01:00:00Z"_s});
    row("@weekly", "UTC", "2026-01-01T00:00:00Z", {u"2026-01-04T00:00:00Z"_s});
    row("@monthly", "UTC", "2026-01-01T00:00:00Z", {u"2026-02-01T00:00:00Z"_s});
    row("0 0 L * *", "UTC", "2028-01-31T00:00:00Z", {u"2028-02-29T00:00:00Z"_s, u"2028-03-31T00:00:00Z"_s});
    row("0 0 L-1,15 * ?", "UTC", "2026-02-14T00:00:00Z",
        {u"2026-02-15T00:00:00Z"_s, u"2026-02-27T00:00:00Z"_s, u"2026-03-15T00:00:00Z"_s});
    row("0 12 * * MON#1", "UTC", "2026-01-01T00:00:00Z",
        {u"2026-01-05T12:00:00Z"_s, u"2026-02-02T12:00:00Z"_s});
    row("0 12 ? * FRI#5", "UTC", "2026-02-01T00:00:00Z", {u"2026-05-29T12:00:00Z"_s});
    row("0 12 * * friL", "UTC", "2026-01-01T00:00:00Z",
        {u"2026-01-30T12:00:00Z"_s, u"2026-02-27T12:00:00Z"_s});
    row("0 0 * jan,MAR mon-wed", "UTC", "2026-01-28T00:00:00Z", {u"2026-03-02T00:00:00Z"_s});
    row("0 0 * * 7", "UTC", "2026-01-01T00:00:00Z", {u"2026-01-04T00:00:00Z"_s});
    row("0 0 * * SAT-SUN", "UTC", "2026-01-01T00:00:00Z",
        {u"2026-01-03T00:00:00Z"_s, u"2026-01-04T00:00:00Z"_s});
    row("0 0 * * SUN-SUN", "UTC", "2026-01-01T00:00:00Z",
        {u"2026-01-04T00:00:00Z"_s, u"2026-01-11T00:00:00Z"_s});
    row("0 0 13 * FRI", "UTC", "2026-01-01T00:00:00Z", // day or weekday
        {u"2026-01-02T00:00:00Z"_s, u"2026-01-09T00:00:00Z"_s, u"2026-01-13T00:00:00Z"_s});
    row("0 0 */2 * FRI", "UTC", "2026-01-01T00:00:00Z", // a field with * restricts both
        {u"2026-01-09T00:00:00Z"_s, u"2026-01-23T00:00:00Z"_s});
    row("5/20,7 10-12/2 * * *", "UTC", "2026-01-01T10:06:00Z",
        {u"2026-01-01T10:07:00Z"_s, u"2026-01-01T10:25:00Z"_s, u"2026-01-01T10:45:00Z"_s,
         u"2026-01-01T12:05:00Z"_s});
    row("* * * * * *", "UTC", "1969-12-31T23:59:58Z", {u"1969-12-31T23:59:59Z"_s, u"1970-01-01T00:00:00Z"_s});
}

void TestCron::next()
{
    QFETCH(QString, pattern);
    QFETCH(QByteArray, zone);
    QFETCH(qint64, from);
    QFETCH(QStringList, fires);
    const auto result = nextFires(pattern, zone, from, int(fires.size()));
    QVERIFY2(result, result ? "" : qPrintable(result.error().text));
    QCOMPARE(iso(*result), fires);
}

void TestCron::stepsEqualEnumeration_data()
{
    QTest::addColumn<QByteArray>("zone");
    for (const char *zone : {"America/New_York", "Europe/Zurich", "Africa/Cairo", "America/Santiago",
                             "Australia/Lord_Howe", "Asia/Seoul", "UTC"})
        QTest::addRow("%s", zone) << QByteArray(zone);
}

void TestCron::stepsEqualEnumeration()
{
    QFETCH(QByteArray, zone);
    const QTimeZone qtZone(zone);
    QList<qint64> centres;
    const auto changes = qtZone.transitions(QDateTime::fromString(u"2025-01-01T00:00:00Z"_s, Qt::ISODate),
                                            QDateTime::fromString(u"2027-12-31T00:00:00Z"_s, Qt::ISODate));
    for (const auto &change : changes)
        centres.append(change.atUtc.toMSecsSinceEpoch());
    if (zone != "UTC" && zone != "Asia/Seoul")
        QCOMPARE(centres.size(), 6);
    centres.append(ms("2025-12-31T23:59:00Z"));

    const auto where = Zone::find(zone);
    QVERIFY(where);
    for (const qint64 centre : centres) {
        const qint64 from = centre - 30 * 3'600'000;
        const qint64 to = centre + 30 * 3'600'000;
        const auto shown = wallClock(qtZone, from, to);
        for (const Meaning &meaning : meanings()) {
            const auto cron = CronExpression::parse(QString::fromLatin1(meaning.pattern));
            QVERIFY(cron);
            QCOMPARE(cron->isRhythm(), meaning.rhythm);
            QList<qint64> stepped;
            qint64 at = from;
            while (const auto next = cron->nextFire(*where, at)) {
                QVERIFY2(*next > at, meaning.pattern);
                at = *next;
                if (at > to)
                    break;
                stepped.append(at);
            }
            const QList<qint64> enumerated = enumerate(meaning, shown, from);
            QVERIFY2(stepped == enumerated, meaning.pattern);
            // From anywhere, also from inside a second pass, the next one is the first that lies after it.
            for (at = from; at < enumerated.last(); at += 17 * 60'000 + 1'000) {
                const qint64 expected = *std::upper_bound(enumerated.begin(), enumerated.end(), at);
                QVERIFY2(*cron->nextFire(*where, at) == expected, meaning.pattern);
            }
        }
    }
}

void TestCron::midnightGapKeepsItsDay()
{
    // One run for each local day of a year, whatever the clocks do.
    for (const char *zone : {"Africa/Cairo", "America/Santiago", "Europe/Zurich", "Australia/Lord_Howe"}) {
        for (const char *pattern : {"0 0 * * *", "30 0 * * *", "30 1 * * *", "30 2 * * *"}) {
            const auto fires = nextFires(QString::fromLatin1(pattern), zone, ms("2025-12-31T20:00:00Z"), 365);
            QVERIFY(fires);
            QSet<QDate> days;
            for (const qint64 fire : *fires)
                days.insert(QDateTime::fromMSecsSinceEpoch(fire, QTimeZone(zone)).date());
            QCOMPARE(days.size(), 365);
        }
    }
}

void TestCron::refused_data()
{
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *pattern, const char *field) {
        QTest::addRow("%s", pattern) << QString::fromLatin1(pattern) << QString::fromLatin1(field);
    };
    // jaclarke/cronosjs#37, Steve-Mcl/node-red-contrib-cron-plus#110, jmrozanec/cron-utils#310: searched for ever;
    // mariusbancila/croncpp#7, harrisiirak/cron-parser#415: a date that does not exist came back.
    row("0 0 30 2 *", "day");
    row("0 0 31 4 *", "day");
    row("0 0 31 4,6 *", "day");
    row("0 0 L-30 2 *", "day");
    row("0 0 31 2,4,6,9,11 *", "day");
    row("0 0 30,31 2 *", "day");
    row("* * * 30 2 *", "day");
    row("", "cron");
    row("* * * *", "cron");
    row("* * * * * * *", "cron");
    row("@reboot", "cron");
    row("60 * * * *", "minute");
    row("* 24 * * *", "hour");
    row("* * 0 * *", "day");
    row("* * 32 * *", "day");
    row("* * L-31 * *", "day");
    row("* * * 13 *", "month");
    row("* * * FOO *", "month");
    row("* * * * 8", "weekday");
    row("* * * * MON#6", "weekday");
    row("* * * * XYZ#1", "weekday");
    row("* * * * L", "weekday");
    row("* * 15W * *", "day");
    row("0 22-2 * * *", "hour");
    row("0 0 * NOV-FEB *", "month");
    row("60 * * * * *", "second");
    row("*/0 * * * *", "minute");
    row("*/90 * * * *", "minute");
    row("*/-5 * * * *", "minute");
    row("5-1 * * * *", "minute");
    row("1-2-3 * * * *", "minute");
    row("1/2/3 * * * *", "minute");
    row(",1 * * * *", "minute");
    row("1.5 * * * *", "minute");
    row("+5 * * * *", "minute");
    row("99999999999999999999 * * * *", "minute");
}

void TestCron::refused()
{
    QFETCH(QString, pattern);
    QFETCH(QString, field);
    QElapsedTimer timer;
    timer.start();
    const auto result = CronExpression::parse(pattern);
    QVERIFY(timer.elapsed() < 50);
    QVERIFY(!result);
    QCOMPARE(result.error().code, u"invalid_cron"_s);
    QCOMPARE(result.error().details[u"field"].toString(), field);
    // The sentence names the field, and what to write instead.
    QVERIFY2(result.error().text.contains(field), qPrintable(result.error().text));
    static const QRegularExpression remedy(u"\\b(use|write|from 1 to|fields)\\b"_s,
                                           QRegularExpression::CaseInsensitiveOption);
    QVERIFY2(remedy.match(result.error().text).hasMatch(), qPrintable(result.error().text));
}

void TestCron::remedies_data()
{
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("text");
    const auto row = [](const QString &pattern, const QString &text) {
        QTest::newRow(qPrintable(pattern)) << pattern << text;
    };
    row(u"60 * * * *"_s, u"Cron field \"minute\": \"60\" is not known here; use 0 to 59."_s);
    row(u"0 0 * FOO *"_s, u"Cron field \"month\": \"FOO\" is not known here; use 1 to 12 or JAN to DEC."_s);
    row(u"0 22-2 * * *"_s, u"Cron field \"hour\": the range \"22-2\" runs backwards; write 22-23,0-2."_s);
    row(u"*/90 * * * *"_s, u"Cron field \"minute\": the step in \"*/90\" must be from 1 to 59."_s);
    row(u"0 0 30 2 *"_s,
        u"Cron field \"day\": this date never comes, like 30 February. Use a day that the month has, or L "
        u"for "
        "its last day."_s);
}

void TestCron::remedies()
{
    QFETCH(QString, pattern);
    QTEST(CronExpression::parse(pattern).error().text, "text");
}

void TestCron::rareButValid()
{
    QElapsedTimer timer;
    timer.start();
    QVERIFY(CronExpression::parse(u"0 0 29 2 *"_s));
    QVERIFY(CronExpression::parse(u"0 0 * 2 MON#5"_s)); // 29 February on a Monday: each 28 years
    QVERIFY(CronExpression::parse(u"0 0 29 2 */7"_s));
    QVERIFY(CronExpression::parse(u"0 0 31 4 MON"_s)); // the weekday makes it possible
    QVERIFY(timer.elapsed() < 50);
}

void TestCron::limits()
{
    QCOMPARE(nextFires(u"* * * * *"_s, "UTC", 0, 0).error().code, u"invalid_request"_s);
    QCOMPARE(nextFires(u"* * * * *"_s, "UTC", 0, 1001).error().code, u"invalid_request"_s);
    QCOMPARE(*nextFires(u"@monthly"_s, "UTC", ms("9999-10-31T00:00:00Z"), 9),
             (QList<qint64>{ms("9999-11-01T00:00:00Z"), ms("9999-12-01T00:00:00Z")}));
    for (const char *zone : {"Mars/Olympus", "Seoul", "../../etc/passwd", "EST5", "UTC+03:00", "Asia/"})
        QCOMPARE(nextFires(u"* * * * *"_s, zone, 0, 1).error().code, u"unknown_zone"_s);
    for (const char *zone :
         {"", "UTC", "Etc/UTC", "Asia/Calcutta", "America/Argentina/Buenos_Aires", "Etc/GMT+3"})
        QVERIFY(nextFires(u"* * * * *"_s, zone, 0, 1));
    QCOMPARE(nextFires(u"* * * * *"_s, "UTC", 0, 1000)->size(), 1000);
}

QTEST_GUILESS_MAIN(TestCron)
#include "tst_cron.moc"
