// SPDX-License-Identifier: Apache-2.0
// What people see of a limiter and change of it, with a scripted one behind it and a real database.
#include "http/bucketscontroller.h"
#include "http/limitercontroller.h"
#include "settings/fakelimiter.h"
#include "store/journal.h"
#include "support/testdatabase.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;

class TestLimiterController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void listsAndShows();
    void changesSettings();
    void changesLimitsOfOneAccount();
    void badChanges_data();
    void badChanges();
    void onlyOperatorsChange();
    void levelsNeedALimit_data();
    void levelsNeedALimit();
    void unknownLimitersAreNotFound();

private:
    Response request(Method method, const QString &path, const QByteArray &body = {},
                     const QString &query = {});
    QJsonObject json(Method method, const QString &path, const QByteArray &body = {},
                     const QString &query = {});

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<test::EngineSide> m_side; // its Redis is never reached
    std::unique_ptr<limits::LevelReader> m_levels;
    std::unique_ptr<Router> m_router;
    std::unique_ptr<LimiterController> m_controller;
    std::unique_ptr<BucketsController> m_buckets;
};

void TestLimiterController::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_side = std::make_unique<test::EngineSide>(m_database->database());
    m_side->start();
    m_levels = std::make_unique<limits::LevelReader>(m_side->connection, m_side->library,
                                                     m_side->buckets.projects(), m_side->clock);
    m_router = std::make_unique<Router>();
    m_controller =
        std::make_unique<LimiterController>(*m_router, m_side->registry, *m_levels, m_side->settings);
    m_buckets = std::make_unique<BucketsController>(*m_router, *m_levels);
}

void TestLimiterController::cleanup()
{
    QCoro::waitFor(m_side->settings.stop());
    m_buckets.reset();
    m_controller.reset();
    m_levels.reset();
    m_side.reset();
    m_database.reset();
}

Response TestLimiterController::request(Method method, const QString &path, const QByteArray &body,
                                        const QString &query)
{
    const Result<Router::Match> match = m_router->match(method, u"/api/v1/limiters"_s + path);
    if (!match)
        return Response::problem(match.error());
    Request request;
    request.method = method;
    request.parameters = match->parameters;
    request.query = QUrlQuery(query);
    request.headers.insert("content-type", "application/json");
    request.body = body;
    request.principal = {u"kim"_s, Role::Operator};
    return QCoro::waitFor((*match->handler)(request));
}

QJsonObject TestLimiterController::json(Method method, const QString &path, const QByteArray &body,
                                        const QString &query)
{
    const Response response = request(method, path, body, query);
    if (response.status != 200)
        qWarning("%d %s", response.status, response.body.constData());
    return response.status == 200 ? QJsonDocument::fromJson(response.body).object() : QJsonObject();
}

void TestLimiterController::listsAndShows()
{
    const QJsonObject limiter = json(Method::Get, u"/gmail"_s);
    QCOMPARE(json(Method::Get, {})["limiters"_L1].toArray(), QJsonArray{limiter});
    QCOMPARE(limiter["name"_L1].toString(), u"gmail"_s);
    QCOMPARE(limiter["enabled"_L1], QJsonValue(true));
    QCOMPARE(limiter["key_ttl"_L1], QJsonValue(3'600'000));
    const QJsonObject project = limiter["projects"_L1]["default"_L1].toObject();
    QCOMPARE(project["account_capacity"_L1], QJsonValue(360));
    QCOMPARE(project.value("booked"_L1), QJsonValue(QJsonValue::Null)); // without Redis
}

void TestLimiterController::changesSettings()
{
    QJsonObject limiter = json(Method::Patch, u"/gmail"_s,
                               R"({"fail_open": false, "projects": {"default": {"day_budget": 5}}})");
    QCOMPARE(limiter["fail_open"_L1], QJsonValue(false));
    QCOMPARE(limiter["sources"_L1]["fail_open"_L1].toString(), u"operator"_s);
    QCOMPARE(limiter["projects"_L1]["default"_L1]["day_budget"_L1], QJsonValue(5));
    QCOMPARE(m_side->limiter.adjusted["fail_open"_L1], QJsonValue(false));
    limiter = json(Method::Patch, u"/gmail"_s, R"({"fail_open": null})");
    QCOMPARE(limiter["fail_open"_L1], QJsonValue(true));
    QCOMPARE(limiter, json(Method::Get, u"/gmail"_s));

    store::Journal journal(m_database->database());
    const auto audit = *QCoro::waitFor(journal.audits(0, 10));
    QCOMPARE(audit.size(), 2);
    QCOMPARE(audit[0].actor, u"kim"_s);
}

