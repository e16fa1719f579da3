// SPDX-License-Identifier: Apache-2.0
#include "http/queuescontroller.h"
#include "http/schedulescontroller.h"
#include "queue/leases.h"
#include "queueredis.h"
#include "support/fakeclock.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;
using namespace tidekeeper::test;

/// Schedules, queues and dead letters as the API shows them; from the router inwards.
class TestQueueApi : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init() { m_redis.clear(); }

    void routes_data();
    void routes();
    void queues();
    void deadLetters();
    void choosing_data();
    void choosing();
    void schedules();
    void scheduleFaults_data();
    void scheduleFaults();

private:
    struct Answer {
        int status;
        QJsonObject body;
    };
    Answer ask(Method method, const QString &path, const QByteArray &body = {}, const QString &query = {})
    {
        const Result<Router::Match> match = m_router.match(method, u"/api/v1"_s + path);
        if (!match)
            return {Response::problem(match.error()).status, {}};
        Request request;
        request.method = method;
        request.path = path;
        request.parameters = match->parameters;
        request.query = QUrlQuery(query);
        request.headers.insert("content-type", "application/json");
        request.body = body;
        const Response response = QCoro::waitFor((*match->handler)(request));
        return {response.status, QJsonDocument::fromJson(response.body).object()};
    }
    void kill(const QByteArray &id, const QByteArray &errorClass)
    {
        m_redis.add(id);
        QCOMPARE(m_redis.startOne(), id);
        m_redis.call("bury", {id, QueueRedis::ownerOf(id), errorClass, "text"});
    }

    QueueRedis m_redis;
    FakeClock m_clock;
    Router m_router;
    std::unique_ptr<queue::Leases> m_leases;
    std::unique_ptr<queue::LeaderLease> m_lease;
    std::unique_ptr<scheduler::Scheduler> m_scheduler;
    std::unique_ptr<QueuesController> m_queues;
    std::unique_ptr<SchedulesController> m_schedules;
};

void TestQueueApi::initTestCase()
{
    QVERIFY(m_redis.start());
    m_leases = std::make_unique<queue::Leases>(m_redis.leaseLibrary());
    m_lease = std::make_unique<queue::LeaderLease>(*m_leases, queue::LeaderLease::Options());
    m_scheduler =
        std::make_unique<scheduler::Scheduler>(m_clock, QList<queue::JobQueue *>{&m_redis.queue()}, *m_lease);
    QVERIFY(m_scheduler
                ->declare({{u"id"_s, u"scan"_s},
                           {u"interval_ms"_s, 60'000},
                           {u"job"_s, QJsonObject{{u"type"_s, u"scan"_s}}}})
                .ok());
    m_queues = std::make_unique<QueuesController>(m_router, QList<queue::JobQueue *>{&m_redis.queue()},
                                                  m_redis.library());
    m_schedules = std::make_unique<SchedulesController>(m_router, *m_scheduler);
}

void TestQueueApi::routes_data()
{
    QTest::addColumn<int>("method");
    QTest::addColumn<QString>("path");
    QTest::addColumn<int>("role");
    const auto row = [](Method method, const char *path, Role role) {
        QTest::addRow("%d %s", int(method), path) << int(method) << QString::fromLatin1(path) << int(role);
    };
    row(Method::Get, "/queues", Role::Viewer);
    row(Method::Get, "/queues/test/dead", Role::Viewer);
    row(Method::Post, "/queues/test/dead/requeue", Role::Operator);
    row(Method::Post, "/queues/test/dead/discard", Role::Operator);
    row(Method::Post, "/queues/test/dead/restore", Role::Operator);
    row(Method::Get, "/schedules", Role::Viewer);
    row(Method::Get, "/schedules/scan", Role::Viewer);
    row(Method::Patch, "/schedules/scan", Role::Operator);
    row(Method::Get, "/schedules/scan/next", Role::Viewer);
    row(Method::Post, "/schedules/scan/run", Role::Operator);
    row(Method::Post, "/schedules/scan/pause", Role::Operator);
    row(Method::Post, "/schedules/scan/resume", Role::Operator);
}

void TestQueueApi::routes()
{
    QFETCH(int, method);
    QFETCH(QString, path);
    QFETCH(int, role);
    const auto match = m_router.match(Method(method), u"/api/v1"_s + path);
    QVERIFY(match);
    QCOMPARE(int(match->role), role);
}

void TestQueueApi::queues()
{
    m_redis.add("a");
    m_redis.add("b", {}, 0, true);
    const Answer answer = ask(Method::Get, u"/queues"_s);
    QCOMPARE(answer.status, 200);
    const QJsonObject queue = answer.body[u"queues"][0].toObject();
    QCOMPARE(queue[u"name"].toString(), u"test"_s);
    QCOMPARE(queue[u"normal"].toInt(), 1);
    QCOMPARE(queue[u"urgent"].toInt(), 1);
}

void TestQueueApi::deadLetters()
{
    kill("a", "revoked");
    kill("b", "unparsable");
    const Answer list = ask(Method::Get, u"/queues/test/dead"_s, {}, u"group=revoked&limit=5"_s);
    QCOMPARE(list.status, 200);
    QCOMPARE(list.body[u"dead"].toArray().size(), 1);
    QCOMPARE(list.body[u"total"].toInt(), 2);
    QCOMPARE(ask(Method::Get, u"/queues/test/dead"_s, {}, u"limit=none"_s).status, 422);
    QCOMPARE(ask(Method::Get, u"/queues/other/dead"_s).status, 404);

    QCOMPARE(
        ask(Method::Post, u"/queues/test/dead/discard"_s, R"({"group": "revoked", "dry_run": true})").body,
        (QJsonObject{{u"matched"_s, 1}, {u"discarded"_s, 0}}));
    QCOMPARE(ask(Method::Post, u"/queues/test/dead/discard"_s, R"({"group": "revoked"})").body,
             (QJsonObject{{u"matched"_s, 1}, {u"discarded"_s, 1}}));
    QCOMPARE(ask(Method::Post, u"/queues/test/dead/restore"_s, R"({"ids": ["a"]})").body[u"restored"].toInt(),
             1);
    QCOMPARE(ask(Method::Post, u"/queues/test/dead/requeue"_s, R"({"all": true})").body[u"requeued"].toInt(),
             2);
    QCOMPARE(ask(Method::Get, u"/queues/test/dead"_s).body[u"total"].toInt(), 0);
}

void TestQueueApi::choosing_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::newRow("nothing chosen") << QByteArray("{}") << 422;
    QTest::newRow("only dry") << QByteArray(R"({"dry_run": true})") << 422;
    QTest::newRow("two ways") << QByteArray(R"({"ids": ["a"], "all": true})") << 422;
    QTest::newRow("ids of a wrong type") << QByteArray(R"({"ids": [1]})") << 422;
    QTest::newRow("unknown field") << QByteArray(R"({"all": true, "drry_run": true})") << 422;
    QTest::newRow("dry_run of a wrong type") << QByteArray(R"({"all": true, "dry_run": "yes"})") << 422;
    QTest::newRow("not JSON") << QByteArray("{") << 400;
}

