// SPDX-License-Identifier: Apache-2.0
#include "google/oauth/jwt.h"
#include "simbench.h"

#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

const QString path = u"/v1/projects/sim-project/messages:send"_s;

struct FcmBench : SimBench {
    FcmBench()
    {
        bearer = "Bearer "
            + sim.world
                  .issue(
                      {{}, u"sim-project"_s, {u"https://www.googleapis.com/auth/firebase.messaging"_s}, {}})
                  .toLatin1();
        control("devices", {{u"tokens"_s, QJsonArray{u"phone"_s, u"gone"_s}}});
        control("devices", {{u"tokens"_s, QJsonArray{u"gone"_s}}, {u"registered"_s, false}});
        control("devices", {{u"tokens"_s, QJsonArray{u"foreign"_s}}, {u"project_id"_s, u"other-project"_s}});
    }
    Answer send(const QJsonObject &message)
    {
        return call("POST", path, Answer::json({{u"message"_s, message}}).body);
    }
};

QString codeOf(const Answer &answer)
{
    return SimBench::json(answer)[u"error"][u"details"][0][u"errorCode"].toString();
}

QString typeOf(const Answer &answer)
{
    return SimBench::json(answer)[u"error"][u"details"][0][u"@type"].toString().section(u'.', -1);
}

} // namespace

class TestSimFcm : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void delivers();
    void devices_data();
    void devices();
    void unregisteredBody();
    void payload_data();
    void payload();
    void validateOnlyDeliversNothing();
    void whoMaySend();
    void quota();
    void faults_data();
    void faults();
};

void TestSimFcm::delivers()
{
    FcmBench bench;
    const QJsonObject message{{u"token"_s, u"phone"_s}, {u"data"_s, QJsonObject{{u"k"_s, u"v"_s}}}};
    const Answer answer = bench.send(message);
    QCOMPARE(answer.status, 200);
    QVERIFY(SimBench::json(answer)[u"name"].toString().startsWith(u"projects/sim-project/messages/0:"_s));
    const QJsonObject state = SimBench::json(bench.call("GET", u"/sim/state"_s));
    QCOMPARE(state[u"messages"][0][u"message"].toObject(), message);
    QCOMPARE(state[u"devices"][2][u"messages"].toInt(), 1); // foreign, gone, phone
}

void TestSimFcm::devices_data()
{
    QTest::addColumn<QString>("token");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("errorCode");
    QTest::newRow("registered") << u"phone"_s << 200 << QString();
    QTest::newRow("unregistered") << u"gone"_s << 404 << u"UNREGISTERED"_s;
    QTest::newRow("of another project") << u"foreign"_s << 403 << u"SENDER_ID_MISMATCH"_s;
    QTest::newRow("never seen") << u"nonsense"_s << 400 << u"INVALID_ARGUMENT"_s;
}

void TestSimFcm::devices()
{
    QFETCH(QString, token);
    QFETCH(int, status);
    QFETCH(QString, errorCode);
    FcmBench bench;
    const Answer answer = bench.send({{u"token"_s, token}});
    QCOMPARE(answer.status, status);
    QCOMPARE(codeOf(answer), errorCode);
}

