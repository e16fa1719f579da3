// SPDX-License-Identifier: Apache-2.0
// What consumers are told who report pushes.
#include "http/pushescontroller.h"
#include "store/accountstore.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;

class TestPushesController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void one();
    void batch();
    void ids_data();
    void ids();
    void refusals_data();
    void refusals();
    void atMostAThousand();
    void theSamePushThreeTimes();
    void anOldPush();
    void aDatabaseThatIsDown();
    void consumersMay();

private:
    Response post(const QJsonObject &body);
    QString storedId()
    {
        return m_database->sql(u"SELECT history_id FROM pushes WHERE account = 'kim'"_s).toString();
    }

    test::FakeClock m_clock;
    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::PushStore> m_store;
    std::unique_ptr<renewal::PushProof> m_proof;
    std::unique_ptr<Router> m_router;
    std::unique_ptr<PushesController> m_controller;
};

namespace {

QJsonObject jsonOf(const Response &response)
{
    return QJsonDocument::fromJson(response.body).object();
}

QJsonObject pushOf(const QString &email, const QJsonValue &id)
{
    return {{u"email"_s, email}, {u"history_id"_s, id}};
}

const QString kim = u"kim@example.com"_s;

} // namespace

void TestPushesController::init()
{
    m_proof.reset();
    m_database = std::make_unique<test::TestDatabase>();
    store::AccountStore accounts(m_database->database());
    store::AccountChange change;
    change.email = kim;
    QVERIFY(QCoro::waitFor(accounts.put(u"kim"_s, change, m_clock.nowMs())).has_value());
    m_store = std::make_unique<store::PushStore>(m_database->database());
    m_proof = std::make_unique<renewal::PushProof>(
        *m_store, m_clock, core::PushLimits(), [](const QString &, const QJsonObject &) {},
        [](QString, QString) -> QCoro::Task<Result<>> { co_return Result<>(); });
    m_router = std::make_unique<Router>();
    m_controller = std::make_unique<PushesController>(*m_router, *m_proof);
}

Response TestPushesController::post(const QJsonObject &body)
{
    Request request;
    request.method = Method::Post;
    request.path = u"/api/v1/pushes"_s;
    request.headers.insert("content-type", "application/json");
    request.body = QJsonDocument(body).toJson();
    return QCoro::waitFor((*m_router->match(request.method, request.path)->handler)(request));
}

void TestPushesController::one()
{
    const Response response = post(pushOf(u"Kim@Example.com"_s, 12));
    QCOMPARE(response.status, 200);
    QCOMPARE(jsonOf(response), (QJsonObject{{u"taken"_s, 1}, {u"unknown"_s, 0}}));
    QCOMPARE(storedId(), u"12"_s);
}

// A push that nobody can use is taken: refused it would come back for ever, openclaw/gogcli#1140.
void TestPushesController::batch()
{
    const QJsonArray pushes{pushOf(kim, u"9"_s), pushOf(u"nobody@example.com"_s, 1), pushOf(kim, u"11"_s),
                            pushOf(kim, u"10"_s), QJsonObject{{u"email"_s, u"else@example.com"_s}}};
    const Response response = post({{u"pushes"_s, pushes}});
    QCOMPARE(response.status, 200);
    QCOMPARE(jsonOf(response), (QJsonObject{{u"taken"_s, 5}, {u"unknown"_s, 2}}));
    QCOMPARE(storedId(), u"11"_s);
    QCOMPARE(post({{u"pushes"_s, QJsonArray()}}).status, 200);
}

