// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule.h"

#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::scheduler;

class TestSchedule : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsAll();
    void defaults();
    void refused_data();
    void refused();
    void changes_data();
    void changes();
};

namespace {

QJsonObject json(const char *text)
{
    return QJsonDocument::fromJson(text).object();
}

} // namespace

void TestSchedule::readsAll()
{
    const auto schedule =
        Schedule::fromJson(json(R"({"id": "report", "title": "Report", "cron": "0 9 * * MON",
        "zone": "Asia/Seoul", "misfire": "each", "misfire_cap": 3, "overlap": "queue-one", "jitter_ms": 60000,
        "paused": true, "job": {"type": "notify", "payload": {"a": 1}, "dedupe": "r", "urgent": true}})"));
    QVERIFY(schedule);
    QCOMPARE(schedule->title, u"Report"_s);
    QVERIFY(schedule->misfire == core::Misfire::Each);
    QCOMPARE(schedule->misfireCap, 3);
    QVERIFY(schedule->queueOne);
    QVERIFY(schedule->paused);
    QCOMPARE(schedule->offsetMs, core::stableOffsetMs(u"report"_s, 60'000));
    QCOMPARE(schedule->job.type, u"notify"_s);
    QCOMPARE(schedule->job.payload, (QJsonObject{{u"a"_s, 1}}));
    QCOMPARE(schedule->job.dedupeKey, u"r"_s);
    QVERIFY(schedule->job.urgent);
    QCOMPARE(*schedule->trigger.next(1'796'000'000'000), 1'796'601'600'000); // Monday, 09:00 in Seoul
}

void TestSchedule::defaults()
{
    const auto schedule =
        Schedule::fromJson(json(R"({"id": "s", "interval_ms": 60000, "job": {"type": "t"}})"));
    QVERIFY(schedule);
    QVERIFY(schedule->misfire == core::Misfire::Coalesce);
    QVERIFY(!schedule->queueOne && !schedule->paused);
    QCOMPARE(schedule->offsetMs, 0);
    QCOMPARE(schedule->job.dedupeKey, u"schedule:s"_s);
}

void TestSchedule::refused_data()
{
    QTest::addColumn<QJsonObject>("schedule");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *name, const char *text, const char *code, const char *field) {
        QTest::newRow(name) << json(text) << QString::fromLatin1(code) << QString::fromLatin1(field);
    };
    row("no id", R"({"interval_ms": 60000})", "invalid_request", "id");
    row("neither", R"({"id": "s"})", "invalid_request", "cron");
    row("both", R"({"id": "s", "cron": "* * * * *", "interval_ms": 60000})", "invalid_request", "cron");
    row("never", R"({"id": "s", "cron": "0 0 30 2 *"})", "invalid_cron", "day");
    row("zone", R"({"id": "s", "cron": "* * * * *", "zone": "Seoul"})", "unknown_zone", "zone");
    row("too often", R"({"id": "s", "interval_ms": 10})", "invalid_request", "interval_ms");
    row("half", R"({"id": "s", "interval_ms": 60000.5})", "invalid_request", "interval_ms");
    row("negative", R"({"id": "s", "interval_ms": -60000})", "invalid_request", "interval_ms");
    row("text", R"({"id": "s", "interval_ms": "1m"})", "invalid_request", "interval_ms");
    row("misfire", R"({"id": "s", "interval_ms": 60000, "misfire": "all"})", "invalid_request", "misfire");
    row("overlap", R"({"id": "s", "interval_ms": 60000, "overlap": "both"})", "invalid_request", "overlap");
    row("cap", R"({"id": "s", "interval_ms": 60000, "misfire_cap": 0})", "invalid_request", "misfire_cap");
    row("jitter", R"({"id": "s", "interval_ms": 60000, "jitter_ms": 86400001})", "invalid_request",
        "jitter_ms");
    row("job", R"({"id": "s", "interval_ms": 60000, "job": {"payload": {}}})", "invalid_request", "job");
    row("no job", R"({"id": "s", "interval_ms": 60000})", "invalid_request", "job");
    row("unknown", R"({"id": "s", "interval_ms": 60000, "crn": "x"})", "invalid_request", "crn");
}

void TestSchedule::refused()
{
    QFETCH(QJsonObject, schedule);
    QFETCH(QString, code);
    QFETCH(QString, field);
    const auto result = Schedule::fromJson(schedule);
    QVERIFY(!result);
    QCOMPARE(result.error().code, code);
    QCOMPARE(result.error().details[u"field"].toString(), field);
}

void TestSchedule::changes_data()
{
    QTest::addColumn<QJsonObject>("change");
    QTest::addColumn<QJsonObject>("result"); // empty: refused
    QTest::newRow("pause") << json(R"({"paused": true})")
                           << json(R"({"id": "s", "interval_ms": 60000, "title": "T", "paused": true})");
    QTest::newRow("cron for interval")
        << json(R"({"cron": "@daily", "zone": "UTC"})")
        << json(R"({"id": "s", "cron": "@daily", "zone": "UTC", "title": "T"})");
    QTest::newRow("interval") << json(R"({"interval_ms": 1000})")
                              << json(R"({"id": "s", "interval_ms": 1000, "title": "T"})");
    QTest::newRow("id") << json(R"({"id": "x"})") << QJsonObject();
    QTest::newRow("job") << json(R"({"job": {}})") << QJsonObject();
}

void TestSchedule::changes()
{
    QFETCH(QJsonObject, change);
    QFETCH(QJsonObject, result);
    const auto changed = withChange(json(R"({"id": "s", "interval_ms": 60000, "title": "T"})"), change);
    QCOMPARE(changed.has_value(), !result.isEmpty());
    if (changed)
        QCOMPARE(*changed, result);
}

QTEST_GUILESS_MAIN(TestSchedule)
#include "tst_schedule.moc"