void TestLimiterController::changesLimitsOfOneAccount()
{
    const QString path = u"/gmail/overrides/Lee%2Bx@example.com"_s;
    QJsonObject limiter = json(Method::Put, path, R"({"account_capacity": 700})", u"project=other"_s);
    QJsonObject own = limiter["overrides"_L1][0].toObject();
    QCOMPARE(own["account"_L1].toString(), u"lee+x@example.com"_s);
    QCOMPARE(own["project"_L1].toString(), u"other"_s);
    QCOMPARE(own["account_capacity"_L1].toInt(), 700);
    QVERIFY(own["warnings"_L1][0].toString().contains(u"more than the published 6000"_s));
    limiter = json(Method::Put, path, R"({"slots": 3})");
    QCOMPARE(limiter["overrides"_L1].toArray().size(), 2);
    limiter = json(Method::Delete, path, {}, u"project=other"_s);
    QCOMPARE(limiter["overrides"_L1].toArray().size(), 1);
    QCOMPARE(limiter["overrides"_L1][0]["project"_L1].toString(), u"default"_s);
    QCOMPARE(request(Method::Delete, path, {}, u"project=other"_s).status, 404);
}

void TestLimiterController::badChanges_data()
{
    QTest::addColumn<QByteArray>("method");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *method, const char *body, int status, const QString &code,
                        const QString &field) {
        QTest::addRow("%s %s", method, body)
            << QByteArray(method) << QByteArray(body) << status << code << field;
    };
    row("PATCH", "{", 400, u"malformed_json"_s, {});
    row("PATCH", "[]", 400, u"malformed_json"_s, {});
    row("PATCH", R"({"enforced": true})", 422, u"invalid_settings"_s, u"enforced"_s);
    row("PATCH", R"({"enforce": "yes"})", 422, u"invalid_settings"_s, u"enforce"_s);
    row("PATCH", R"({"projects": {"no": {}}})", 422, u"unknown_project"_s, u"projects.no"_s);
    row("PUT", "{", 400, u"malformed_json"_s, {});
    row("PUT", "{}", 422, u"invalid_settings"_s, {});
    row("PUT", R"({"account_capacity": 0})", 422, u"invalid_settings"_s, u"account_capacity"_s);
    row("PUT", R"({"capacity": 7})", 422, u"invalid_settings"_s, u"capacity"_s);
}

void TestLimiterController::badChanges()
{
    QFETCH(QByteArray, method);
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    QFETCH(QString, code);
    QFETCH(QString, field);

    const QJsonObject before = json(Method::Get, u"/gmail"_s);
    const Response response = method == "PUT"
        ? request(Method::Put, u"/gmail/overrides/kim@example.com"_s, body)
        : request(Method::Patch, u"/gmail"_s, body);
    const QJsonObject problem = QJsonDocument::fromJson(response.body).object();
    QCOMPARE(response.status, status);
    QCOMPARE(problem["code"_L1].toString(), code);
    QCOMPARE(problem["field"_L1].toString(), field);
    QCOMPARE(json(Method::Get, u"/gmail"_s), before);
}

void TestLimiterController::onlyOperatorsChange()
{
    int changing = 0;
    for (const Router::Route &route : m_router->routes()) {
        const bool changes = route.method != Method::Get;
        changing += changes ? 1 : 0;
        QVERIFY(route.role == (changes ? Role::Operator : Role::Viewer));
    }
    QCOMPARE(changing, 3);
}

void TestLimiterController::levelsNeedALimit_data()
{
    QTest::addColumn<QString>("limit");
    for (const char *limit : {"0", "-1", "1001", "many", "1.5"})
        QTest::newRow(limit) << QString::fromLatin1(limit);
}

void TestLimiterController::levelsNeedALimit()
{
    QFETCH(QString, limit);
    QCOMPARE(request(Method::Get, u"/gmail/buckets"_s, {}, u"limit="_s + limit).status, 422);
}

void TestLimiterController::unknownLimitersAreNotFound()
{
    QCOMPARE(request(Method::Get, u"/other"_s).status, 404);
    QCOMPARE(request(Method::Get, u"/other/buckets"_s).status, 404);
    QCOMPARE(request(Method::Patch, u"/other"_s, "{}").status, 404);
    QCOMPARE(request(Method::Put, u"/other/overrides/kim@example.com"_s, R"({"slots": 1})").status, 404);
    QCOMPARE(request(Method::Delete, u"/other/overrides/kim@example.com"_s).status, 404);
}

QTEST_GUILESS_MAIN(TestLimiterController)
#include "tst_limitercontroller.moc"
