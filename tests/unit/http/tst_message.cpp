// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::http;
using namespace Qt::StringLiterals;

class TestMessage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsJson_data();
    void readsJson();
    void namesThePlaceOfTheFault();
    void problemHasItsStatus_data();
    void problemHasItsStatus();
    void problemCarriesDetails();
    void retryAfterIsRoundedUp_data();
    void retryAfterIsRoundedUp();
};

void TestMessage::readsJson_data()
{
    QTest::addColumn<QByteArray>("type");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("code");
    const QByteArray json("application/json");
    QTest::newRow("object") << json << QByteArray("{\"a\":1}") << QString();
    QTest::newRow("charset") << QByteArray("Application/JSON; charset=utf-8") << QByteArray("{}")
                             << QString();
    QTest::newRow("no type") << QByteArray() << QByteArray("{}") << QString();
    QTest::newRow("merge patch") << QByteArray("application/merge-patch+json") << QByteArray("{}")
                                 << QString();
    QTest::newRow("what curl -d says")
        << QByteArray("application/x-www-form-urlencoded") << QByteArray("{}") << QString();
    QTest::newRow("text") << QByteArray("text/plain") << QByteArray("{}") << u"unsupported_media_type"_s;
    QTest::newRow("empty") << json << QByteArray() << u"malformed_json"_s;
    QTest::newRow("array") << json << QByteArray("[1]") << u"malformed_json"_s;
    QTest::newRow("cut") << json << QByteArray("{\"a\":") << u"malformed_json"_s;
    QTest::newRow("not UTF-8") << json << QByteArray("{\"a\":\"\xff\"}") << u"malformed_json"_s;
    QTest::newRow("too deep") << json << QByteArray(5000, '[') << u"malformed_json"_s;
    QTest::newRow("form") << QByteArray("application/x-www-form-urlencoded") << QByteArray("a=1")
                          << u"malformed_json"_s;
}

void TestMessage::readsJson()
{
    QFETCH(QByteArray, type);
    Request request;
    if (!type.isEmpty())
        request.headers.insert("content-type", type);
    QFETCH(QByteArray, body);
    request.body = body;
    const auto object = jsonObject(request);
    QTEST(object ? QString() : object.error().code, "code");
}

void TestMessage::namesThePlaceOfTheFault()
{
    Request request;
    request.body = "{\n  \"account\": \"a\",\n  \"cost\": x\n}\n";
    const auto object = jsonObject(request);
    QVERIFY(!object);
    const QJsonObject details = object.error().details;
    QCOMPARE(details[u"line"_s].toInt(), 3);
    QCOMPARE(details[u"offset"_s].toInt(), request.body.indexOf('x'));
    QCOMPARE(details[u"column"_s].toInt(), 11);
    QVERIFY(object.error().text.contains(u"line 3, column 11"_s));
}

void TestMessage::problemHasItsStatus_data()
{
    QTest::addColumn<QString>("code");
    QTest::addColumn<int>("status");
    QTest::newRow("syntax") << u"malformed_json"_s << 400;
    QTest::newRow("meaning") << u"invalid_request"_s << 422;
    QTest::newRow("quota") << u"quota_refused"_s << 429;
    QTest::newRow("limiter") << u"limiter_unavailable"_s << 503;
    QTest::newRow("generation") << u"conflict"_s << 409;
    QTest::newRow("nobody's code") << u"surprise"_s << 500;
}

void TestMessage::problemHasItsStatus()
{
    QFETCH(QString, code);
    const Response response = Response::problem(Error::failure(code, u"A sentence."_s));
    QTEST(response.status, "status");
    QCOMPARE(response.contentType, "application/problem+json");
    const QJsonObject body = QJsonDocument::fromJson(response.body).object();
    QTEST(body[u"status"_s].toInt(), "status");
    QCOMPARE(body[u"code"_s].toString(), code);
    QCOMPARE(body[u"type"_s].toString(), u"urn:tidekeeper:problem:"_s + code);
    QCOMPARE(body[u"detail"_s].toString(), u"A sentence."_s);
    QVERIFY(!body[u"title"_s].toString().isEmpty());
}

void TestMessage::problemCarriesDetails()
{
    const Response response = Response::problem(Error::failure(
        u"invalid_request"_s, u"cost is negative."_s, {{u"field"_s, u"cost"_s}, {u"status"_s, 200}}));
    const QJsonObject body = QJsonDocument::fromJson(response.body).object();
    QCOMPARE(body[u"field"_s].toString(), u"cost"_s);
    QCOMPARE(body[u"status"_s].toInt(), 422); // details never hide what HTTP says
}

void TestMessage::retryAfterIsRoundedUp_data()
{
    QTest::addColumn<QString>("code");
    QTest::addColumn<qint64>("ms");
    QTest::addColumn<QByteArray>("header");
    QTest::newRow("now") << u"quota_refused"_s << qint64(0) << QByteArray("0");
    QTest::newRow("1 ms") << u"quota_refused"_s << qint64(1) << QByteArray("1");
    QTest::newRow("1 s") << u"quota_refused"_s << qint64(1000) << QByteArray("1");
    QTest::newRow("1,001 ms") << u"limiter_unavailable"_s << qint64(1001) << QByteArray("2");
    QTest::newRow("never") << u"quota_refused"_s << qint64(-1) << QByteArray();
    QTest::newRow("not a matter of time") << u"invalid_request"_s << qint64(1000) << QByteArray();
}

void TestMessage::retryAfterIsRoundedUp()
{
    QFETCH(QString, code);
    QFETCH(qint64, ms);
    const Response response =
        Response::problem(Error::failure(code, u"Later."_s, {{u"retry_after_ms"_s, ms}}));
    QTEST(response.headers.isEmpty() ? QByteArray() : response.headers.first().second, "header");
}

QTEST_GUILESS_MAIN(TestMessage)
#include "tst_message.moc"
