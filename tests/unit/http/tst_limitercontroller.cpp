// SPDX-License-Identifier: Apache-2.0
// Shapes and codes of the limiter API, with a scripted limiter behind it.
#include "http/limitercontroller.h"
#include "support/fakeclock.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;

namespace {

class ScriptedLimiter final : public RateLimiter {
public:
    QJsonObject describe() const override
    {
        return {{u"name"_s, u"gmail"_s}, {u"projects"_s, QJsonObject{}}};
    }
    void acquire(const QuotaRequest &request, QuotaReply *reply) override
    {
        asked = request;
        if (!isSilent)
            reply->finish(status, answer);
    }

    std::optional<QuotaRequest> asked;
    Status status;
    QuotaAnswer answer;
    bool isSilent = false;
};

} // namespace

class TestLimiterController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void grants();
    void passesEveryFieldOn();
    void shadowGrantsNameTheWouldBeRefuser();
    void refuses_data();
    void refuses();
    void neverIsNotARetry();
    void failuresKeepTheirCode_data();
    void failuresKeepTheirCode();
    void badBodies_data();
    void badBodies();
    void aStuckLimiterIsUnavailable();
    void listsAndShows();
    void levelsNeedALimit_data();
    void levelsNeedALimit();
    void unknownLimitersAreNotFound();

private:
    Response request(Method method, const QString &path, const QByteArray &body = {},
                     const QString &query = {});
    QJsonObject acquire(const QJsonObject &body, int expectedStatus);

    std::unique_ptr<ScriptedLimiter> m_limiter;
    std::unique_ptr<limits::LimiterRegistry> m_registry;
    std::unique_ptr<Router> m_router;
    std::unique_ptr<LimiterController> m_controller;
    test::FakeClock m_clock;
    redis::RedisConnection m_connection{redis::Endpoint{}}; // never opened
    redis::FunctionLibrary m_library{m_connection, "tidekeeper_quota", "-- build: 1\n"};
    limits::BucketService m_buckets{m_connection, m_library, m_clock};
    Response m_response;
};

void TestLimiterController::init()
{
    m_limiter = std::make_unique<ScriptedLimiter>();
    m_registry = std::make_unique<limits::LimiterRegistry>();
    QVERIFY(m_registry->add(m_limiter.get()));
    QVERIFY(!m_registry->add(m_limiter.get())); // the name is taken
    m_router = std::make_unique<Router>();
    m_controller = std::make_unique<LimiterController>(*m_router, *m_registry, m_buckets);
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
    return QCoro::waitFor((*match->handler)(request));
}

QJsonObject TestLimiterController::acquire(const QJsonObject &body, int expectedStatus)
{
    m_response = request(Method::Post, u"/gmail/acquire"_s, QJsonDocument(body).toJson());
    if (m_response.status != expectedStatus)
        qWarning("%d %s", m_response.status, m_response.body.constData());
    return m_response.status == expectedStatus ? QJsonDocument::fromJson(m_response.body).object()
                                               : QJsonObject();
}

void TestLimiterController::grants()
{
    QuotaAnswer &answer = m_limiter->answer;
    answer.granted = true;
    answer.waitMs = 12;
    answer.cost = 40;
    answer.accountLevel = -1'500;
    answer.accountCapacity = 360'000;
    answer.projectLevel = 71'999'999;
    answer.projectCapacity = 72'000'000;
    answer.grantId = u"g-1"_s;
    const QJsonObject body = acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 40}}, 200);
    const QJsonObject expected{
        {u"granted"_s, true},
        {u"wait_ms"_s, 12},
        {u"cost"_s, 40},
        {u"degraded"_s, false},
        {u"grant_id"_s, u"g-1"_s},
        {u"account"_s, QJsonObject{{u"level"_s, -2}, {u"capacity"_s, 360}}},
        {u"project"_s, QJsonObject{{u"level"_s, 71'999}, {u"capacity"_s, 72'000}}},
    };
    QCOMPARE(body, expected);
}

