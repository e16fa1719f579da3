// SPDX-License-Identifier: Apache-2.0
// Queues, finished jobs and dead letters as the API shows and moves them: from the router to a real Redis, with the
// audit in a real database.
#include "http/queuescontroller.h"
#include "queueredis.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;
using namespace tidekeeper::test;

class TestQueuesController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init() { m_redis.clear(); }

    void roles_data();
    void roles();
    void counts();
    void finishedJobs();
    void deadAndDiscarded();
    void dryRunOnlyCounts();
    void saysWhatBecameOfEach();
    void everyMoveIsAudited();
    void badQueries_data();
    void badQueries();
    void badChoices_data();
    void badChoices();

private:
    struct Answer {
        int status;
        QJsonObject body;
    };
    Answer ask(Method method, const QString &path, const QByteArray &body = {}, const QString &query = {});
    QJsonObject get(const QString &path, const QString &query = {})
    {
        return ask(Method::Get, path, {}, query).body;
    }
    QJsonObject move(const QString &verb, const QByteArray &body)
    {
        return ask(Method::Post, u"/test/dead/"_s + verb, body).body;
    }
    void kill(const QByteArray &id, const QByteArray &errorClass, const QByteArray &dedupe = {})
    {
        m_redis.add(id, dedupe);
        QCOMPARE(m_redis.startOne(), id);
        QCOMPARE(m_redis.call("bury", {id, QueueRedis::ownerOf(id), errorClass, "text"}).integer, 1);
    }
    static QStringList idsOf(const QJsonValue &list)
    {
        QStringList ids;
        for (const QJsonValue &entry : list.toArray())
            ids.append(entry[u"id"].toString());
        ids.sort();
        return ids;
    }
    QList<store::AuditEntry> audits() { return *QCoro::waitFor(m_journal->audits(0, 100)); }

    QueueRedis m_redis;
    FakeClock m_clock;
    TestDatabase m_database;
    Router m_router;
    std::unique_ptr<store::Journal> m_journal;
    std::unique_ptr<Audit> m_audit;
    std::unique_ptr<QueuesController> m_controller;
};

void TestQueuesController::initTestCase()
{
    QVERIFY(m_redis.start());
    m_journal = std::make_unique<store::Journal>(m_database.database());
    m_audit = std::make_unique<Audit>(*m_journal, m_clock);
    m_controller = std::make_unique<QueuesController>(m_router, QList<queue::JobQueue *>{&m_redis.queue()},
                                                      m_redis.library(), *m_audit);
}

