// SPDX-License-Identifier: Apache-2.0
// Shapes and codes of what consumers send, with a scripted limiter behind it.
#include "http/quotacontroller.h"
#include "limits/grantid.h"
#include "support/fakeclock.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;

namespace {

class ScriptedLimiter final : public RateLimiter, public RateFeedback {
public:
    QJsonObject describe() const override
    {
        return {{u"name"_s, u"gmail"_s}, {u"projects"_s, QJsonObject{}}};
    }
    void acquire(const QuotaRequest &request, QuotaReply *reply) override
    {
        asked = request;
        ++asks;
        if (!isSilent)
            reply->finish(status, answer);
    }

    void report(const QJsonObject &apiAnswer, Reply *reply) override
    {
        reported = apiAnswer;
        if (!isSilent)
            reply->finish(status, {{u"rate"_s, true}, {u"scope"_s, u"account"_s}});
    }

    std::optional<QuotaRequest> asked;
    int asks = 0;
    QJsonObject reported;
    Status status;
    QuotaAnswer answer;
    bool isSilent = false;
};

} // namespace

class TestQuotaController : public QObject {
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
    void aGrantWithAPlaceNamesIt();
    void aBatchAnswersEachAsIfAskedAlone();
    void aBatchIsAskedInOneTurn();
    void reportsAreHandedOn();
    void reportsThatNobodyTakes();
    void idsThatAreNoneOfOurs_data();
    void idsThatAreNoneOfOurs();
    void unknownLimitersAreNotFound();

private:
    Response request(const QString &path, const QByteArray &body);
    QJsonObject acquire(const QJsonObject &body, int expectedStatus);

    std::unique_ptr<ScriptedLimiter> m_limiter;
    std::unique_ptr<limits::LimiterRegistry> m_registry;
    std::unique_ptr<Router> m_router;
    std::unique_ptr<QuotaController> m_controller;
    test::FakeClock m_clock;
    redis::RedisConnection m_connection{redis::Endpoint{}}; // never opened
    redis::FunctionLibrary m_library{m_connection, "tidekeeper_quota", "-- build: 1\n"};
    limits::BucketService m_buckets{m_connection, m_library, m_clock};
    Response m_response;
};

void TestQuotaController::init()
{
    m_limiter = std::make_unique<ScriptedLimiter>();
    m_registry = std::make_unique<limits::LimiterRegistry>();
    QVERIFY(m_registry->add(m_limiter.get(), m_limiter.get()));
    m_router = std::make_unique<Router>();
    m_controller = std::make_unique<QuotaController>(*m_router, *m_registry, m_buckets);
}

Response TestQuotaController::request(const QString &path, const QByteArray &body)
{
    const Result<Router::Match> match = m_router->match(Method::Post, u"/api/v1/limiters"_s + path);
    if (!match)
        return Response::problem(match.error());
    if (match->role != Role::Consumer)
        qFatal("consumers may not use %s", qPrintable(path));
    Request request;
    request.method = Method::Post;
    request.parameters = match->parameters;
    request.headers.insert("content-type", "application/json");
    request.body = body;
    return QCoro::waitFor((*match->handler)(request));
}

QJsonObject TestQuotaController::acquire(const QJsonObject &body, int expectedStatus)
{
    m_response = request(u"/gmail/acquire"_s, QJsonDocument(body).toJson());
    if (m_response.status != expectedStatus)
        qWarning("%d %s", m_response.status, m_response.body.constData());
    return m_response.status == expectedStatus ? QJsonDocument::fromJson(m_response.body).object()
                                               : QJsonObject();
}

void TestQuotaController::grants()
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

void TestQuotaController::passesEveryFieldOn()
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

void TestQuotaController::shadowGrantsNameTheWouldBeRefuser()
{
    m_limiter->answer.granted = true;
    m_limiter->answer.refusedBy = u"project"_s;
    QCOMPARE(acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}}, 200)["would_refuse"_L1].toString(),
             u"project"_s);
}

