// SPDX-License-Identifier: Apache-2.0
// What people see of a limiter, with a scripted one behind it.
#include "http/limitercontroller.h"
#include "support/fakeclock.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

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
    void acquire(const QuotaRequest &, QuotaReply *reply) override { reply->finish(Status::success(), {}); }
};

} // namespace

class TestLimiterController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void listsAndShows();
    void levelsNeedALimit_data();
    void levelsNeedALimit();
    void unknownLimitersAreNotFound();

private:
    Response request(Method method, const QString &path, const QByteArray &body = {},
                     const QString &query = {});

    std::unique_ptr<ScriptedLimiter> m_limiter;
    std::unique_ptr<limits::LimiterRegistry> m_registry;
    std::unique_ptr<Router> m_router;
    std::unique_ptr<LimiterController> m_controller;
    test::FakeClock m_clock;
    redis::RedisConnection m_connection{redis::Endpoint{}}; // never opened
    redis::FunctionLibrary m_library{m_connection, "tidekeeper_quota", "-- build: 1\n"};
    limits::BucketService m_buckets{m_connection, m_library, m_clock};
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
}

QTEST_GUILESS_MAIN(TestLimiterController)
#include "tst_limitercontroller.moc"