TestQueuesController::Answer TestQueuesController::ask(Method method, const QString &path,
                                                       const QByteArray &body, const QString &query)
{
    const Result<Router::Match> match = m_router.match(method, u"/api/v1/queues"_s + path);
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

void TestQueuesController::roles_data()
{
    QTest::addColumn<int>("method");
    QTest::addColumn<QString>("path");
    QTest::addColumn<int>("role");
    const auto row = [](Method method, const char *path, Role role) {
        QTest::addRow("%s %s", qPrintable(toString(method)), path)
            << int(method) << QString::fromLatin1(path) << int(role);
    };
    row(Method::Get, "", Role::Viewer);
    row(Method::Get, "/test/jobs", Role::Viewer);
    row(Method::Get, "/test/dead", Role::Viewer);
    row(Method::Post, "/test/dead/requeue", Role::Operator);
    row(Method::Post, "/test/dead/discard", Role::Operator);
    row(Method::Post, "/test/dead/restore", Role::Operator);
}

void TestQueuesController::roles()
{
    QFETCH(int, method);
    QFETCH(QString, path);
    const auto match = m_router.match(Method(method), u"/api/v1/queues"_s + path);
    QVERIFY(match);
    QTEST(int(match->role), "role");
}

void TestQueuesController::counts()
{
    kill("c", "revoked");
    m_redis.add("a");
    m_redis.add("b", {}, 0, true);
    const QJsonObject queue = get({})[u"queues"][0].toObject();
    QCOMPARE(queue[u"name"].toString(), u"test"_s);
    for (const auto &state : {u"dead"_s, u"normal"_s, u"urgent"_s})
        QCOMPARE(queue[state].toInt(), 1);
}

void TestQueuesController::finishedJobs()
{
    m_redis.add("a");
    QCOMPARE(m_redis.startOne(), "a");
    QCOMPARE(m_redis.call("ack", {"a", QueueRedis::ownerOf("a")}).integer, 1);
    kill("b", "revoked");
    QCOMPARE(idsOf(get(u"/test/jobs"_s)[u"jobs"]), (QStringList{u"a"_s, u"b"_s}));
    QCOMPARE(get(u"/test/jobs"_s)[u"jobs"][0][u"id"].toString(), u"b"_s); // the newest first
    QCOMPARE(idsOf(get(u"/test/jobs"_s, u"outcome=done"_s)[u"jobs"]), QStringList{u"a"_s});
    QCOMPARE(idsOf(get(u"/test/jobs"_s, u"class=revoked"_s)[u"jobs"]), QStringList{u"b"_s});
    QCOMPARE(idsOf(get(u"/test/jobs"_s, u"id=a"_s)[u"jobs"]), QStringList{u"a"_s});
    QCOMPARE(idsOf(get(u"/test/jobs"_s, u"type=none"_s)[u"jobs"]), QStringList());

    const QJsonObject first = get(u"/test/jobs"_s, u"limit=1"_s);
    const QString cursor = first[u"next_cursor"].toString();
    QVERIFY(!cursor.isEmpty());
    const QJsonObject second = get(u"/test/jobs"_s, u"limit=1&cursor="_s + cursor);
    QCOMPARE(idsOf(second[u"jobs"]), QStringList{u"a"_s});
}

void TestQueuesController::deadAndDiscarded()
{
    kill("a", "revoked");
    kill("b", "unparsable");
    kill("c", "revoked");
    const QJsonObject page = get(u"/test/dead"_s, u"group=revoked&limit=5"_s);
    QCOMPARE(idsOf(page[u"dead"]), (QStringList{u"a"_s, u"c"_s}));
    QCOMPARE(page[u"total"].toInt(), 3);
    QCOMPARE(page[u"groups"].toArray().size(), 2);
    for (const QJsonValue &group : page[u"groups"].toArray())
        QVERIFY(group[u"first_at"].toInteger() > 0
                && group[u"last_at"].toInteger() >= group[u"first_at"].toInteger());

    QCOMPARE(move(u"discard"_s, R"({"group": "revoked"})")[u"discarded"].toInt(), 2);
    QCOMPARE(idsOf(get(u"/test/dead"_s)[u"dead"]), QStringList{u"b"_s});
    QCOMPARE(idsOf(get(u"/test/dead"_s, u"state=discarded"_s)[u"dead"]), (QStringList{u"a"_s, u"c"_s}));
    QCOMPARE(move(u"restore"_s, R"({"ids": ["a"]})")[u"restored"].toInt(), 1);
    QCOMPARE(idsOf(get(u"/test/dead"_s)[u"dead"]), (QStringList{u"a"_s, u"b"_s}));
    QCOMPARE(move(u"requeue"_s, R"({"all": true})")[u"requeued"].toInt(), 2);
    QCOMPARE(get(u"/test/dead"_s)[u"total"].toInt(), 0);
}

void TestQueuesController::dryRunOnlyCounts()
{
    kill("a", "revoked");
    kill("b", "other");
    const qsizetype before = audits().size();
    const QJsonObject counted = move(u"discard"_s, R"({"group": "revoked", "dry_run": true})");
    QCOMPARE(counted[u"matched"].toInt(), 1);
    QCOMPARE(counted[u"discarded"].toInt(), 0);
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"dead"_s});
    QCOMPARE(audits().size(), before);
}

void TestQueuesController::saysWhatBecameOfEach()
{
    kill("a", "c", "key");
    kill("b", "c");
    QCOMPARE(m_redis.add("live", "key"), "added");
    QCOMPARE(move(u"requeue"_s, R"({"ids": ["a", "b", "b", "nobody", "live"]})"),
             (QJsonObject{{u"matched"_s, 2}, {u"requeued"_s, 1}, {u"already_live"_s, 1}, {u"gone"_s, 2}}));
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"dead"_s});
    QCOMPARE(m_redis.placesOf("b"), QStringList{u"waiting"_s});
}

