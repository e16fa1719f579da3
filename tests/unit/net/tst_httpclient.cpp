// SPDX-License-Identifier: Apache-2.0
#include "net/httpclient.h"
#include "support/localhttp.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

#include <memory>
#include <vector>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::net;
using tidekeeper::test::LocalHttp;

class TestHttpClient : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sendsMethodHeadersAndBody();
    void everyStatusIsAnAnswer_data();
    void everyStatusIsAnAnswer();
    void brokenPeers_data();
    void brokenPeers();
    void deadlineHoldsWhileThePeerTrickles();
    void redirectIsNotFollowed();
    void nobodyListens();
    void badAddressesAreRefused_data();
    void badAddressesAreRefused();
    void abortAllEndsWhatIsUnderWay();
    void manyRequestsToOneHostDoNotWaitForSixConnections();
    void connectionsOfAQuietHostAreUsedAgain();
};

void TestHttpClient::sendsMethodHeadersAndBody()
{
    LocalHttp server(
        [](const LocalHttp::Request &) { return LocalHttp::answer(200, "{\"a\":1}", "X-Some: Thing\r\n"); });
    HttpClient client;
    const auto response = QCoro::waitFor(client.send(
        {"POST", QUrl(server.url() + u"/token?x=1"_s), {{"Content-Type", "text/plain"}}, "hello"}));
    QVERIFY(response.has_value());
    QCOMPARE(response->status, 200);
    QCOMPARE(response->body, "{\"a\":1}");
    QCOMPARE(response->headers.value("x-some"), "Thing");
    QCOMPARE(server.requests().size(), 1);
    QCOMPARE(server.requests().first().method, "POST");
    QCOMPARE(server.requests().first().path, "/token?x=1");
    QCOMPARE(server.requests().first().body, "hello");
    QCOMPARE(server.requests().first().headers.value("content-type"), "text/plain");
}

void TestHttpClient::everyStatusIsAnAnswer_data()
{
    QTest::addColumn<int>("status");
    for (const int status :
         {200, 204, 301, 400, 401, 403, 404, 407, 408, 409, 410, 418, 429, 500, 501, 502, 503, 504})
        QTest::addRow("%d", status) << status;
}

void TestHttpClient::everyStatusIsAnAnswer()
{
    QFETCH(int, status);
    LocalHttp server([status](const LocalHttp::Request &) { return LocalHttp::answer(status, "{}"); });
    HttpClient client;
    const auto response = QCoro::waitFor(client.send({"POST", QUrl(server.url() + u"/"_s), {}, "x"}));
    QVERIFY2(response.has_value(), qPrintable(response ? QString() : response.error().text));
    QCOMPARE(response->status, status);
}

