// SPDX-License-Identifier: Apache-2.0
// Verbs of schedules and queues: what they ask the engine, and what they show of the answer.
#include "program.h"
#include "support/localhttp.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

namespace {

/// Answers by a part of the path, the first that fits; 404 for all else.
using Answers = QList<std::pair<QByteArray, QByteArray>>;

LocalHttp::Script script(const Answers &answers)
{
    return [answers](const LocalHttp::Request &request) {
        for (const auto &[part, answer] : answers) {
            if (request.path.contains(part))
                return LocalHttp::answer(200, answer);
        }
        return LocalHttp::answer(404, R"({"code": "not_found", "detail": "No such."})");
    };
}

QStringList asked(const LocalHttp &http)
{
    QStringList requests;
    for (const LocalHttp::Request &request : http.requests())
        requests.append(QString::fromUtf8(request.method + ' ' + request.path
                                          + (request.body.isEmpty() ? "" : " " + request.body)));
    return requests;
}

const QByteArray twoQueues = R"({"queues": [{"name": "renew"}, {"name": "plugins"}]})";

} // namespace

class TestCliQueue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void schedules_data();
    void schedules();
    void queues_data();
    void queues();
    void showsAllQueuesAsOne();
    void countsBeforeItMoves();
    void movesNothingWhenNothingMatches();
    void yesDoesNotCountFirst();
    void oneWayToChoose_data();
    void oneWayToChoose();

private:
    Run run(LocalHttp &http, const QString &arguments) const
    {
        return runProgram(QStringList{u"--url"_s, http.url()} + arguments.split(u' '));
    }
    void asksAndShows(const QString &arguments, const QByteArray &answer, const QString &asks,
                      const QStringList &lines);
};

/// One request, shown to people and, as it came, to programs.
void TestCliQueue::asksAndShows(const QString &arguments, const QByteArray &answer, const QString &asks,
                                const QStringList &lines)
{
    QVERIFY(QJsonDocument::fromJson(answer).isObject());
    LocalHttp http([&answer](const LocalHttp::Request &) { return LocalHttp::answer(200, answer); });
    const Run people = run(http, arguments);
    QVERIFY2(people.exitCode == 0, qPrintable(people.err));
    for (const QString &line : lines)
        QVERIFY2(people.hasLine(line), qPrintable(line + u"\nis not in\n"_s + people.out));
    QCOMPARE(asked(http), QStringList{asks});
    const Run programs = run(http, arguments + u" --json"_s);
    QCOMPARE(programs.exitCode, 0);
    QCOMPARE(programs.out.count(u'\n'), 1);
    QVERIFY(!programs.json().isEmpty() || answer == "{}");
}

void TestCliQueue::schedules_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QByteArray>("answer");
    QTest::addColumn<QString>("asks");
    QTest::addColumn<QStringList>("lines");
    const auto row = [](const char *arguments, const QByteArray &answer, const QString &asks,
                        const QStringList &lines) {
        QTest::newRow(arguments) << QString::fromLatin1(arguments) << answer << asks << lines;
    };
    row("schedules list",
        R"({"schedules": [{"id": "scan", "interval_ms": 60000, "running": true,
                           "last_run": {"result": "added", "outcome": "done", "duration_ms": 1200}},
                          {"id": "report", "cron": "0 9 * * *", "zone": "Asia/Seoul", "paused": true,
                           "last_run": {"result": "running", "outcome": ""}},
                          {"id": "late", "cron": "@hourly", "overdue_since": 1, "last_run": {"outcome": "dead"}},
                          {"id": "old", "interval_ms": 5000, "orphaned": true, "paused": true}]})",
        u"GET /api/v1/schedules"_s,
        {u"scan every 1 min running – – done 1 s"_s,
         u"report 0 9 * * * Asia/Seoul paused – – skipped: the last one still ran –"_s,
         u"late @hourly UTC overdue – – dead 0 ms"_s, u"old every 5 s orphaned, paused – – – –"_s});
    row("schedules show scan",
        R"({"id": "scan", "title": "Who is due", "interval_ms": 60000, "changed": true, "jitter_ms": 2000,
            "overlap": "queue-one", "job": {"type": "scan-renewals", "queue": "renew"},
            "overdue_since": 1772953200000, "plugin": "watch-renewal", "misfit": "No such zone.",
            "last_run": {"outcome": "done", "duration_ms": 350, "attempts": 2, "deferrals": 1,
                         "error_class": "transient", "error_text": "Busy."}})",
        u"GET /api/v1/schedules/scan"_s,
        {u"Title Who is due"_s, u"When every 1 min, changed by an operator"_s, u"State overdue"_s,
         u"Declared by watch-renewal"_s, u"Not in force No such zone."_s, u"Next –"_s, u"Misfire coalesce"_s,
         u"Overlap queue-one"_s, u"Jitter 2 s"_s, u"Job scan-renewals, queue renew"_s, u"Last run done"_s,
         u"took 350 ms"_s, u"attempts 2 failed, 1 put off"_s, u"last error transient: Busy."_s});
    row("schedules runs a/b -n 3",
        R"({"runs": [{"nominal_at": 1772953260000, "trigger": "schedule", "result": "added", "outcome": "done",
                      "job": "j1", "duration_ms": 90, "attempts": 0, "deferrals": 2},
                     {"nominal_at": 1772953200000, "trigger": "schedule", "result": "passed_over", "outcome": ""},
                     {"nominal_at": 0, "fired_at": 1772953201000, "trigger": "manual", "result": "added",
                      "outcome": "dead", "job": "j2", "duration_ms": 61000, "attempts": 3, "deferrals": 0,
                      "error_class": "revoked", "error_text": "Gone."}], "next_cursor": ""})",
        u"GET /api/v1/schedules/a%2Fb/runs?limit=3"_s,
        {u"2026-03-08 07:01:00 UTC schedule done 90 ms 0 2 j1 –"_s,
         u"2026-03-08 07:00:00 UTC schedule passed over – 0 0 – –"_s,
         u"2026-03-08 07:00:01 UTC hand dead 1 min 1 s 3 0 j2 revoked: Gone."_s});
    row("schedules next scan -n 2", R"({"next": [1772953200000, 1772953260000]})",
        u"GET /api/v1/schedules/scan/next?n=2"_s,
        {u"2026-03-08 07:00:00 UTC"_s, u"2026-03-08 07:01:00 UTC"_s});
    row("schedules run scan", R"({"job": "1", "result": "added", "text": "It runs soon."})",
        u"POST /api/v1/schedules/scan/run"_s, {u"scan: It runs soon."_s});
    row("schedules pause scan", "{}", u"POST /api/v1/schedules/scan/pause"_s, {u"scan: paused"_s});
    row("schedules resume scan", "{}", u"POST /api/v1/schedules/scan/resume"_s, {u"scan: active"_s});
    row("schedules forget scan", "{}", u"DELETE /api/v1/schedules/scan"_s, {u"scan: forgotten"_s});
}