void TestQuotaController::refuses_data()
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
    QTest::newRow("day") << u"day"_s << qint64(3'600'000) << QByteArray("3600")
                         << QByteArray("\"day\";r=0;t=3600");
    QTest::newRow("account_frozen") << u"account_frozen"_s << qint64(900'000) << QByteArray("900")
                                    << QByteArray("\"account\";r=0;t=900");
    QTest::newRow("project_frozen") << u"project_frozen"_s << qint64(10'000) << QByteArray("10")
                                    << QByteArray("\"project\";r=0;t=10");
    QTest::newRow("concurrency") << u"concurrency"_s << qint64(59'001) << QByteArray("60")
                                 << QByteArray("\"concurrency\";r=0;t=60");
    QTest::newRow("late") << u"late"_s << qint64(1) << QByteArray("1") << QByteArray("\"account\";r=12;t=1");
}

void TestQuotaController::refuses()
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
    // Each in words of its own, with the numbers filled in.
    const QString detail = body["detail"_L1].toString();
    QVERIFY2(!detail.contains(u"are refused"_s) && !detail.contains(u'%'), qPrintable(detail));
    QVERIFY(refusedBy == "late"_L1 || detail.contains(QString::number(retryMs)));
    QVERIFY(m_response.headers.contains(std::pair(QByteArray("Retry-After"), retryAfter)));
    QVERIFY(m_response.headers.contains(std::pair(QByteArray("RateLimit"), rateLimit)));
    QVERIFY(m_response.headers.contains(
        std::pair(QByteArray("RateLimit-Policy"), QByteArray("\"account\";q=360, \"project\";q=72000"))));
}

void TestQuotaController::neverIsNotARetry()
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

void TestQuotaController::failuresKeepTheirCode_data()
{
    QTest::addColumn<int>("status");
    QTest::newRow("invalid_request") << 422;
    QTest::newRow("unknown_method") << 422;
    QTest::newRow("unknown_project") << 422;
    QTest::newRow("limiter_unavailable") << 503;
}

void TestQuotaController::failuresKeepTheirCode()
{
    QFETCH(int, status);

    const QString code = QString::fromLatin1(QTest::currentDataTag());
    m_limiter->status = Status::failure(code, u"So it is."_s, {{u"near"_s, QJsonArray{u"x"_s}}});
    const QJsonObject body = acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}}, status);
    QCOMPARE(body["code"_L1].toString(), code);
    QCOMPARE(body["detail"_L1].toString(), u"So it is."_s);
    QCOMPARE(body["near"_L1].toArray(), QJsonArray{u"x"_s});
}

void TestQuotaController::badBodies_data()
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
    row(R"({"account": "a", "cost": 1, "requests": [{}]})", u"requests"_s);
    row(R"({"requests": []})", u"requests"_s);
    row(R"({"requests": {}})", u"requests"_s);
    row(R"({"requests": null})", u"requests"_s);
    QTest::newRow("101 requests") << QByteArray("{\"requests\": [" + QByteArray("{},").repeated(100) + "{}]}")
                                  << 422 << u"requests"_s;
}

void TestQuotaController::badBodies()
{
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    QFETCH(QString, field);

    const Response response = request(u"/gmail/acquire"_s, body);
    QCOMPARE(response.status, status);
    const QJsonObject problem = QJsonDocument::fromJson(response.body).object();
    QCOMPARE(problem["field"_L1].toString(), field);
    QVERIFY(!m_limiter->asked);
    if (field == "max_wait"_L1)
        QVERIFY(problem["detail"_L1].toString().contains(u"max_wait_ms"_s));
}

void TestQuotaController::aStuckLimiterIsUnavailable()
{
    m_limiter->isSilent = true;
    QCOMPARE(acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}}, 503)["code"_L1].toString(),
             u"limiter_unavailable"_s);
}

void TestQuotaController::aGrantWithAPlaceNamesIt()
{
    m_limiter->answer.granted = true;
    m_limiter->answer.holdId = u"h-1"_s;
    m_limiter->answer.holdExpiresAt = 1'800'000'060'000;
    const QJsonObject body = acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}, {u"hold"_s, true}}, 200);
    QVERIFY(m_limiter->asked->hold);
    const QJsonObject place{{u"id"_s, u"h-1"_s}, {u"expires_at"_s, qint64(1'800'000'060'000)}};
    QCOMPARE(body["hold"_L1].toObject(), place);
    m_limiter->answer.holdId.clear();
    QVERIFY(!acquire({{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}}, 200).contains("hold"_L1));
}

void TestQuotaController::aBatchAnswersEachAsIfAskedAlone()
{
    m_limiter->answer.refusedBy = u"account"_s;
    m_limiter->answer.retryAfterMs = 12;
    const QJsonObject sound{{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}};
    const QJsonObject refusal = acquire(sound, 429);
    const QJsonObject bad{{u"account"_s, u"a@x"_s}, {u"cost"_s, -1}};
    const QJsonObject fault = acquire(bad, 422);
    m_limiter->asks = 0;
    const QJsonArray results =
        acquire({{u"requests"_s, QJsonArray{sound, bad, u"text"_s, sound}}}, 200)["results"_L1].toArray();
    QCOMPARE(results.size(), 4);
    QCOMPARE(results[0].toObject(), refusal);
    QCOMPARE(results[1].toObject(), fault);
    QCOMPARE(results[2]["status"_L1].toInt(), 422);
    QCOMPARE(results[2]["field"_L1].toString(), u"requests"_s);
    QCOMPARE(results[3].toObject(), refusal);
    QCOMPARE(m_limiter->asks, 2);

    m_limiter->answer.granted = true;
    m_limiter->answer.refusedBy.clear();
    QJsonObject grant = acquire(sound, 200);
    grant[u"status"_s] = 200;
    QCOMPARE(acquire({{u"requests"_s, QJsonArray{sound}}}, 200)["results"_L1].toArray(), QJsonArray{grant});
}