void TestHttpClient::brokenPeers_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<bool>("close");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("reason");
    QTest::newRow("accepts and stays silent") << QByteArray() << false << u"timeout"_s << QString();
    QTest::newRow("head only, then silent")
        << QByteArray("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") << false << u"timeout"_s << QString();
    QTest::newRow("hangs up at once") << QByteArray() << true << u"network"_s << u"connection"_s;
    QTest::newRow("cut inside the body")
        << QByteArray("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"access_token\"") << true
        << u"network"_s << u"connection"_s;
    QTest::newRow("not HTTP") << QByteArray("220 mail.example.com ESMTP\r\n\r\n") << true << u"network"_s
                              << u"connection"_s;
    QTest::newRow("huge body") << QByteArray("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
            + QByteArray(300'000, 'x')
                               << false << u"network"_s << u"too_large"_s;
    QTest::newRow("huge body without end") << QByteArray("HTTP/1.1 200 OK\r\n\r\n") + QByteArray(300'000, 'x')
                                           << false << u"network"_s << u"too_large"_s;
}

void TestHttpClient::brokenPeers()
{
    QFETCH(QByteArray, bytes);
    QFETCH(bool, close);
    LocalHttp server([&](const LocalHttp::Request &) { return LocalHttp::Answer{bytes, close}; });
    HttpClient client(100'000);
    const auto response = QCoro::waitFor(client.send({"POST", QUrl(server.url() + u"/"_s), {}, "x", 400}));
    QVERIFY(!response.has_value());
    QTEST(response.error().code, "code");
    QTEST(response.error().details.value("reason"_L1).toString(), "reason");
    QVERIFY(!response.error().text.isEmpty());
}

void TestHttpClient::deadlineHoldsWhileThePeerTrickles()
{
    LocalHttp server([](const LocalHttp::Request &) {
        return LocalHttp::Answer{"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", false};
    });
    HttpClient client;
    QElapsedTimer timer;
    timer.start();
    const auto response = QCoro::waitFor(client.send({"GET", QUrl(server.url() + u"/"_s), {}, {}, 300}));
    QVERIFY(!response.has_value());
    QCOMPARE(response.error().code, u"timeout"_s);
    QVERIFY(timer.elapsed() < 3'000);
}

void TestHttpClient::redirectIsNotFollowed()
{
    LocalHttp target([](const LocalHttp::Request &) { return LocalHttp::answer(200, "secret"); });
    LocalHttp server([&](const LocalHttp::Request &) {
        return LocalHttp::answer(302, "", "Location: " + target.url().toLatin1() + "/\r\n");
    });
    HttpClient client;
    const auto response = QCoro::waitFor(client.send({"GET", QUrl(server.url() + u"/"_s)}));
    QVERIFY(response.has_value());
    QCOMPARE(response->status, 302);
    QVERIFY(target.requests().isEmpty());
}

void TestHttpClient::nobodyListens()
{
    QString url;
    {
        const LocalHttp gone;
        url = gone.url();
    }
    HttpClient client;
    const auto response = QCoro::waitFor(client.send({"GET", QUrl(url + u"/"_s)}));
    QVERIFY(!response.has_value());
    QCOMPARE(response.error().code, u"network"_s);
}

void TestHttpClient::badAddressesAreRefused_data()
{
    QTest::addColumn<QString>("url");
    QTest::newRow("empty") << QString();
    QTest::newRow("file") << u"file:///etc/passwd"_s;
    QTest::newRow("no host") << u"http:///x"_s;
}

void TestHttpClient::badAddressesAreRefused()
{
    QFETCH(QString, url);
    HttpClient client;
    const auto response = QCoro::waitFor(client.send({"GET", QUrl(url)}));
    QVERIFY(!response.has_value());
    QCOMPARE(response.error().details.value("reason"_L1).toString(), u"bad_url"_s);
}

void TestHttpClient::abortAllEndsWhatIsUnderWay()
{
    const LocalHttp silent;
    Result<HttpResponse> response;
    bool done = false;
    {
        HttpClient client;
        auto task = client.send({"GET", QUrl(silent.url() + u"/"_s)});
        task.then([&](const Result<HttpResponse> &result) {
            response = result;
            done = true;
        });
        QTest::qWait(50);
        QVERIFY(!done);
    }
    QVERIFY(done);
    QCOMPARE(response.error().details.value("reason"_L1).toString(), u"shut_down"_s);
}

void TestHttpClient::manyRequestsToOneHostDoNotWaitForSixConnections()
{
    constexpr int most = HttpClient::mostConnectionsPerHost;
    LocalHttp silent;
    HttpClient client;
    std::vector<QCoro::Task<Result<HttpResponse>>> underWay;
    for (int i = 0; i < most + 20; ++i)
        underWay.push_back(client.send({.url = QUrl(silent.url())}));
    QTRY_COMPARE(silent.requests().size(), most); // the rest waits
    QTest::qWait(50);
    QCOMPARE(silent.requests().size(), most);

    client.abortAll();
    for (auto &task : underWay) {
        const Result<HttpResponse> ended = QCoro::waitFor(task);
        QVERIFY(!ended);
        QCOMPARE(ended.error().details.value("reason"_L1).toString(), u"shut_down"_s);
    }
}

void TestHttpClient::connectionsOfAQuietHostAreUsedAgain()
{
    LocalHttp server([](const LocalHttp::Request &) { return LocalHttp::answer(200, "{}"); });
    HttpClient client;
    for (int i = 0; i < 20; ++i)
        QVERIFY(QCoro::waitFor(client.send({.url = QUrl(server.url())})));
    QCOMPARE(server.connections(), 1);
}

QTEST_GUILESS_MAIN(TestHttpClient)
#include "tst_httpclient.moc"