void TestLimiterController::passesEveryFieldOn()
{
    m_limiter->answer.granted = true;
    acquire({{u"account"_s, u" A@x"_s},
             {u"project"_s, u"p"_s},
             {u"method"_s, u"gmail.users.watch"_s},
             {u"count"_s, 3},
             {u"lane"_s, u"bulk"_s},
             {u"max_wait_ms"_s, 250},
             {u"id"_s, u"i"_s},
             {u"caller"_s, u"sync"_s}},
            200);
    const QuotaRequest &asked = *m_limiter->asked;
    QCOMPARE(asked.account, u" A@x"_s);
    QCOMPARE(asked.project, u"p"_s);
    QCOMPARE(asked.method, u"gmail.users.watch"_s);
    QCOMPARE(asked.count, 3);
    QCOMPARE(asked.cost, -1);
    QCOMPARE(asked.lane, u"bulk"_s);
    QCOMPARE(asked.maxWaitMs, 250);
    QCOMPARE(asked.id, u"i"_s);
    QCOMPARE(asked.caller, u"sync"_s);
}

void TestLimiterController::shadowGrantsNameTheWouldBeRefuser()
{
    m_limiter->answer.granted = true;
    m_limiter->answer.refusedBy = u"project"_s;
    QCOMPARE(acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}}, 200)["would_refuse"_L1].toString(),
             u"project"_s);
}

void TestLimiterController::refuses_data()
{
    QTest::addColumn<QString>("refusedBy");
    QTest::addColumn<qint64>("retryMs");
    QTest::addColumn<QByteArray>("retryAfter");
    QTest::addColumn<QByteArray>("rateLimit");
    // benwis/tower-governor#65, hashicorp/boundary#4094: a wait of less than a second must not be told as 0.
    QTest::newRow("account") << u"account"_s << qint64(1) << QByteArray("1")
                             << QByteArray("\"account\";r=12;t=1");
    QTest::newRow("project") << u"project"_s << qint64(2'001) << QByteArray("3")
                             << QByteArray("\"project\";r=0;t=3");
    QTest::newRow("late") << u"late"_s << qint64(1) << QByteArray("1") << QByteArray("\"account\";r=12;t=1");
}

void TestLimiterController::refuses()
{
    QFETCH(QString, refusedBy);
    QFETCH(qint64, retryMs);
    QFETCH(QByteArray, retryAfter);
    QFETCH(QByteArray, rateLimit);

    QuotaAnswer &answer = m_limiter->answer;
    answer.refusedBy = refusedBy;
    answer.retryAfterMs = retryMs;
    answer.cost = 40;
    answer.accountLevel = 12'345;
    answer.accountCapacity = 360'000;
    answer.projectLevel = -1;
    answer.projectCapacity = 72'000'000;
    const QJsonObject body = acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 40}}, 429);
    QCOMPARE(m_response.contentType, QByteArray("application/problem+json"));
    QCOMPARE(body["code"_L1].toString(), u"quota_refused"_s);
    QCOMPARE(body["status"_L1].toInt(), 429);
    QCOMPARE(body["granted"_L1], QJsonValue(false));
    QCOMPARE(body["retry_after_ms"_L1].toInteger(), retryMs);
    QCOMPARE(body["refused_by"_L1].toString(), refusedBy);
    QVERIFY(m_response.headers.contains(std::pair(QByteArray("Retry-After"), retryAfter)));
    QVERIFY(m_response.headers.contains(std::pair(QByteArray("RateLimit"), rateLimit)));
    QVERIFY(m_response.headers.contains(
        std::pair(QByteArray("RateLimit-Policy"), QByteArray("\"account\";q=360, \"project\";q=72000"))));
}

void TestLimiterController::neverIsNotARetry()
{
    m_limiter->answer.refusedBy = u"never"_s;
    m_limiter->answer.cost = 400;
    m_limiter->answer.largestCost = 360;
    const QJsonObject body = acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 400}}, 422);
    QCOMPARE(body["code"_L1].toString(), u"cost_exceeds_capacity"_s);
    QCOMPARE(body["largest_cost"_L1].toInt(), 360);
    QVERIFY(!body.contains("retry_after_ms"_L1));
    QVERIFY(m_response.headers.isEmpty());
}