void TestQuotaController::aBatchIsAskedInOneTurn()
{
    m_limiter->isSilent = true; // and so the batch waits for its first answer
    QJsonArray requests;
    for (int i = 0; i < 100; ++i)
        requests.append(QJsonObject{{u"account"_s, u"a@x"_s}, {u"cost"_s, 1}});
    const auto match = m_router->match(Method::Post, u"/api/v1/limiters/gmail/acquire"_s);
    QVERIFY(match);
    Request batch;
    batch.parameters = match->parameters;
    batch.headers.insert("content-type", "application/json");
    batch.body = QJsonDocument(QJsonObject{{u"requests"_s, requests}}).toJson();
    auto waiting = (*match->handler)(batch);
    QCOMPARE(m_limiter->asks, 100);
    const Response response = QCoro::waitFor(std::move(waiting));
    QCOMPARE(response.status, 200);
    const QJsonArray results = QJsonDocument::fromJson(response.body)["results"_L1].toArray();
    QCOMPARE(results.size(), 100);
    QCOMPARE(results[99]["status"_L1].toInt(), 503);
}

void TestQuotaController::reportsAreHandedOn()
{
    const QJsonObject answer{{u"account"_s, u"a@x"_s}, {u"status"_s, 429}, {u"body"_s, u"…"_s}};
    Response response = request(u"/gmail/report"_s, QJsonDocument(answer).toJson());
    QCOMPARE(response.status, 200);
    QCOMPARE(m_limiter->reported, answer);
    QCOMPARE(QJsonDocument::fromJson(response.body)["scope"_L1].toString(), u"account"_s);

    m_limiter->status = Status::failure(u"invalid_request"_s, u"\"status\" is missing."_s);
    QCOMPARE(request(u"/gmail/report"_s, "{}").status, 422);
    QCOMPARE(request(u"/gmail/report"_s, "{").status, 400);
    m_limiter->isSilent = true;
    QCOMPARE(request(u"/gmail/report"_s, "{}").status, 503);
}

void TestQuotaController::reportsThatNobodyTakes()
{
    limits::LimiterRegistry registry;
    QVERIFY(registry.add(m_limiter.get()));
    QVERIFY(!registry.add(m_limiter.get(), m_limiter.get())); // the name is taken
    m_router = std::make_unique<Router>();
    m_controller = std::make_unique<QuotaController>(*m_router, registry, m_buckets);
    const Response response = request(u"/gmail/report"_s, R"({"account": "a", "status": 200})");
    QCOMPARE(response.status, 422);
    QCOMPARE(QJsonDocument::fromJson(response.body)["code"_L1].toString(), u"not_supported"_s);
}

void TestQuotaController::idsThatAreNoneOfOurs_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("field");
    const auto row = [](const QString &path, const char *body, const QString &field) {
        QTest::addRow("%s %s", qPrintable(path), body) << path << QByteArray(body) << field;
    };
    row(u"refund"_s, "{}", u"grant_id"_s);
    row(u"refund"_s, R"({"grant_id": 7})", u"grant_id"_s);
    row(u"refund"_s, R"({"grant_id": ""})", u"grant_id"_s);
    row(u"refund"_s, R"({"grant_id": "mistyped"})", u"grant_id"_s);
    row(u"refund"_s, R"({"grant_id": "x", "hold": "y"})", u"hold"_s);
    row(u"release"_s, "{}", u"hold"_s);
    row(u"release"_s, R"({"hold": true})", u"hold"_s);
    row(u"release"_s, R"({"hold": "mistyped"})", u"hold"_s);
}

void TestQuotaController::idsThatAreNoneOfOurs()
{
    QFETCH(QString, path);
    QFETCH(QByteArray, body);
    QFETCH(QString, field);

    const Response response = request(u"/gmail/"_s + path, body);
    QCOMPARE(response.status, 422);
    const QJsonObject problem = QJsonDocument::fromJson(response.body).object();
    QCOMPARE(problem["code"_L1].toString(), u"invalid_request"_s);
    QCOMPARE(problem["field"_L1].toString(), field);
}

void TestQuotaController::unknownLimitersAreNotFound()
{
    const QByteArray acquire = R"({"account": "a", "cost": 1})";
    QCOMPARE(request(u"/other/acquire"_s, acquire).status, 404);
    QCOMPARE(request(u"/other/acquire"_s, "{\"requests\": [" + acquire + "]}").status, 404);
    QCOMPARE(request(u"/other/report"_s, R"({"account": "a", "status": 200})").status, 404);
    const QString grant = limits::grantIdOf(u"other"_s, {u"default"_s, u"a"_s, 1, 1, false, {}});
    QCOMPARE(request(u"/other/refund"_s, QJsonDocument(QJsonObject{{u"grant_id"_s, grant}}).toJson()).status,
             404);
    const QString hold = limits::holdIdOf(u"other"_s, {u"default"_s, "YQ", u"1-1"_s});
    QCOMPARE(request(u"/other/release"_s, QJsonDocument(QJsonObject{{u"hold"_s, hold}}).toJson()).status,
             404);
}

QTEST_GUILESS_MAIN(TestQuotaController)
#include "tst_quotacontroller.moc"
