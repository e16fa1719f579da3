// SPDX-License-Identifier: Apache-2.0
#include "httpfixture.h"

#include <QtTest/QTest>

#include <memory>
#include <vector>

using namespace tidekeeper::http;
using namespace Qt::StringLiterals;

class TestHttpServer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void answersWhatTheRouteSays();
    void decodesPathAndQuery_data();
    void decodesPathAndQuery();
    void keepsTheConnection();
    void answersPipelinedRequestsInOrder();
    void answersHeadWithoutBody();
    void answersOptions();
    void refuses_data();
    void refuses();
    void checksTheRole_data();
    void checksTheRole();
    void hidesWhatAHandlerThrew();
    void answersLater();
    void servesManyAtOnce();
    void survivesClientsThatHangUp();
    void survivesGarbage_data();
    void survivesGarbage();
    void closesIdleConnections();
    void cutsOffTooManyConnections();
    void stopLetsRunningRequestsFinish();
    void stopCutsOffWhoTakesTooLong();
    void mayGoWhileHandlersRun();
};

void TestHttpServer::answersWhatTheRouteSays()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(get("/api/v1/things/7"));
    const Answer answer = client.read();
    QCOMPARE(answer.status, 200);
    QCOMPARE(answer.headers.value("content-type"), "application/json");
    QCOMPARE(answer.headers.value("cache-control"), "no-store");
    QCOMPARE(answer.json()[u"id"_s].toString(), u"7"_s);
    QCOMPARE(answer.json()[u"who"_s].toString(), u"admin-token"_s);
    QCOMPARE(answer.json()[u"from"_s].toString(), u"127.0.0.1"_s);
}

void TestHttpServer::decodesPathAndQuery_data()
{
    QTest::addColumn<QByteArray>("target");
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("q");
    QTest::newRow("plain") << QByteArray("/api/v1/things/a?q=b") << u"a"_s << u"b"_s;
    QTest::newRow("space") << QByteArray("/api/v1/things/a%20b?q=c%20d") << u"a b"_s << u"c d"_s;
    QTest::newRow("plus") << QByteArray("/api/v1/things/a+b?q=c+d%2Be") << u"a+b"_s << u"c d+e"_s;
    QTest::newRow("slash stays in its segment")
        << QByteArray("/api/v1/things/a%2Fb?q=c/d") << u"a/b"_s << u"c/d"_s;
    QTest::newRow("Korean") << QByteArray("/api/v1/things/%ED%95%9C?q=%EA%B8%80") << u"한"_s << u"글"_s;
    QTest::newRow("percent") << QByteArray("/api/v1/things/100%25?q=%2525&q2=x") << u"100%"_s << u"%25"_s;
    QTest::newRow("no value") << QByteArray("/api/v1/things/a?q&x=") << u"a"_s << QString();
}

void TestHttpServer::decodesPathAndQuery()
{
    QFETCH(QByteArray, target);
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(get(target));
    const Answer answer = client.read();
    QCOMPARE(answer.status, 200);
    QTEST(answer.json()[u"id"_s].toString(), "id");
    QTEST(answer.json()[u"q"_s].toString(), "q");
}

void TestHttpServer::keepsTheConnection()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    for (const int status : {200, 404, 200}) { // a refusal does not end it
        client.send(get(status == 200 ? "/open" : "/nowhere"));
        QCOMPARE(client.read().status, status);
    }
    client.send("POST /nowhere HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc");
    QCOMPARE(client.read().status, 404);
    client.send(get("/open"));
    QCOMPARE(client.read().status, 200);
}

void TestHttpServer::answersPipelinedRequestsInOrder()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    QByteArray all;
    for (int i = 0; i < 50; ++i)
        all +=
            get("/api/v1/things/" + QByteArray::number(i)) + (i == 20 ? get("/api/v1/slow") : QByteArray());
    client.send(all);
    for (int i = 0; i < 50; ++i) {
        QCOMPARE(client.read().json()[u"id"_s].toString(), QString::number(i));
        if (i != 20)
            continue;
        QTRY_COMPARE(fixture.gate.waiting(), 1);
        fixture.gate.open();
        QVERIFY(client.read().json()[u"slow"_s].toBool());
    }
}