void TestPushesController::ids_data()
{
    QTest::addColumn<QJsonValue>("id");
    QTest::addColumn<QString>("stored");
    QTest::newRow("number") << QJsonValue(1'006'196) << u"1006196"_s;
    QTest::newRow("text") << QJsonValue(u"1006196"_s) << u"1006196"_s;
    QTest::newRow("beyond a double") << QJsonValue(qint64(9'007'199'254'740'993)) << u"9007199254740993"_s;
    QTest::newRow("greatest number") << QJsonValue(qint64(9'223'372'036'854'775'807))
                                     << u"9223372036854775807"_s;
    QTest::newRow("greatest") << QJsonValue(u"18446744073709551615"_s) << u"18446744073709551615"_s;
}

void TestPushesController::ids()
{
    QFETCH(QJsonValue, id);
    QCOMPARE(post(pushOf(kim, id)).status, 200);
    QTEST(storedId(), "stored");
}

void TestPushesController::refusals_data()
{
    QTest::addColumn<QJsonObject>("body");
    QTest::addColumn<QString>("field");
    const QString id = u"history_id"_s;
    QTest::newRow("no mailbox") << QJsonObject{{id, 1}} << u"email"_s;
    QTest::newRow("empty mailbox") << pushOf({}, 1) << u"email"_s;
    QTest::newRow("negative") << pushOf(kim, -1) << id;
    QTest::newRow("fraction") << pushOf(kim, 1.5) << id;
    QTest::newRow("too great") << pushOf(kim, u"18446744073709551616"_s) << id;
    QTest::newRow("no number") << pushOf(kim, u"12a"_s) << id;
    QTest::newRow("null") << pushOf(kim, QJsonValue::Null) << id;
    QTest::newRow("unknown name") << QJsonObject{{u"emial"_s, kim}} << u"emial"_s;
    QTest::newRow("no list") << QJsonObject{{u"pushes"_s, 1}} << u"pushes"_s;
    QTest::newRow("no objects") << QJsonObject{{u"pushes"_s, QJsonArray{1}}} << u"pushes"_s;
    QTest::newRow("one of many") << QJsonObject{{u"pushes"_s, QJsonArray{pushOf(kim, 1), pushOf(kim, -1)}}}
                                 << id;
}

void TestPushesController::refusals()
{
    QFETCH(QJsonObject, body);
    const Response response = post(body);
    QCOMPARE(response.status, 422);
    QTEST(jsonOf(response)["field"_L1].toString(), "field");
    QVERIFY(!response.body.contains("kim@"));
    QCOMPARE(storedId(), QString());
}

void TestPushesController::atMostAThousand()
{
    QJsonArray pushes;
    for (int i = 0; i < 1'000; ++i)
        pushes.append(pushOf(u"nobody%1@example.com"_s.arg(i), i));
    QCOMPARE(jsonOf(post({{u"pushes"_s, pushes}}))["unknown"_L1].toInt(), 1'000);
    pushes.append(pushOf(kim, 1));
    const Response response = post({{u"pushes"_s, pushes}});
    QCOMPARE(response.status, 422);
    QCOMPARE(storedId(), QString());
}

// Pub/Sub delivers at least once, and in any order: openclaw/gogcli#271.
void TestPushesController::theSamePushThreeTimes()
{
    for (int i = 0; i < 3; ++i) {
        const Response response = post(pushOf(kim, 12));
        QCOMPARE(response.status, 200);
        QCOMPARE(jsonOf(response), (QJsonObject{{u"taken"_s, 1}, {u"unknown"_s, 0}}));
    }
}

void TestPushesController::anOldPush()
{
    QCOMPARE(post(pushOf(kim, 12)).status, 200);
    QCOMPARE(post(pushOf(kim, 9)).status, 200);
    QCOMPARE(storedId(), u"12"_s);
}

// Only what is stored is acknowledged: xorbitsai/xagent#704.
void TestPushesController::aDatabaseThatIsDown()
{
    m_database->sql(u"ALTER TABLE pushes RENAME TO elsewhere"_s);
    const Response refused = post(pushOf(kim, 12));
    QCOMPARE(refused.status, 503);
    QCOMPARE(jsonOf(refused)["code"_L1].toString(), u"database_unavailable"_s);
    m_database->sql(u"ALTER TABLE elsewhere RENAME TO pushes"_s);
    QCOMPARE(post(pushOf(kim, 12)).status, 200);
    QCOMPARE(storedId(), u"12"_s);
}

void TestPushesController::consumersMay()
{
    const Role needed = m_router->match(Method::Post, u"/api/v1/pushes"_s)->role;
    QVERIFY(mayUse(Role::Consumer, needed));
    QVERIFY(mayUse(Role::Operator, needed));
    QVERIFY(!mayUse(Role::Viewer, needed));
    QVERIFY(!mayUse(Role::None, needed));
}

QTEST_GUILESS_MAIN(TestPushesController)
#include "tst_pushescontroller.moc"
