// SPDX-License-Identifier: Apache-2.0
#include "httpfixture.h"

#include <QtTest/QTest>

using namespace tidekeeper::http;
using namespace Qt::StringLiterals;

namespace {

constexpr qsizetype limit = 1024 * 1024;

QByteArray head(const QByteArray &path, const QByteArray &headers)
{
    return "POST " + path + " HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer admin-token\r\n" + headers
        + "\r\n";
}

QByteArray chunk(const QByteArray &data)
{
    return QByteArray::number(data.size(), 16) + "\r\n" + data + "\r\n";
}

} // namespace

class TestHttpBodies : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void takesUpToTheLimit_data();
    void takesUpToTheLimit();
    void takesChunks();
    void takesSlowSenders();
    void refusesBeforeTheBodyIsSent();
    void cutsOffEndlessBodies();
    void forgetsTheBodyOfTheOneBefore();
};

void TestHttpBodies::takesUpToTheLimit_data()
{
    QTest::addColumn<qsizetype>("size");
    QTest::addColumn<bool>("chunked");
    QTest::addColumn<int>("status");
    for (const bool chunked : {false, true}) {
        const char *how = chunked ? "chunked" : "with length";
        QTest::addRow("empty, %s", how) << qsizetype(0) << chunked << 200;
        QTest::addRow("one byte, %s", how) << qsizetype(1) << chunked << 200;
        QTest::addRow("limit, %s", how) << limit << chunked << 200;
        QTest::addRow("limit + 1, %s", how) << limit + 1 << chunked << 413;
        QTest::addRow("5 × limit, %s", how) << 5 * limit << chunked << 413;
    }
}

void TestHttpBodies::takesUpToTheLimit()
{
    QFETCH(qsizetype, size);
    QFETCH(bool, chunked);
    QFETCH(int, status);
    ServerFixture fixture;
    RawClient client(fixture.port());
    if (chunked) {
        client.send(head("/api/v1/echo", "Transfer-Encoding: chunked\r\n"));
        for (qsizetype sent = 0; sent < size; sent += 100'000)
            client.send(chunk(QByteArray(std::min<qsizetype>(100'000, size - sent), 'x')));
        client.send(chunk({}));
    } else {
        client.send(post("/api/v1/echo", QByteArray(size, 'x')));
    }
    const Answer answer = client.read();
    QCOMPARE(answer.status, status);
    if (status == 200) {
        QCOMPARE(answer.json()[u"size"_s].toInteger(), size);
    } else {
        QCOMPARE(answer.code(), u"body_too_large"_s);
        QCOMPARE(answer.json()[u"max_bytes"_s].toInteger(), limit);
    }
    client.send(get("/open")); // the connection is still good
    QCOMPARE(client.read().status, 200);
}

void TestHttpBodies::takesChunks()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(head("/api/v1/echo", "Transfer-Encoding: chunked\r\n") + chunk("{\"a\"") + chunk(":1}")
                + chunk({}));
    QCOMPARE(client.read().json()[u"body"_s].toString(), u"{\"a\":1}"_s);
}

void TestHttpBodies::takesSlowSenders()
{
    ServerFixture fixture;
    RawClient slow(fixture.port());
    for (const char byte : post("/api/v1/echo", "{\"slow\":1}")) {
        slow.send(QByteArray(1, byte));
        QCoreApplication::processEvents();
    }
    RawClient other(fixture.port());
    other.send(get("/open"));
    QCOMPARE(other.read().status, 200);
    QCOMPARE(slow.read().json()[u"body"_s].toString(), u"{\"slow\":1}"_s);
}

void TestHttpBodies::refusesBeforeTheBodyIsSent()
{
    ServerFixture fixture;
    RawClient asking(fixture.port());
    asking.send(head("/api/v1/echo", "Expect: 100-continue\r\nContent-Length: 2000000\r\n"));
    QCOMPARE(asking.read().status, 413);
    RawClient stranger(fixture.port());
    stranger.send(
        "POST /api/v1/echo HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
    QCOMPARE(stranger.read().status, 401);
    RawClient huge(fixture.port());
    huge.send(head("/api/v1/echo", "Content-Length: 99999999999\r\n"));
    QCOMPARE(huge.read().status, 413);
    QVERIFY(huge.isClosedWithin(1000));
    RawClient welcome(fixture.port());
    welcome.send(head("/api/v1/echo", "Expect: 100-continue\r\nContent-Length: 2\r\n"));
    QCOMPARE(welcome.read().status, 100);
    welcome.send("{}");
    QCOMPARE(welcome.read().json()[u"body"_s].toString(), u"{}"_s);
}

void TestHttpBodies::cutsOffEndlessBodies()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(head("/api/v1/echo", "Transfer-Encoding: chunked\r\n"));
    const QByteArray piece = chunk(QByteArray(limit, 'x'));
    const auto connected = [&] { return client.socket().state() == QAbstractSocket::ConnectedState; };
    int sent = 0;
    for (; sent < 40 && connected(); ++sent) {
        client.send(piece);
        QTRY_VERIFY(client.socket().bytesToWrite() == 0 || !connected());
    }
    QVERIFY(client.isClosedWithin(1000));
    QVERIFY2(sent < 40, "all of it was read");
}

void TestHttpBodies::forgetsTheBodyOfTheOneBefore()
{
    ServerFixture fixture;
    RawClient client(fixture.port());
    client.send(post("/api/v1/echo", "first") + post("/api/v1/echo", "") + post("/api/v1/echo", "3"));
    QCOMPARE(client.read().json()[u"body"_s].toString(), u"first"_s);
    QCOMPARE(client.read().json()[u"body"_s].toString(), QString());
    QCOMPARE(client.read().json()[u"body"_s].toString(), u"3"_s);
}

QTEST_GUILESS_MAIN(TestHttpBodies)
#include "tst_httpbodies.moc"