void TestHttpServer::answersHeadWithoutBody()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send("HEAD /open HTTP/1.1\r\nHost: test\r\n\r\n" + get("/open"));
    const Answer head = client.read(true);
    QCOMPARE(head.status, 200);
    QVERIFY(head.headers.value("content-length").toInt() > 0);
    QCOMPARE(client.read().json()[u"path"_s].toString(), u"/open"_s); // no body was between
}

void TestHttpServer::answersOptions()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send("OPTIONS /api/v1/things/1 HTTP/1.1\r\nHost: test\r\nOrigin: http://evil.example\r\n\r\n");
    const Answer answer = client.read();
    QCOMPARE(answer.status, 204);
    QCOMPARE(answer.headers.value("allow"), "GET, HEAD, OPTIONS");
    QVERIFY(!answer.headers.contains("access-control-allow-origin"));
    client.send("OPTIONS /nowhere HTTP/1.1\r\nHost: test\r\n\r\n");
    QCOMPARE(client.read().status, 404);
}

void TestHttpServer::refuses_data()
{
    QTest::addColumn<QByteArray>("request");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QByteArray>("header");
    QTest::addColumn<QByteArray>("value");
    const QByteArray none;
    QTest::newRow("unknown path") << get("/api/v1/nothing") << 404 << u"not_found"_s << none << none;
    QTest::newRow("trailing slash") << get("/open/") << 404 << u"not_found"_s << none << none;
    QTest::newRow("empty parameter") << get("/api/v1/things/") << 404 << u"not_found"_s << none << none;
    QTest::newRow("other method") << post("/api/v1/things/1", "{}") << 405 << u"method_not_allowed"_s
                                  << QByteArray("allow") << QByteArray("GET, HEAD, OPTIONS");
    QTest::newRow("unknown method") << QByteArray("BREW /api/v1/echo HTTP/1.1\r\nHost: test\r\n\r\n") << 405
                                    << u"method_not_allowed"_s << QByteArray("allow")
                                    << QByteArray("POST, OPTIONS");
    QTest::newRow("unknown method, unknown path")
        << QByteArray("BREW /coffee HTTP/1.1\r\nHost: test\r\n\r\n") << 404 << u"not_found"_s << none << none;
    QTest::newRow("no token") << get("/api/v1/things/1", "") << 401 << u"unauthorized"_s
                              << QByteArray("www-authenticate") << QByteArray("Bearer realm=\"tidekeeper\"");
    QTest::newRow("wrong token") << get("/api/v1/things/1", "guess") << 401 << u"unauthorized"_s
                                 << QByteArray("www-authenticate")
                                 << QByteArray("Bearer realm=\"tidekeeper\"");
    QTest::newRow("not a bearer") << QByteArray("GET /api/v1/things/1 HTTP/1.1\r\nHost: test\r\n"
                                                "Authorization: Basic YTpi\r\n\r\n")
                                  << 401 << u"unauthorized"_s << none << none;
}

void TestHttpServer::refuses()
{
    QFETCH(QByteArray, request);
    QFETCH(QByteArray, header);
    QFETCH(QByteArray, value);
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(request);
    const Answer answer = client.read();
    QTEST(answer.status, "status");
    QTEST(answer.code(), "code");
    QCOMPARE(answer.headers.value("content-type"), "application/problem+json");
    QCOMPARE(answer.json()[u"status"_s].toInt(), answer.status);
    QVERIFY(!answer.json()[u"detail"_s].toString().isEmpty());
    if (!header.isEmpty())
        QCOMPARE(answer.headers.value(header), value);
}