void TestCliQueue::schedules()
{
    QFETCH(QString, arguments);
    QFETCH(QByteArray, answer);
    QFETCH(QString, asks);
    QFETCH(QStringList, lines);
    asksAndShows(arguments, answer, asks, lines);
}

void TestCliQueue::queues_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QByteArray>("answer");
    QTest::addColumn<QString>("asks");
    QTest::addColumn<QStringList>("lines");
    const auto row = [](const char *arguments, const QByteArray &answer, const QString &asks,
                        const QStringList &lines) {
        QTest::newRow(arguments) << QString::fromLatin1(arguments) << answer << asks << lines;
    };
    row("queue list",
        R"({"queues": [{"name": "renew", "urgent": 1, "normal": 2000, "delayed": 3, "running": 2, "dead": 5,
                        "discarded": 4, "oldest_waiting_ms": 65000}]})",
        u"GET /api/v1/queues"_s, {u"renew 1 2,000 3 2 5 4 1 min 5 s"_s});
    row("queue jobs --queue renew --type renew --outcome dead --class a+b -n 7",
        R"({"jobs": [{"id": "12", "type": "renew", "schedule": "scan", "outcome": "dead", "ended_at": 1,
                      "duration_ms": 90, "attempts": 3, "deferrals": 1, "error_class": "revoked",
                      "error_text": "Gone."},
                     {"id": "13", "type": "renew", "outcome": "done", "ended_at": 2, "duration_ms": 5}],
            "next_cursor": "x"})",
        u"GET /api/v1/queues/renew/jobs?limit=7&type=renew&outcome=dead&class=a%2Bb"_s, {});
    row("queue dead --queue renew --group revoked -n 7",
        R"({"dead": [{"id": "12", "type": "renew", "group": "revoked", "died_at": 1, "starts": 1,
                      "error_text": "Token\nrevoked."}], "groups": [{"group": "revoked", "count": 1}], "total": 1})",
        u"GET /api/v1/queues/renew/dead?limit=7&group=revoked"_s, {u"1 of 1 dead letters"_s});
    row("queue dead --queue renew --discarded", R"({"dead": [], "total": 0})",
        u"GET /api/v1/queues/renew/dead?limit=50&state=discarded"_s, {u"0 of 0 discarded ones"_s});
    row("queue discard --queue renew --group revoked --dry-run", R"({"matched": 2, "discarded": 0})",
        u"POST /api/v1/queues/renew/dead/discard {\"dry_run\":true,\"group\":\"revoked\"}"_s,
        {u"2 dead letters match (dry run: nothing was changed)"_s});
}

void TestCliQueue::queues()
{
    QFETCH(QString, arguments);
    QFETCH(QByteArray, answer);
    QFETCH(QString, asks);
    QFETCH(QStringList, lines);
    asksAndShows(arguments, answer, asks, lines);
}

