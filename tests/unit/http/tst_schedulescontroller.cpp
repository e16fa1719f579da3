// SPDX-License-Identifier: Apache-2.0
// Schedules as the API shows and changes them: from the router to a real Redis, with what operators change and the
// audit in a real database.
#include "http/schedulescontroller.h"
#include "queueredis.h"
#include "settings/schedulesettings.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;
using namespace tidekeeper::test;

class TestSchedulesController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void cleanupTestCase();
    void init();

    void roles_data();
    void roles();
    void shows();
    void runsNow();
    void listsRuns();
    void pausesAndResumes();
    void changes();
    void everyChangeIsAudited();
    void forgetsOrphansOnly();
    void faults_data();
    void faults();

private:
    struct Answer {
        int status;
        QJsonObject body;
    };
    Answer ask(Method method, const QString &path, const QByteArray &body = {}, const QString &query = {});
    QJsonObject get(const QString &path) { return ask(Method::Get, path).body; }
    store::AuditEntry lastAudit() { return QCoro::waitFor(m_journal->audits(0, 1))->value(0); }
    void endJob(const QByteArray &errorClass = {});

    QueueRedis m_redis;
    FakeClock m_clock;
    TestDatabase m_database;
    Router m_router;
    std::unique_ptr<queue::Leases> m_leases;
    std::unique_ptr<queue::LeaderLease> m_lease;
    std::unique_ptr<scheduler::Scheduler> m_scheduler;
    std::unique_ptr<store::SettingsStore> m_store;
    std::unique_ptr<settings::ScheduleSettings> m_settings;
    std::unique_ptr<store::Journal> m_journal;
    std::unique_ptr<Audit> m_audit;
    std::unique_ptr<SchedulesController> m_controller;
};