void TestHttpServer::checksTheRole_data()
{
    QTest::addColumn<QByteArray>("token");
    QTest::addColumn<QByteArray>("request");
    QTest::addColumn<int>("status");
    const QByteArray rest = " HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n";
    const QHash<QByteArray, QByteArray> requests{{"consumer", "POST /api/v1/acquire" + rest},
                                                 {"viewer", "GET /api/v1/things/1" + rest},
                                                 {"operator", "POST /api/v1/echo" + rest},
                                                 {"admin", "PUT /api/v1/admin" + rest}};
    const QHash<QByteArray, QByteArrayList> may{{"consumer", {"consumer"}},
                                                {"viewer", {"viewer"}},
                                                {"operator", {"consumer", "viewer", "operator"}},
                                                {"admin", {"consumer", "viewer", "operator", "admin"}}};
    for (const auto &[has, allowed] : may.asKeyValueRange()) {
        for (const auto &[needed, request] : requests.asKeyValueRange())
            QTest::addRow("%s does what a %s may", has.constData(), needed.constData())
                << QByteArray(has + "-token") << request << (allowed.contains(needed) ? 200 : 403);
    }
}

void TestHttpServer::checksTheRole()
{
    QFETCH(QByteArray, token);
    QFETCH(QByteArray, request);
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(request + "authorization: bearer " + token + "\r\n\r\n");
    const Answer answer = client.read();
    QTEST(answer.status, "status");
    if (answer.status == 403)
        QCOMPARE(answer.code(), u"forbidden"_s);
}

void TestHttpServer::hidesWhatAHandlerThrew()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    QTest::ignoreMessage(QtCriticalMsg, "a handler failed: secret detail");
    client.send(get("/api/v1/throws"));
    const Answer answer = client.read();
    QCOMPARE(answer.status, 500);
    QCOMPARE(answer.code(), u"internal_error"_s);
    QVERIFY(!answer.body.contains("secret"));
    client.send(get("/open"));
    QCOMPARE(client.read().status, 200);
}

void TestHttpServer::answersLater()
{
    ServerFixture fixture;
    RawClient waiting(fixture.port());
    waiting.send(get("/api/v1/slow"));
    QTRY_COMPARE(fixture.gate.waiting(), 1);
    RawClient other(fixture.port()); // nobody waits behind it
    other.send(get("/open"));
    QCOMPARE(other.read().status, 200);
    fixture.gate.open();
    QVERIFY(waiting.read().json()[u"slow"_s].toBool());
    waiting.send(get("/open"));
    QCOMPARE(waiting.read().status, 200);
}

void TestHttpServer::servesManyAtOnce()
{
    ServerFixture fixture;
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 64; ++i)
        clients.push_back(std::make_unique<RawClient>(fixture.port()));
    for (int i = 0; i < 64; ++i)
        clients[i]->send(get(i % 2 ? "/api/v1/slow" : "/api/v1/things/" + QByteArray::number(i)));
    QTRY_COMPARE(fixture.gate.waiting(), 32);
    fixture.gate.open();
    for (int i = 0; i < 64; ++i) {
        const QJsonObject answer = clients[i]->read().json();
        if (i % 2)
            QVERIFY(answer[u"slow"_s].toBool());
        else
            QCOMPARE(answer[u"id"_s].toString(), QString::number(i));
    }
}

// A handler that answers after its client hung up once crashed another server: the reason for this one.
void TestHttpServer::survivesClientsThatHangUp()
{
    ServerFixture fixture;
    for (int i = 0; i < 5; ++i) {
        RawClient client(fixture.port());
        client.send(get("/api/v1/slow"));
        QTRY_COMPARE(fixture.gate.waiting(), i + 1);
        if (i % 2)
            client.socket().abort();
        else
            client.socket().close();
    }
    RawClient half(fixture.port());
    half.send("POST /api/v1/echo HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer admin-token\r\n"
              "Content-Length: 100\r\n\r\nhalf");
    half.socket().abort();
    fixture.gate.open();
    RawClient client(fixture.port());
    client.send(get("/open"));
    QCOMPARE(client.read().status, 200);
}