void TestLimiterController::failuresKeepTheirCode_data()
{
    QTest::addColumn<int>("status");
    QTest::newRow("invalid_request") << 422;
    QTest::newRow("unknown_method") << 422;
    QTest::newRow("unknown_project") << 422;
    QTest::newRow("limiter_unavailable") << 503;
}

void TestLimiterController::failuresKeepTheirCode()
{
    QFETCH(int, status);

    const QString code = QString::fromLatin1(QTest::currentDataTag());
    m_limiter->status = Status::failure(code, u"So it is."_s, {{u"near"_s, QJsonArray{u"x"_s}}});
    const QJsonObject body = acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}}, status);
    QCOMPARE(body["code"_L1].toString(), code);
    QCOMPARE(body["detail"_L1].toString(), u"So it is."_s);
    QCOMPARE(body["near"_L1].toArray(), QJsonArray{u"x"_s});
}

void TestLimiterController::badBodies_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("field");
    const auto row = [](const char *body, const QString &field) {
        QTest::newRow(body) << QByteArray(body) << 422 << field;
    };
    QTest::newRow("not JSON") << QByteArray("{") << 400 << QString();
    row(R"({"account": 7})", u"account"_s);
    row(R"({"account": ""})", u"account"_s);
    row(R"({"account": null})", u"account"_s);
    row(R"({"account": "a", "cost": -1})", u"cost"_s);
    row(R"({"account": "a", "cost": 1.5})", u"cost"_s);
    row(R"({"account": "a", "cost": "1"})", u"cost"_s);
    row(R"({"account": "a", "cost": 1e300})", u"cost"_s);
    row(R"({"account": "a", "cost": true})", u"cost"_s);
    row(R"({"account": "a", "cost": null})", u"cost"_s);
    row(R"({"account": "a", "method": ["x"]})", u"method"_s);
    row(R"({"account": "a", "cost": 1, "count": -1})", u"count"_s);
    row(R"({"account": "a", "cost": 1, "project": {}})", u"project"_s);
    row(R"({"account": "a", "cost": 1, "lane": "renewal"})", u"lane"_s);
    row(R"({"account": "a", "cost": 1, "max_wait_ms": -5})", u"max_wait_ms"_s);
    row(R"({"account": "a", "cost": 1, "hold": 1})", u"hold"_s);
    row(R"({"account": "a", "cost": 1, "max_wait": 5})", u"max_wait"_s);
    row(R"({"requests": []})", u"requests"_s);
}

void TestLimiterController::badBodies()
{
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    QFETCH(QString, field);

    const Response response = request(Method::Post, u"/gmail/acquire"_s, body);
    QCOMPARE(response.status, status);
    const QJsonObject problem = QJsonDocument::fromJson(response.body).object();
    QCOMPARE(problem["field"_L1].toString(), field);
    QVERIFY(!m_limiter->asked);
    if (field == "max_wait"_L1)
        QVERIFY(problem["detail"_L1].toString().contains(u"max_wait_ms"_s));
}

void TestLimiterController::aStuckLimiterIsUnavailable()
{
    m_limiter->isSilent = true;
    QCOMPARE(acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}}, 503)["code"_L1].toString(),
             u"limiter_unavailable"_s);
}

void TestLimiterController::listsAndShows()
{
    Response response = request(Method::Get, {});
    QCOMPARE(response.status, 200);
    const QJsonArray limiters = QJsonDocument::fromJson(response.body)["limiters"_L1].toArray();
    QCOMPARE(limiters, QJsonArray{m_limiter->describe()});
    response = request(Method::Get, u"/gmail"_s);
    QCOMPARE(QJsonDocument::fromJson(response.body).object(), m_limiter->describe());
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
    QCOMPARE(request(Method::Post, u"/other/acquire"_s, R"({"account": "a", "cost": 1})").status, 404);
}

QTEST_GUILESS_MAIN(TestLimiterController)
#include "tst_limitercontroller.moc"
