// SPDX-License-Identifier: Apache-2.0
#include "http/listensocket.h"
#include "httpfixture.h"

#include <QtCore/QFile>
#include <QtCore/QTemporaryDir>
#include <QtNetwork/QSslCertificate>
#include <QtNetwork/QSslSocket>
#include <QtNetwork/QTcpServer>
#include <QtTest/QTest>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

using namespace tidekeeper::http;
using namespace Qt::StringLiterals;

namespace {

template<auto Free>
struct Freer {
    template<typename T>
    void operator()(T *object) const
    {
        Free(object);
    }
};

/// A certificate signed by its own key, for 127.0.0.1, good for an hour.
void writeCertificate(const QString &certificateFile, const QString &keyFile)
{
    const std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>> key(EVP_EC_gen("P-256"));
    const std::unique_ptr<X509, Freer<X509_free>> certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_NAME *name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char *>("127.0.0.1"),
                               -1, -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    X509_set_pubkey(certificate.get(), key.get());
    X509_sign(certificate.get(), key.get(), EVP_sha256());

    const std::unique_ptr<FILE, Freer<std::fclose>> c(std::fopen(qPrintable(certificateFile), "w"));
    PEM_write_X509(c.get(), certificate.get());
    const std::unique_ptr<FILE, Freer<std::fclose>> k(std::fopen(qPrintable(keyFile), "w"));
    PEM_write_PrivateKey(k.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

Principal nobody(const QByteArray &)
{
    return {};
}

} // namespace

class TestHttpListen : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void takesAFreePort();
    void listensOnIpv6();
    void saysThatThePortIsInUse();
    void refusesAddresses_data();
    void refusesAddresses();
    void listensBeyondLoopbackWhenTold();
    void speaksTls();
    void refusesTlsFiles_data();
    void refusesTlsFiles();

private:
    QString file(const char *name) const { return m_dir.filePath(QString::fromLatin1(name)); }

    QTemporaryDir m_dir;
};

void TestHttpListen::initTestCase()
{
    writeCertificate(file("cert.pem"), file("key.pem"));
    QFile noise(file("noise.pem"));
    QVERIFY(noise.open(QIODevice::WriteOnly));
    noise.write("not a key\n");
}

void TestHttpListen::takesAFreePort()
{
    ServerFixture a;
    ServerFixture b;
    QVERIFY(a.listening && b.listening);
    QVERIFY(a.port() != 0);
    QVERIFY(a.port() != b.port());
    QCOMPARE(a.server->url(), u"http://127.0.0.1:%1"_s.arg(a.port()));
}

void TestHttpListen::listensOnIpv6()
{
    ServerOptions options;
    options.host = u"::1"_s;
    ServerFixture fixture(options);
    if (!fixture.listening && fixture.listening.error().code == u"address_refused"_s)
        QSKIP("no IPv6 on this machine");
    QCOMPARE(fixture.server->url(), u"http://[::1]:%1"_s.arg(fixture.port()));
    QTcpSocket socket;
    socket.connectToHost(u"::1"_s, fixture.port());
    socket.write(get("/open"));
    QTRY_VERIFY(socket.bytesAvailable() > 0);
    QVERIFY(socket.readAll().contains("\"from\":\"::1\""));
}

void TestHttpListen::saysThatThePortIsInUse()
{
    QTcpServer other;
    QVERIFY(other.listen(QHostAddress::LocalHost));
    Router router;
    ServerOptions options;
    options.port = other.serverPort();
    HttpServer server(options, router, nobody);
    const auto listening = server.listen();
    QVERIFY(!listening);
    QCOMPARE(listening.error().code, u"port_in_use"_s);
    const QString where = u"127.0.0.1:%1"_s.arg(options.port);
    QVERIFY(listening.error().text.contains(where));
    QVERIFY(listening.error().text.contains(u"--listen"_s));
    QCOMPARE(listening.error().details[u"address"_s].toString(), where);
    other.close();
    QVERIFY(server.listen()); // nothing half done
}

void TestHttpListen::refusesAddresses_data()
{
    QTest::addColumn<QString>("host");
    QTest::addColumn<QString>("code");
    QTest::newRow("all IPv4") << u"0.0.0.0"_s << u"tls_required"_s;
    QTest::newRow("all") << u"::"_s << u"tls_required"_s;
    QTest::newRow("another machine's") << u"192.0.2.1"_s << u"tls_required"_s;
    QTest::newRow("name") << u"mail.example"_s << u"tls_required"_s;
    QTest::newRow("loopback that nobody has") << u"::ffff:127.0.0.1.5"_s << u"tls_required"_s;
}

void TestHttpListen::refusesAddresses()
{
    QFETCH(QString, host);
    Router router;
    ServerOptions options;
    options.host = host;
    HttpServer server(options, router, nobody);
    const auto listening = server.listen();
    QVERIFY(!listening);
    QTEST(listening.error().code, "code");
    QVERIFY(listening.error().text.contains(host));
}

void TestHttpListen::listensBeyondLoopbackWhenTold()
{
    ServerOptions options;
    options.host = u"0.0.0.0"_s;
    options.allowPlainRemote = true;
    ServerFixture fixture(options);
    QVERIFY(fixture.listening);
    options.host = u"192.0.2.1"_s; // documentation addresses belong to nobody
    ServerFixture impossible(options);
    QVERIFY(!impossible.listening);
    QCOMPARE(impossible.listening.error().code, u"address_refused"_s);
    options.host = u"mail.example"_s;
    ServerFixture name(options);
    QVERIFY(!name.listening);
    QCOMPARE(name.listening.error().code, u"address_refused"_s);
}

void TestHttpListen::speaksTls()
{
    ServerOptions options;
    options.host = u"0.0.0.0"_s; // TLS may be seen from outside
    options.tlsCertificate = file("cert.pem");
    options.tlsKey = file("key.pem");
    ServerFixture fixture(options);
    QVERIFY2(fixture.listening, qPrintable(fixture.listening ? QString() : fixture.listening.error().text));
    QVERIFY(fixture.server->url().startsWith(u"https://"_s));

    QSslSocket socket;
    QSslConfiguration configuration = socket.sslConfiguration();
    configuration.setCaCertificates(QSslCertificate::fromPath(file("cert.pem")));
    socket.setSslConfiguration(configuration);
    socket.connectToHostEncrypted(u"127.0.0.1"_s, fixture.port());
    QTRY_VERIFY2(socket.isEncrypted(), qPrintable(socket.errorString()));
    socket.write(get("/open") + post("/api/v1/echo", QByteArray(300'000, 'x')) + get("/api/v1/slow"));
    QByteArray received;
    QTRY_VERIFY((received += socket.readAll()).contains("\"size\":300000"));
    QTRY_COMPARE(fixture.gate.waiting(), 1);
    fixture.gate.open();
    QTRY_VERIFY((received += socket.readAll()).contains("\"slow\":true"));

    RawClient plain(fixture.port()); // no clear text on this port
    plain.send(get("/open"));
    QVERIFY(plain.isClosedWithin(2000));
}

void TestHttpListen::refusesTlsFiles_data()
{
    QTest::addColumn<QString>("certificate");
    QTest::addColumn<QString>("key");
    QTest::newRow("no key") << file("cert.pem") << QString();
    QTest::newRow("no certificate") << QString() << file("key.pem");
    QTest::newRow("certificate missing") << file("nothing.pem") << file("key.pem");
    QTest::newRow("key is noise") << file("cert.pem") << file("noise.pem");
    QTest::newRow("swapped") << file("key.pem") << file("cert.pem");
}

void TestHttpListen::refusesTlsFiles()
{
    ServerOptions options;
    QFETCH(QString, certificate);
    QFETCH(QString, key);
    options.tlsCertificate = certificate;
    options.tlsKey = key;
    const auto socket = openListenSocket(u"127.0.0.1"_s, 0); // a port that is free now
    QVERIFY(socket);
    ::close(socket->fd);
    options.port = socket->port;
    Router router;
    HttpServer server(options, router, nobody);
    const auto listening = server.listen();
    QVERIFY(!listening);
    QCOMPARE(listening.error().code, u"tls_files"_s);
    QVERIFY2(listening.error().text.contains(u"http.tls_"_s), qPrintable(listening.error().text));
    QTcpServer next;
    QVERIFY2(next.listen(QHostAddress::LocalHost, socket->port), "the failed server still holds the port");
}

QTEST_GUILESS_MAIN(TestHttpListen)
#include "tst_httplisten.moc"