void TestCliQueue::showsAllQueuesAsOne()
{
    LocalHttp http(script(
        {{"/queues/renew/dead",
          R"({"dead": [{"id": "new", "died_at": 3}, {"id": "old", "died_at": 1}], "total": 9, "next_cursor": "2",
              "groups": [{"group": "revoked:1f", "count": 9, "first_at": 1, "last_at": 3}]})"},
         {"/queues/plugins/dead",
          R"({"dead": [{"id": "mid", "died_at": 2}], "total": 1, "next_cursor": "",
              "groups": [{"group": "crash:2e", "count": 1, "first_at": 2, "last_at": 2}]})"},
         {"/queues", twoQueues}}));
    const QJsonObject dead = run(http, u"queue dead -n 2 --json"_s).json();
    QCOMPARE(dead[u"total"].toInt(), 10);
    QCOMPARE(dead[u"dead"].toArray().size(), 2);
    QCOMPARE(dead[u"dead"][0][u"id"].toString(), u"new"_s);
    QCOMPARE(dead[u"dead"][0][u"queue"].toString(), u"renew"_s);
    QCOMPARE(dead[u"dead"][1][u"id"].toString(), u"mid"_s);
    QCOMPARE(dead[u"dead"][1][u"queue"].toString(), u"plugins"_s);
    QCOMPARE(dead[u"groups"].toArray().size(), 2);
    QVERIFY(!dead.contains(u"next_cursor"_s)); // of which queue would it be?

    const Run people = run(http, u"queue dead"_s);
    QVERIFY2(people.out.contains(u"revoked:1f  renew        9"_s), qPrintable(people.out));
    QVERIFY2(people.out.contains(u"3 of 10 dead letters"_s), qPrintable(people.out));
}

void TestCliQueue::countsBeforeItMoves()
{
    LocalHttp http(script(
        {{"/queues/renew/dead/requeue", R"({"matched": 2, "requeued": 1, "already_live": 1, "gone": 1})"},
         {"/queues/plugins/dead/requeue", R"({"matched": 0, "requeued": 0, "already_live": 0, "gone": 3})"},
         {"/queues", twoQueues}}));
    const Run people = run(http, u"queue requeue a b c"_s);
    QCOMPARE(people.exitCode, 1); // one of them is nowhere
    QCOMPARE(people.out,
             u"2 dead letters match\n1 of 2 requeued, 1 skipped: a job with the same key is live, "
             "1 not found among the dead letters\n"_s);
    QCOMPARE(
        asked(http),
        (QStringList{
            u"GET /api/v1/queues"_s,
            u"POST /api/v1/queues/renew/dead/requeue {\"dry_run\":true,\"ids\":[\"a\",\"b\",\"c\"]}"_s,
            u"POST /api/v1/queues/plugins/dead/requeue {\"dry_run\":true,\"ids\":[\"a\",\"b\",\"c\"]}"_s,
            u"POST /api/v1/queues/renew/dead/requeue {\"dry_run\":false,\"ids\":[\"a\",\"b\",\"c\"]}"_s,
            u"POST /api/v1/queues/plugins/dead/requeue {\"dry_run\":false,\"ids\":[\"a\",\"b\",\"c\"]}"_s,
        }));
}

void TestCliQueue::movesNothingWhenNothingMatches()
{
    LocalHttp http(script({{"/dead/discard", R"({"matched": 0, "discarded": 0, "gone": 0})"}}));
    const Run people = run(http, u"queue discard --group revoked --queue renew"_s);
    QCOMPARE(people.exitCode, 0);
    QCOMPARE(people.out, u"0 dead letters match\n"_s);
    QCOMPARE(http.requests().size(), 1);
    http.setScript(script({{"/dead/discard", R"({"matched": 0, "discarded": 0, "gone": 1})"}}));
    QCOMPARE(run(http, u"queue discard nobody --queue renew"_s).exitCode, 1); // it was named
}

void TestCliQueue::yesDoesNotCountFirst()
{
    LocalHttp http(script({{"/dead/restore", R"({"matched": 3, "restored": 2, "too_late": 1, "gone": 0})"}}));
    const Run people = run(http, u"queue restore --all --yes --queue renew"_s);
    QCOMPARE(people.exitCode, 0);
    QCOMPARE(people.out, u"2 of 3 restored, 1 skipped: discarded more than 24 hours ago\n"_s);
    const QString real = u"POST /api/v1/queues/renew/dead/restore {\"all\":true,\"dry_run\":false}"_s;
    QCOMPARE(asked(http), QStringList{real});
    const Run programs = run(http, u"queue restore --all --queue renew --json"_s);
    QCOMPARE(programs.json()[u"restored"].toInt(), 2);
    QCOMPARE(asked(http), (QStringList{real, real}));
}

void TestCliQueue::oneWayToChoose_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::newRow("none") << u"queue discard"_s;
    QTest::newRow("two") << u"queue discard a --all"_s;
    QTest::newRow("group and all") << u"queue discard --group x --all"_s;
    QTest::newRow("no such outcome") << u"queue jobs --outcome lost"_s;
}

void TestCliQueue::oneWayToChoose()
{
    QFETCH(QString, arguments);
    LocalHttp http(script({}));
    const Run people = run(http, arguments);
    QCOMPARE(people.exitCode, 2);
    QVERIFY(!people.err.isEmpty());
    QVERIFY(http.requests().isEmpty());
}

QTEST_GUILESS_MAIN(TestCliQueue)
#include "tst_cliqueue.moc"