void TestQueuesController::everyMoveIsAudited()
{
    for (const char *verb : {"discard", "restore", "requeue"}) {
        kill("a", "revoked");
        if (QByteArray(verb) == "restore")
            move(u"discard"_s, R"({"ids": ["a"]})");
        move(QLatin1String(verb), R"({"ids": ["a"]})");
        const store::AuditEntry entry = audits().first();
        QCOMPARE(entry.action, u"dead."_s + QLatin1String(verb));
        QCOMPARE(entry.actor, u"kim"_s);
        QCOMPARE(entry.target, u"queue.test"_s);
        QCOMPARE(entry.at, m_clock.nowMs());
        QCOMPARE(entry.details[u"role"].toString(), u"operator"_s);
        QCOMPARE(entry.details[u"ids"].toArray(), QJsonArray{u"a"_s});
        QCOMPARE(entry.details[u"counts"][u"matched"].toInt(), 1);
        m_redis.clear();
    }
    move(u"discard"_s, R"({"group": "revoked:1f"})");
    QCOMPARE(audits().first().details[u"group"].toString(), u"revoked:1f"_s);
}

void TestQueuesController::badQueries_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("query");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("field");
    QTest::newRow("unknown queue") << u"/other/dead"_s << QString() << 404 << QString();
    QTest::newRow("unknown queue, jobs") << u"/other/jobs"_s << QString() << 404 << QString();
    QTest::newRow("queues take none") << QString() << u"limit=1"_s << 422 << u"limit"_s;
    for (const QString &path : {u"/test/dead"_s, u"/test/jobs"_s}) {
        const auto row = [&path](const char *name, const QString &query, const QString &field) {
            QTest::addRow("%s, %s", qPrintable(path), name) << path << query << 422 << field;
        };
        row("unknown", u"grp=x"_s, u"grp"_s);
        row("no number", u"limit=ten"_s, u"limit"_s);
        row("zero", u"limit=0"_s, u"limit"_s);
        row("too many", u"limit=1001"_s, u"limit"_s);
        row("twice", u"limit=1&limit=2"_s, u"limit"_s);
        row("cursor", u"cursor=next"_s, u"cursor"_s);
    }
    QTest::newRow("state") << u"/test/dead"_s << u"state=lost"_s << 422 << u"state"_s;
    QTest::newRow("outcome") << u"/test/jobs"_s << u"outcome=lost"_s << 422 << u"outcome"_s;
}

void TestQueuesController::badQueries()
{
    QFETCH(QString, path);
    QFETCH(QString, query);
    QFETCH(int, status);
    const Answer answer = ask(Method::Get, path, {}, query);
    QCOMPARE(answer.status, status);
    QTEST(answer.body[u"field"].toString(), "field");
}

void TestQueuesController::badChoices_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::newRow("nothing chosen") << QByteArray("{}") << 422;
    QTest::newRow("only dry") << QByteArray(R"({"dry_run": true})") << 422;
    QTest::newRow("two ways") << QByteArray(R"({"ids": ["a"], "all": true})") << 422;
    QTest::newRow("group and all") << QByteArray(R"({"group": "c", "all": true})") << 422;
    QTest::newRow("not all") << QByteArray(R"({"all": false})") << 422;
    QTest::newRow("no ids") << QByteArray(R"({"ids": []})") << 422;
    QTest::newRow("ids of a wrong type") << QByteArray(R"({"ids": [1]})") << 422;
    QTest::newRow("unknown field") << QByteArray(R"({"all": true, "drry_run": true})") << 422;
    QTest::newRow("dry_run of a wrong type") << QByteArray(R"({"all": true, "dry_run": "yes"})") << 422;
    QTest::newRow("not JSON") << QByteArray("{") << 400;
}

void TestQueuesController::badChoices()
{
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    kill("a", "c");
    const qsizetype before = audits().size();
    QCOMPARE(ask(Method::Post, u"/test/dead/discard"_s, body).status, status);
    QCOMPARE(ask(Method::Post, u"/other/dead/discard"_s, R"({"all": true})").status, 404);
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"dead"_s});
    QCOMPARE(audits().size(), before);
}

QTEST_GUILESS_MAIN(TestQueuesController)
#include "tst_queuescontroller.moc"
