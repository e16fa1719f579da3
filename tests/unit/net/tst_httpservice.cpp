// SPDX-License-Identifier: Apache-2.0
#include "net/httpservice.h"
#include "support/localhttp.h"

#include <tidekeeper/callback.h>

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::net;
using tidekeeper::test::LocalHttp;

class TestHttpService : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void appendsThePathToTheBase_data();
    void appendsThePathToTheBase();
    void refusals_data();
    void refusals();
    void timeoutIsAFailure();

private:
    struct Answer {
        int count = 0;
        Status status;
        QJsonObject result;
    };
    static void send(HttpService &service, const QJsonObject &request, QObject *context, Answer &answer)
    {
        service.send(request, whenDone(context, [&answer](const Status &status, const QJsonObject &result) {
                         ++answer.count;
                         answer.status = status;
                         answer.result = result;
                     }));
    }
};

void TestHttpService::appendsThePathToTheBase_data()
{
    QTest::addColumn<QString>("prefix");
    QTest::addColumn<QByteArray>("path");
    QTest::newRow("plain") << QString() << QByteArray("/gmail/v1/users/me/watch");
    QTest::newRow("trailing slash") << u"/"_s << QByteArray("/gmail/v1/users/me/watch");
    QTest::newRow("prefix") << u"/pre/fix/"_s << QByteArray("/pre/fix/gmail/v1/users/me/watch");
}

void TestHttpService::appendsThePathToTheBase()
{
    QFETCH(QString, prefix);
    LocalHttp server([](const LocalHttp::Request &) { return LocalHttp::answer(403, "{\"é\":1}"); });
    HttpClient client;
    HttpService service(client, {{u"gmail"_s, server.url() + prefix}});
    QObject context;
    Answer answer;
    send(service,
         {{u"method"_s, u"POST"_s},
          {u"base"_s, u"gmail"_s},
          {u"path"_s, u"/gmail/v1/users/me/watch"_s},
          {u"headers"_s, QJsonObject{{u"Content-Type"_s, u"application/json"_s}}},
          {u"bearer"_s, u"ya29.x"_s},
          {u"body"_s, u"{\"topicName\":\"t\"}"_s}},
         &context, answer);
    QTRY_COMPARE(answer.count, 1);
    QVERIFY(answer.status.ok());
    QCOMPARE(answer.result.value("status"_L1).toInt(), 403);
    QCOMPARE(answer.result.value("body"_L1).toString(), u"{\"é\":1}"_s);
    QCOMPARE(answer.result.value("headers"_L1).toObject().value("content-type"_L1).toString(),
             u"application/json"_s);
    QTEST(server.requests().first().path, "path");
    QCOMPARE(server.requests().first().headers.value("authorization"), "Bearer ya29.x");
    QCOMPARE(server.requests().first().body, "{\"topicName\":\"t\"}");
}

void TestHttpService::refusals_data()
{
    QTest::addColumn<QJsonObject>("request");
    QTest::addColumn<QString>("code");
    QTest::newRow("unknown base") << QJsonObject{{u"base"_s, u"gmial"_s}, {u"path"_s, u"/"_s}}
                                  << u"invalid_request"_s;
    QTest::newRow("path without slash")
        << QJsonObject{{u"base"_s, u"gmail"_s}, {u"path"_s, u"@evil.example"_s}} << u"invalid_request"_s;
    QTest::newRow("no address") << QJsonObject{} << u"network"_s;
}

void TestHttpService::refusals()
{
    QFETCH(QJsonObject, request);
    HttpClient client;
    HttpService service(client, {{u"gmail"_s, u"http://127.0.0.1:1"_s}});
    QObject context;
    Answer answer;
    send(service, request, &context, answer);
    QTRY_COMPARE(answer.count, 1);
    QTEST(answer.status.code, "code");
}

void TestHttpService::timeoutIsAFailure()
{
    const LocalHttp silent;
    HttpClient client;
    HttpService service(client, {});
    QObject context;
    Answer answer;
    send(service, {{u"url"_s, silent.url() + u"/"_s}, {u"deadline_ms"_s, 100}}, &context, answer);
    QTRY_COMPARE(answer.count, 1);
    QCOMPARE(answer.status.code, u"timeout"_s);
}

QTEST_GUILESS_MAIN(TestHttpService)
#include "tst_httpservice.moc"