void TestSimFcm::unregisteredBody()
{
    FcmBench bench;
    QCOMPARE(bench.send({{u"token"_s, u"gone"_s}}).status, 404);
    QCOMPARE(
        SimBench::json(bench.send({{u"token"_s, u"gone"_s}})),
        QJsonDocument::fromJson(
            R"({"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[
                    {"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}})")
            .object());
}

void TestSimFcm::payload_data()
{
    QTest::addColumn<QJsonObject>("message");
    QTest::addColumn<int>("status");
    const auto data = [](const QString &key, const QJsonValue &value) {
        return QJsonObject{{u"token"_s, u"phone"_s}, {u"data"_s, QJsonObject{{key, value}}}};
    };
    const auto ttl = [](const QString &text) {
        return QJsonObject{{u"token"_s, u"phone"_s}, {u"android"_s, QJsonObject{{u"ttl"_s, text}}}};
    };
    QTest::newRow("string") << data(u"k"_s, u"v"_s) << 200;
    QTest::newRow("number") << data(u"k"_s, 1) << 400;
    QTest::newRow("reserved from") << data(u"from"_s, u"v"_s) << 400;
    QTest::newRow("reserved message_type") << data(u"message_type"_s, u"v"_s) << 400;
    QTest::newRow("reserved google.") << data(u"google.x"_s, u"v"_s) << 400;
    QTest::newRow("reserved gcm.notification.") << data(u"gcm.notification.x"_s, u"v"_s) << 400;
    QTest::newRow("gcm alone") << data(u"gcm"_s, u"v"_s) << 200;
    QTest::newRow("4096 bytes") << data(u"k"_s, QString(4095, u'v')) << 200;
    QTest::newRow("4097 bytes") << data(u"k"_s, QString(4096, u'v')) << 400;
    QTest::newRow("bytes, not characters") << data(u"k"_s, QString(2000, u'한')) << 400;
    QTest::newRow("2049 bytes to a topic")
        << QJsonObject{{u"topic"_s, u"news"_s}, {u"data"_s, QJsonObject{{u"k"_s, QString(2048, u'v')}}}}
        << 400;
    QTest::newRow("four weeks") << ttl(u"2419200s"_s) << 200;
    QTest::newRow("fraction") << ttl(u"3.5s"_s) << 200;
    QTest::newRow("longer") << ttl(u"2419201s"_s) << 400;
    QTest::newRow("no unit") << ttl(u"60"_s) << 400;
    QTest::newRow("no target") << QJsonObject{{u"data"_s, QJsonObject{}}} << 400;
    QTest::newRow("two targets") << QJsonObject{{u"token"_s, u"phone"_s}, {u"topic"_s, u"t"_s}} << 400;
    QTest::newRow("unknown field") << QJsonObject{{u"token"_s, u"phone"_s}, {u"titel"_s, u"t"_s}} << 400;
    QTest::newRow("snake case") << QJsonObject{{u"token"_s, u"phone"_s}, {u"fcm_options"_s, QJsonObject{}}}
                                << 200;
}

void TestSimFcm::payload()
{
    QFETCH(QJsonObject, message);
    QFETCH(int, status);
    FcmBench bench;
    const Answer answer = bench.send(message);
    QCOMPARE(answer.status, status);
    if (status == 400)
        QCOMPARE(typeOf(answer), u"BadRequest"_s); // which tells a bad payload from a bad token
}

void TestSimFcm::validateOnlyDeliversNothing()
{
    for (const QString &name : {u"validateOnly"_s, u"validate_only"_s}) {
        FcmBench bench;
        const QJsonObject request{{name, true}, {u"message"_s, QJsonObject{{u"token"_s, u"phone"_s}}}};
        QCOMPARE(bench.call("POST", path, Answer::json(request).body).status, 200);
        QVERIFY(bench.sim.world.deliveries.empty());
    }
}

void TestSimFcm::whoMaySend()
{
    FcmBench bench;
    const QByteArray good = bench.bearer;
    bench.bearer.clear();
    QCOMPARE(bench.send({{u"token"_s, u"phone"_s}}).status, 401);
    bench.bearer = "Bearer " + bench.newAccessToken().toLatin1(); // of a mailbox, without the scope
    QCOMPARE(bench.send({{u"token"_s, u"phone"_s}}).status, 403);
    bench.bearer = good;
    const QByteArray body = Answer::json({{u"message"_s, QJsonObject{{u"token"_s, u"phone"_s}}}}).body;
    QCOMPARE(bench.call("POST", u"/v1/projects/other-project/messages:send"_s, body).status, 403);
    QCOMPARE(bench.call("POST", u"/v1/projects/123456789012/messages:send"_s, body).status, 200);
}

void TestSimFcm::quota()
{
    FcmBench bench;
    bench.control("settings", {{u"fcm_limit_per_minute"_s, 2}});
    QCOMPARE(bench.send({{u"token"_s, u"phone"_s}}).status, 200);
    QCOMPARE(bench.send({{u"token"_s, u"gone"_s}}).status, 404); // counts as well
    const Answer refused = bench.send({{u"token"_s, u"phone"_s}});
    QCOMPARE(refused.status, 429);
    QCOMPARE(codeOf(refused), u"QUOTA_EXCEEDED"_s);
    QCOMPARE(refused.headers.first().first, "Retry-After");
    bench.advanceMs(60'000);
    bench.bearer = "Bearer "
        + bench.sim.world
              .issue({{}, u"sim-project"_s, {u"https://www.googleapis.com/auth/firebase.messaging"_s}, {}})
              .toLatin1();
    QCOMPARE(bench.send({{u"token"_s, u"phone"_s}}).status, 200);
}

void TestSimFcm::faults_data()
{
    QTest::addColumn<QJsonObject>("fault");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("errorCode");
    QTest::addColumn<QByteArray>("retryAfter");
    const auto row = [](const QString &kind, int status, const QString &code) {
        QTest::newRow(qPrintable(kind)) << QJsonObject{{u"kind"_s, kind}} << status << code << QByteArray();
    };
    row(u"fcm_unregistered"_s, 404, u"UNREGISTERED"_s);
    row(u"fcm_not_found"_s, 404, {});
    row(u"fcm_invalid_token"_s, 400, u"INVALID_ARGUMENT"_s);
    row(u"fcm_sender_id_mismatch"_s, 403, u"SENDER_ID_MISMATCH"_s);
    row(u"fcm_third_party_auth"_s, 401, u"THIRD_PARTY_AUTH_ERROR"_s);
    row(u"fcm_unauthorized"_s, 401, {});
    QTest::newRow("quota") << QJsonObject{{u"kind"_s, u"fcm_quota"_s}, {u"retry_after_s"_s, 30}} << 429
                           << u"QUOTA_EXCEEDED"_s << QByteArray("30");
    QTest::newRow("unavailable") << QJsonObject{{u"kind"_s, u"error"_s}, {u"retry_after_s"_s, 7}} << 503
                                 << u"UNAVAILABLE"_s << QByteArray("7");
    QTest::newRow("internal") << QJsonObject{{u"kind"_s, u"error"_s}, {u"status"_s, 500}} << 500
                              << u"INTERNAL"_s << QByteArray();
}

void TestSimFcm::faults()
{
    QFETCH(QJsonObject, fault);
    QFETCH(int, status);
    QFETCH(QString, errorCode);
    QFETCH(QByteArray, retryAfter);
    FcmBench bench;
    bench.control("faults", fault);
    const Answer answer = bench.send({{u"token"_s, u"phone"_s}});
    QCOMPARE(answer.status, status);
    QCOMPARE(codeOf(answer), errorCode);
    QCOMPARE(answer.headers.isEmpty() ? QByteArray() : answer.headers.first().second, retryAfter);
    QVERIFY(bench.sim.world.deliveries.empty());
}

QTEST_GUILESS_MAIN(TestSimFcm)
#include "tst_sim_fcm.moc"