void TestQueueApi::choosing()
{
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    kill("a", "c");
    QCOMPARE(ask(Method::Post, u"/queues/test/dead/discard"_s, body).status, status);
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"dead"_s});
}

void TestQueueApi::schedules()
{
    const qint64 now = m_clock.nowMs();
    const QJsonObject schedule = ask(Method::Get, u"/schedules"_s).body[u"schedules"][0].toObject();
    QCOMPARE(schedule[u"id"].toString(), u"scan"_s);
    QCOMPARE(schedule[u"next_at"].toInteger(), (now / 60'000 + 1) * 60'000);
    QCOMPARE(ask(Method::Get, u"/schedules/scan/next"_s, {}, u"n=3"_s).body[u"next"].toArray().size(), 3);
    const Answer run = ask(Method::Post, u"/schedules/scan/run"_s);
    QCOMPARE(run.body[u"result"].toString(), u"added"_s);
    QCOMPARE(m_redis.field(run.body[u"job"].toString().toLatin1(), "type"), "scan");

    QVERIFY(ask(Method::Post, u"/schedules/scan/pause"_s).body[u"paused"].toBool());
    QCOMPARE(ask(Method::Get, u"/schedules/scan"_s).body[u"next_at"].toInteger(), 0);
    QVERIFY(!ask(Method::Post, u"/schedules/scan/resume"_s).body[u"paused"].toBool());
    const Answer changed =
        ask(Method::Patch, u"/schedules/scan"_s, R"({"cron": "0 9 * * *", "zone": "Asia/Seoul"})");
    QCOMPARE(changed.status, 200);
    QCOMPARE(changed.body[u"cron"].toString(), u"0 9 * * *"_s);
    QVERIFY(
        ask(Method::Patch, u"/schedules/scan"_s, R"({"interval_ms": 60000})").body[u"interval_ms"].toInt());
}

void TestQueueApi::scheduleFaults_data()
{
    QTest::addColumn<int>("method");
    QTest::addColumn<QString>("path");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("query");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("code");
    const auto row = [](const char *name, Method method, const char *path, const char *body,
                        const char *query, int status, const char *code) {
        QTest::newRow(name) << int(method) << QString::fromLatin1(path) << QByteArray(body)
                            << QString::fromLatin1(query) << status << QString::fromLatin1(code);
    };
    row("unknown", Method::Get, "/schedules/nobody", "", "", 404, "not_found");
    row("unknown, run", Method::Post, "/schedules/nobody/run", "", "", 404, "not_found");
    row("unknown, pause", Method::Post, "/schedules/nobody/pause", "", "", 404, "not_found");
    row("n too large", Method::Get, "/schedules/scan/next", "", "n=1001", 422, "invalid_request");
    row("n no number", Method::Get, "/schedules/scan/next", "", "n=x", 422, "invalid_request");
    row("impossible date", Method::Patch, "/schedules/scan", R"({"cron": "0 0 31 4,6 *"})", "", 422,
        "invalid_cron");
    row("zone", Method::Patch, "/schedules/scan", R"({"cron": "@daily", "zone": "X"})", "", 422,
        "unknown_zone");
    row("not its own", Method::Patch, "/schedules/scan", R"({"job": {}})", "", 422, "invalid_request");
    row("not JSON", Method::Patch, "/schedules/scan", "{", "", 400, "malformed_json");
}

void TestQueueApi::scheduleFaults()
{
    QFETCH(int, method);
    QFETCH(QString, path);
    QFETCH(QByteArray, body);
    QFETCH(QString, query);
    QFETCH(int, status);
    QFETCH(QString, code);
    const QJsonObject before = ask(Method::Get, u"/schedules/scan"_s).body;
    const Answer answer = ask(Method(method), path, body, query);
    QCOMPARE(answer.status, status);
    QCOMPARE(answer.body[u"code"].toString(), code);
    QCOMPARE(ask(Method::Get, u"/schedules/scan"_s).body, before);
}

QTEST_GUILESS_MAIN(TestQueueApi)
#include "tst_queue_api.moc"