void TestSchedulesController::initTestCase()
{
    QVERIFY(m_redis.start());
    m_leases = std::make_unique<queue::Leases>(m_redis.leaseLibrary());
    m_lease = std::make_unique<queue::LeaderLease>(*m_leases, queue::LeaderLease::Options());
    m_scheduler =
        std::make_unique<scheduler::Scheduler>(m_clock, QList<queue::JobQueue *>{&m_redis.queue()}, *m_lease);
    QVERIFY(m_scheduler
                ->declare({{u"id"_s, u"scan"_s},
                           {u"interval_ms"_s, 60'000},
                           {u"job"_s, QJsonObject{{u"type"_s, u"scan"_s}, {u"dedupe"_s, u"scan"_s}}}})
                .ok());
    m_store = std::make_unique<store::SettingsStore>(m_database.database());
    const QJsonObject old{{u"id"_s, u"old"_s},
                          {u"interval_ms"_s, 5'000},
                          {u"job"_s, QJsonObject{{u"type"_s, u"x"_s}, {u"queue"_s, u"test"_s}}}};
    QVERIFY(QCoro::waitFor(m_store->set(u"schedule_declared.old"_s,
                                        {{u"plugin"_s, u"removed-plugin"_s}, {u"schedule"_s, old}},
                                        u"engine"_s, 1)));
    m_settings = std::make_unique<settings::ScheduleSettings>(*m_store, *m_scheduler, m_clock);
    QCoro::waitFor(m_settings->start());
    m_journal = std::make_unique<store::Journal>(m_database.database());
    m_audit = std::make_unique<Audit>(*m_journal, m_clock);
    m_controller = std::make_unique<SchedulesController>(m_router, *m_scheduler, *m_audit);
}

void TestSchedulesController::cleanupTestCase()
{
    QCoro::waitFor(m_settings->stop());
}

void TestSchedulesController::init()
{
    m_redis.clear();
}

TestSchedulesController::Answer TestSchedulesController::ask(Method method, const QString &path,
                                                             const QByteArray &body, const QString &query)
{
    const Result<Router::Match> match = m_router.match(method, u"/api/v1/schedules"_s + path);
    if (!match)
        return {Response::problem(match.error()).status, {}};
    Request request;
    request.method = method;
    request.path = path;
    request.parameters = match->parameters;
    request.query = QUrlQuery(query);
    request.headers.insert("content-type", "application/json");
    request.body = body;
    request.principal = {u"kim"_s, Role::Operator};
    const Response response = QCoro::waitFor((*match->handler)(request));
    return {response.status, QJsonDocument::fromJson(response.body).object()};
}

/// The one job that waits runs and is done, or becomes a dead letter of this class.
void TestSchedulesController::endJob(const QByteArray &errorClass)
{
    const QByteArray id = m_redis.startOne();
    QVERIFY(!id.isEmpty());
    const QByteArray owner = QueueRedis::ownerOf(id);
    const redis::Value ended = errorClass.isEmpty()
        ? m_redis.call("ack", {id, owner})
        : m_redis.call("bury", {id, owner, errorClass, "It cannot work."});
    QCOMPARE(ended.integer, 1);
}

void TestSchedulesController::roles_data()
{
    QTest::addColumn<int>("method");
    QTest::addColumn<QString>("path");
    QTest::addColumn<int>("role");
    const auto row = [](Method method, const char *path, Role role) {
        QTest::addRow("%s %s", qPrintable(toString(method)), path)
            << int(method) << QString::fromLatin1(path) << int(role);
    };
    row(Method::Get, "", Role::Viewer);
    row(Method::Get, "/scan", Role::Viewer);
    row(Method::Get, "/scan/next", Role::Viewer);
    row(Method::Get, "/scan/runs", Role::Viewer);
    row(Method::Patch, "/scan", Role::Operator);
    row(Method::Delete, "/scan", Role::Operator);
    row(Method::Post, "/scan/run", Role::Operator);
    row(Method::Post, "/scan/pause", Role::Operator);
    row(Method::Post, "/scan/resume", Role::Operator);
}

void TestSchedulesController::roles()
{
    QFETCH(int, method);
    QFETCH(QString, path);
    const auto match = m_router.match(Method(method), u"/api/v1/schedules"_s + path);
    QVERIFY(match);
    QTEST(int(match->role), "role");
}

void TestSchedulesController::shows()
{
    const QJsonArray all = get({})[u"schedules"].toArray();
    QCOMPARE(all.size(), 2);
    QCOMPARE(all[0][u"id"].toString(), u"old"_s);
    QVERIFY(all[0][u"orphaned"].toBool());
    QCOMPARE(all[0][u"plugin"].toString(), u"removed-plugin"_s);
    const QJsonObject scan = get(u"/scan"_s);
    QCOMPARE(scan[u"next_at"].toInteger(), (m_clock.nowMs() / 60'000 + 1) * 60'000);
    QVERIFY(!scan[u"orphaned"].toBool());
    QCOMPARE(scan[u"overdue_since"].toInteger(), 0);
    QVERIFY(!scan[u"running"].toBool());
    QVERIFY(scan[u"last_run"].toObject().isEmpty());
    QCOMPARE(ask(Method::Get, u"/scan/next"_s, {}, u"n=3"_s).body[u"next"].toArray().size(), 3);
}

void TestSchedulesController::runsNow()
{
    const Answer run = ask(Method::Post, u"/scan/run"_s);
    QCOMPARE(run.status, 200);
    QCOMPARE(run.body[u"result"].toString(), u"added"_s);
    QVERIFY(!run.body[u"text"].toString().isEmpty());
    QCOMPARE(m_redis.field(run.body[u"job"].toString().toLatin1(), "type"), "scan");
    const store::AuditEntry entry = lastAudit();
    QCOMPARE(entry.action, u"schedule.run"_s);
    QCOMPARE(entry.actor, u"kim"_s);
    QCOMPARE(entry.target, u"schedule.scan"_s);
    QCOMPARE(entry.details[u"job"], run.body[u"job"]);
    QCOMPARE(entry.details[u"role"].toString(), u"operator"_s);
}

void TestSchedulesController::listsRuns()
{
    QCOMPARE(ask(Method::Get, u"/scan/runs"_s).body[u"runs"].toArray().size(), 0);
    ask(Method::Post, u"/scan/run"_s);
    endJob();
    ask(Method::Post, u"/scan/run"_s);
    endJob("revoked");
    const QJsonObject first = ask(Method::Get, u"/scan/runs"_s, {}, u"limit=1"_s).body;
    QCOMPARE(first[u"runs"].toArray().size(), 1);
    QCOMPARE(first[u"runs"][0][u"outcome"].toString(), u"dead"_s);
    QCOMPARE(first[u"runs"][0][u"trigger"].toString(), u"manual"_s);
    QCOMPARE(first[u"runs"][0][u"error_class"].toString(), u"revoked"_s);
    const QString rest = u"cursor="_s + first[u"next_cursor"].toString();
    const QJsonObject second = ask(Method::Get, u"/scan/runs"_s, {}, rest).body;
    QCOMPARE(second[u"runs"].toArray().size(), 1);
    QCOMPARE(second[u"runs"][0][u"outcome"].toString(), u"done"_s);
    QCOMPARE(second[u"next_cursor"].toString(), QString());
    QCOMPARE(get(u"/scan"_s)[u"last_run"][u"outcome"].toString(), u"dead"_s);
}

void TestSchedulesController::pausesAndResumes()
{
    QVERIFY(ask(Method::Post, u"/scan/pause"_s).body[u"paused"].toBool());
    QCOMPARE(get(u"/scan"_s)[u"next_at"].toInteger(), 0);
    QVERIFY(!ask(Method::Post, u"/scan/resume"_s).body[u"paused"].toBool());
    QVERIFY(get(u"/scan"_s)[u"next_at"].toInteger() > 0);
}

void TestSchedulesController::changes()
{
    const Answer changed = ask(Method::Patch, u"/scan"_s, R"({"cron": "0 9 * * *", "zone": "Asia/Seoul"})");
    QCOMPARE(changed.status, 200);
    QCOMPARE(changed.body[u"cron"].toString(), u"0 9 * * *"_s);
    QVERIFY(changed.body[u"changed"].toBool());
    QCOMPARE(ask(Method::Patch, u"/scan"_s, R"({"interval_ms": 60000})").body[u"interval_ms"].toInt(),
             60'000);
}

void TestSchedulesController::everyChangeIsAudited()
{
    ask(Method::Post, u"/scan/pause"_s);
    store::AuditEntry entry = lastAudit();
    QCOMPARE(entry.action, u"setting.set"_s);
    QCOMPARE(entry.actor, u"kim"_s);
    QCOMPARE(entry.target, u"schedule.scan"_s);
    QVERIFY(entry.details[u"after"][u"paused"].toBool());
    ask(Method::Post, u"/scan/resume"_s);
    entry = lastAudit();
    QVERIFY(entry.details[u"before"][u"paused"].toBool());
    QVERIFY(!entry.details[u"after"][u"paused"].toBool());
}

void TestSchedulesController::forgetsOrphansOnly()
{
    const Answer declared = ask(Method::Delete, u"/scan"_s);
    QCOMPARE(declared.status, 409);
    QCOMPARE(declared.body[u"code"].toString(), u"schedule_declared"_s);
    const Answer orphan = ask(Method::Post, u"/old/run"_s);
    QCOMPARE(orphan.status, 409);
    QCOMPARE(orphan.body[u"code"].toString(), u"schedule_orphaned"_s);

    QCOMPARE(ask(Method::Delete, u"/old"_s).status, 200);
    QCOMPARE(lastAudit().action, u"setting.reset"_s);
    QCOMPARE(lastAudit().actor, u"kim"_s);
    QCOMPARE(lastAudit().target, u"schedule_declared.old"_s);
    QCOMPARE(ask(Method::Get, u"/old"_s).status, 404);
    QCOMPARE(ask(Method::Delete, u"/old"_s).status, 404);
    QCOMPARE(get({})[u"schedules"].toArray().size(), 1);
}

void TestSchedulesController::faults_data()
{
    QTest::addColumn<int>("method");
    QTest::addColumn<QString>("path");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("query");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *name, Method method, const char *path, const char *body,
                        const char *query, int status, const char *code, const char *field = "") {
        QTest::newRow(name) << int(method) << QString::fromLatin1(path) << QByteArray(body)
                            << QString::fromLatin1(query) << status << QString::fromLatin1(code)
                            << QString::fromLatin1(field);
    };
    row("unknown", Method::Get, "/nobody", "", "", 404, "not_found");
    row("unknown, run", Method::Post, "/nobody/run", "", "", 404, "not_found");
    row("unknown, pause", Method::Post, "/nobody/pause", "", "", 404, "not_found");
    row("unknown, runs", Method::Get, "/nobody/runs", "", "", 404, "not_found");
    row("unknown, forget", Method::Delete, "/nobody", "", "", 404, "not_found");
    row("list with a parameter", Method::Get, "", "", "limit=3", 422, "invalid_request", "limit");
    row("n too large", Method::Get, "/scan/next", "", "n=1001", 422, "invalid_request", "n");
    row("n no number", Method::Get, "/scan/next", "", "n=x", 422, "invalid_request", "n");
    row("unknown parameter", Method::Get, "/scan/next", "", "m=1", 422, "invalid_request", "m");
    row("runs, limit", Method::Get, "/scan/runs", "", "limit=0", 422, "invalid_request", "limit");
    row("runs, cursor", Method::Get, "/scan/runs", "", "cursor=next", 422, "invalid_request", "cursor");
    row("runs, parameter", Method::Get, "/scan/runs", "", "outcome=done", 422, "invalid_request", "outcome");
    row("impossible date", Method::Patch, "/scan", R"({"cron": "0 0 31 4,6 *"})", "", 422, "invalid_cron",
        "day"); // of the pattern
    row("zone", Method::Patch, "/scan", R"({"cron": "@daily", "zone": "X"})", "", 422, "unknown_zone",
        "zone");
    row("not its own", Method::Patch, "/scan", R"({"job": {}})", "", 422, "invalid_request", "job");
    row("not JSON", Method::Patch, "/scan", "{", "", 400, "malformed_json");
}

void TestSchedulesController::faults()
{
    QFETCH(int, method);
    QFETCH(QString, path);
    QFETCH(QByteArray, body);
    QFETCH(QString, query);
    QFETCH(int, status);
    const QJsonObject before = get(u"/scan"_s);
    const qint64 audited = lastAudit().id;
    const Answer answer = ask(Method(method), path, body, query);
    QCOMPARE(answer.status, status);
    QTEST(answer.body[u"code"].toString(), "code");
    QTEST(answer.body[u"field"].toString(), "field");
    QCOMPARE(get(u"/scan"_s), before);
    QCOMPARE(lastAudit().id, audited);
}

QTEST_GUILESS_MAIN(TestSchedulesController)
#include "tst_schedulescontroller.moc"
