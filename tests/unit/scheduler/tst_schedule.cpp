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
    void refusalsSayWhatToWrite_data();
    void refusalsSayWhatToWrite();
    void patches_data();
    void patches();
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
    row("no zone's name", R"({"id": "s", "cron": "* * * * *", "zone": ""})", "invalid_request", "zone");
    row("too often", R"({"id": "s", "interval_ms": 10})", "invalid_request", "interval_ms");
    row("half", R"({"id": "s", "interval_ms": 60000.5})", "invalid_request", "interval_ms");
    row("negative", R"({"id": "s", "interval_ms": -60000})", "invalid_request", "interval_ms");
    row("text", R"({"id": "s", "interval_ms": "1m"})", "invalid_request", "interval_ms");
    row("misfire", R"({"id": "s", "interval_ms": 60000, "misfire": "all"})", "invalid_request", "misfire");
    row("overlap", R"({"id": "s", "interval_ms": 60000, "overlap": "both"})", "invalid_request", "overlap");
    row("cap", R"({"id": "s", "interval_ms": 60000, "misfire_cap": 0})", "invalid_request", "misfire_cap");
    row("jitter", R"({"id": "s", "cron": "@daily", "jitter_ms": 86400001})", "invalid_request", "jitter_ms");
    row("jitter as long as the interval", R"({"id": "s", "interval_ms": 60000, "jitter_ms": 60000})",
        "invalid_request", "jitter_ms");
    row("job", R"({"id": "s", "interval_ms": 60000, "job": {"payload": {}}})", "invalid_request", "job");
    row("job's field", R"({"id": "s", "interval_ms": 60000, "job": {"type": "t", "queu": "x"}})",
        "invalid_request", "job.queu");
    row("job's urgency", R"({"id": "s", "interval_ms": 60000, "job": {"type": "t", "urgent": 1}})",
        "invalid_request", "job.urgent");
    row("address as id", R"({"id": "kim@example.com", "interval_ms": 60000})", "invalid_request", "id");
    row("path as id", R"({"id": "a/b", "interval_ms": 60000})", "invalid_request", "id");
    row("too seldom", R"({"id": "s", "interval_ms": 31622400001})", "invalid_request", "interval_ms");
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

void TestSchedule::refusalsSayWhatToWrite_data()
{
    QTest::addColumn<QJsonObject>("schedule");
    QTest::addColumn<QString>("words");
    const auto row = [](const char *text, const char *words) {
        QTest::newRow(words) << json(text) << QString::fromLatin1(words);
    };
    row(R"({"id": "s", "interval_ms": 60000, "overlap": "queue_one"})", "Did you mean \"queue-one\"?");
    row(R"({"id": "s", "interval_ms": 60000, "misfire": "coalesc"})", "Did you mean \"coalesce\"?");
    row(R"({"id": "s", "interval": 60000})", "Did you mean \"interval_ms\"?");
    row(R"({"id": "s", "interval_ms": 999})", "from 1 second to 366 days");
    row(R"({"id": "s", "interval_ms": 60000, "misfire_cap": 1001})", "from 1 to 1000");
    row(R"({"id": "s", "interval_ms": 60000, "jitter_ms": true})", "a whole number, 0 or more");
    row(R"({"id": "s", "interval_ms": 60000, "paused": "yes"})", "true or false");
}

void TestSchedule::refusalsSayWhatToWrite()
{
    QFETCH(QJsonObject, schedule);
    QFETCH(QString, words);
    schedule.insert(u"job"_s, QJsonObject{{u"type"_s, u"t"_s}});
    const auto result = Schedule::fromJson(schedule);
    QVERIFY(!result);
    QVERIFY2(result.error().text.contains(words), qPrintable(result.error().text));
}

void TestSchedule::patches_data()
{
    QTest::addColumn<QJsonObject>("change"); // before
    QTest::addColumn<QJsonObject>("patch");
    QTest::addColumn<QJsonObject>("result"); // the schedule after; empty: refused
    const auto row = [](const char *name, const char *change, const char *patch, const char *result) {
        QTest::newRow(name) << json(change) << json(patch) << json(result);
    };
    row("pause", "{}", R"({"paused": true})", R"({"id": "s", "interval_ms": 60000, "paused": true})");
    row("cron for interval", "{}", R"({"cron": "@daily", "zone": "UTC"})",
        R"({"id": "s", "cron": "@daily", "zone": "UTC"})");
    row("interval", "{}", R"({"interval_ms": 1000})", R"({"id": "s", "interval_ms": 1000})");
    row("interval for a cron that was set", R"({"cron": "@daily", "paused": true})",
        R"({"interval_ms": 5000})", R"({"id": "s", "interval_ms": 5000, "paused": true})");
    row("back to what was declared", R"({"cron": "@daily", "paused": true})", R"({"cron": null})",
        R"({"id": "s", "interval_ms": 60000, "paused": true})");
    row("id", "{}", R"({"id": "x"})", "{}");
    row("job", "{}", R"({"job": {}})", "{}");
    row("title", "{}", R"({"title": "x"})", "{}");
    row("unknown", "{}", R"({"crn": "x"})", "{}");
    row("unknown null", "{}", R"({"crn": null})", "{}");
    row("wrong type", "{}", R"({"paused": 1})", "{}");
}

void TestSchedule::patches()
{
    QFETCH(QJsonObject, change);
    QFETCH(QJsonObject, patch);
    QFETCH(QJsonObject, result);
    QCOMPARE(checkPatch(patch).has_value(), !result.isEmpty());
    if (!result.isEmpty())
        QCOMPARE(withChange(json(R"({"id": "s", "interval_ms": 60000})"), withPatch(change, patch)), result);
}

QTEST_GUILESS_MAIN(TestSchedule)
#include "tst_schedule.moc"
