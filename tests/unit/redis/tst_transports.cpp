// SPDX-License-Identifier: Apache-2.0
#include "redis/redisconnection.h"
#include "support/testredis.h"
#include "tlsfiles.h"

#include <QtNetwork/QTcpServer>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::redis;

namespace {

quint16 freePort()
{
    QTcpServer server;
    server.listen(QHostAddress::LocalHost);
    return server.serverPort();
}

/// Reads and writes a key; the empty string when all is as it should be, what is wrong otherwise.
QString roundTrip(const Endpoint &endpoint)
{
    ConnectionOptions options;
    options.connectTimeoutMs = 5000; // a TLS handshake of a sanitizer build on a busy machine
    RedisConnection connection(endpoint, options);
    connection.open();
    if (!QCoro::waitFor(connection.waitReady(5000)))
        return connection.lastError();
    const Result<Value> set = QCoro::waitFor(connection.command({"SET", "key", "value"}, 5000));
    const Result<Value> got = QCoro::waitFor(connection.command({"GET", "key"}, 5000));
    if (!set || !got)
        return u"no answer"_s;
    return got->text == "value" ? QString() : u"wrong value"_s;
}

} // namespace

class TransportsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void unixSocket()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        const Result<Endpoint> endpoint = Endpoint::fromUrl(server.url());
        QVERIFY(endpoint);
        QCOMPARE(roundTrip(*endpoint), QString());
    }

    void tcp()
    {
        test::TestRedis server({}, true);
        QVERIFY(server.start());
        for (const QString &host : {u"127.0.0.1"_s, u"localhost"_s}) {
            const Result<Endpoint> endpoint =
                Endpoint::fromUrl(u"redis://%1:%2/2"_s.arg(host).arg(server.port()));
            QVERIFY(endpoint);
            QCOMPARE(roundTrip(*endpoint), QString());
        }
        QCOMPARE(server.cli({u"-n"_s, u"2"_s, u"get"_s, u"key"_s}), "value");
    }

    void tls_data()
    {
        QTest::addColumn<QString>("certificateFor");
        QTest::addColumn<QString>("host");
        QTest::addColumn<bool>("knowsAuthority");
        QTest::addColumn<bool>("connects");
        QTest::newRow("name") << u"DNS:localhost"_s << u"localhost"_s << true << true;
        QTest::newRow("address") << u"IP:127.0.0.1"_s << u"127.0.0.1"_s << true << true;
        QTest::newRow("certificate of another server")
            << u"DNS:redis.example"_s << u"localhost"_s << true << false;
        QTest::newRow("unknown authority") << u"DNS:localhost"_s << u"localhost"_s << false << false;
    }

    void tls()
    {
        QFETCH(QString, certificateFor);
        QFETCH(QString, host);
        QFETCH(bool, knowsAuthority);
        QFETCH(bool, connects);
        const test::TlsFiles files(certificateFor);
        QVERIFY(files.areThere());
        const quint16 port = freePort();
        test::TestRedis server({u"--tls-port"_s, QString::number(port), u"--tls-cert-file"_s,
                                files.certificate(), u"--tls-key-file"_s, files.key(),
                                u"--tls-ca-cert-file"_s, files.authority(), u"--tls-auth-clients"_s,
                                u"no"_s});
        QVERIFY(server.start());

        Result<Endpoint> endpoint = Endpoint::fromUrl(u"rediss://%1:%2"_s.arg(host).arg(port));
        QVERIFY(endpoint);
        if (knowsAuthority)
            endpoint->caFile = files.authority();
        if (connects) {
            QCOMPARE(roundTrip(*endpoint), QString());
        } else {
            RedisConnection connection(*endpoint);
            connection.open();
            QTRY_VERIFY(!connection.lastError().isEmpty());
            QVERIFY(!connection.isReady());
            QVERIFY2(connection.lastError().contains(u"certificate"_s), qPrintable(connection.lastError()));
        }
    }

    void caFileThatIsNotThereIsNamed()
    {
        Endpoint endpoint{.transport = Endpoint::Transport::Tls, .host = u"localhost"_s};
        endpoint.caFile = u"/nowhere/ca.pem"_s;
        RedisConnection connection(endpoint);
        connection.open();
        QTRY_VERIFY(connection.lastError().contains(u"/nowhere/ca.pem"_s));
    }
};

QTEST_GUILESS_MAIN(TransportsTest)
#include "tst_transports.moc"