void TestHttpServer::survivesGarbage_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<bool>("closes");
    QTest::newRow("nothing but noise")
        << QByteArray("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) << false;
    QTest::newRow("no HTTP") << QByteArray("hello\r\n\r\n") << true;
    QTest::newRow("no host") << QByteArray("GET /open HTTP/1.1\r\n\r\n") << true;
    QTest::newRow("header without a colon")
        << QByteArray("GET /open HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n") << false;
    QTest::newRow("bad length") << QByteArray(
        "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n")
                                << true;
    QTest::newRow("bad chunk") << QByteArray("POST /api/v1/echo HTTP/1.1\r\nHost: x\r\n"
                                             "Transfer-Encoding: chunked\r\n\r\nzz\r\n")
                               << true;
    QTest::newRow("huge header") << "GET /open HTTP/1.1\r\nHost: x\r\nX-Long: " + QByteArray(200'000, 'a')
            + "\r\n\r\n" << true;
    QTest::newRow("huge target") << "GET /" + QByteArray(200'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"
                                 << true;
    QTest::newRow("zero bytes") << QByteArray(2000, '\0') << false;
}

void TestHttpServer::survivesGarbage()
{
    QFETCH(QByteArray, bytes);
    QFETCH(bool, closes);
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(bytes);
    if (closes)
        QVERIFY(client.isClosedWithin(3000));
    RawClient good(fixture.port());
    good.send(get("/open"));
    QCOMPARE(good.read().status, 200);
}

void TestHttpServer::closesIdleConnections()
{
    ServerOptions options;
    options.idleTimeoutS = 1;
    ServerFixture fixture(options);
    RawClient idle(fixture.port());
    RawClient slowSender(fixture.port());
    slowSender.send("POST /api/v1/echo HTTP/1.1\r\nHost: test\r\nContent-Le");
    RawClient waiting(fixture.port()); // waits for us: not idle
    waiting.send(get("/api/v1/slow"));
    QVERIFY(idle.isClosedWithin(4000));
    QVERIFY(slowSender.isClosedWithin(4000));
    QTest::qWait(1500);
    fixture.gate.open();
    QVERIFY(waiting.read().json()[u"slow"_s].toBool());
}

void TestHttpServer::cutsOffTooManyConnections()
{
    ServerOptions options;
    options.maxConnections = 4;
    ServerFixture fixture(options);
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<RawClient>(fixture.port()));
        clients.back()->send(get("/open"));
        QCOMPARE(clients.back()->read().status, 200);
    }
    RawClient fifth(fixture.port());
    fifth.send(get("/open"));
    QTest::qWait(100);
    QVERIFY(fifth.socket().bytesAvailable() == 0);
    clients.clear();
    RawClient next(fixture.port());
    next.send(get("/open"));
    QCOMPARE(next.read().status, 200);
}

void TestHttpServer::stopLetsRunningRequestsFinish()
{
    ServerFixture fixture;
    RawClient waiting(fixture.port());
    RawClient idle(fixture.port());
    waiting.send(get("/api/v1/slow"));
    QTRY_COMPARE(fixture.gate.waiting(), 1);
    const QCoro::Task<> stopping = fixture.server->stop(5000);
    QTcpSocket late;
    late.connectToHost(u"127.0.0.1"_s, fixture.port());
    QTRY_COMPARE(late.error(), QAbstractSocket::ConnectionRefusedError);
    QVERIFY(!stopping.isReady());
    fixture.gate.open();
    const Answer answer = waiting.read();
    QCOMPARE(answer.status, 200);
    QCOMPARE(answer.headers.value("connection").toLower(), "close");
    QTRY_VERIFY(stopping.isReady());
    QVERIFY(idle.isClosedWithin(1000));
}

void TestHttpServer::stopCutsOffWhoTakesTooLong()
{
    ServerFixture fixture;
    RawClient waiting(fixture.port());
    waiting.send(get("/api/v1/slow"));
    QTRY_COMPARE(fixture.gate.waiting(), 1);
    const QCoro::Task<> stopping = fixture.server->stop(100);
    QVERIFY(waiting.isClosedWithin(2000));
    QTRY_VERIFY(stopping.isReady());
    fixture.gate.open(); // the handler ends after its server did
}

void TestHttpServer::mayGoWhileHandlersRun()
{
    ServerFixture fixture;
    RawClient waiting(fixture.port());
    waiting.send(get("/api/v1/slow"));
    QTRY_COMPARE(fixture.gate.waiting(), 1);
    fixture.server.reset();
    QVERIFY(waiting.isClosedWithin(1000));
    fixture.gate.open();
}

QTEST_GUILESS_MAIN(TestHttpServer)
#include "tst_httpserver.moc"
