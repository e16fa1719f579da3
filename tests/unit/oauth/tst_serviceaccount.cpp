// SPDX-License-Identifier: Apache-2.0
#include "oauth/serviceaccount.h"

#include <QtCore/QFile>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

#include <openssl/evp.h>
#include <openssl/pem.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;

namespace {

constexpr qint64 now = 1'800'000'000'000;

QByteArray pemOf(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    char *data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    const QByteArray pem(data, size);
    BIO_free(bio);
    return pem;
}

QByteArray decoded(const QByteArray &part)
{
    return QByteArray::fromBase64(part, QByteArray::Base64UrlEncoding);
}

} // namespace

class TestServiceAccount : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { m_key = EVP_RSA_gen(2048); }
    void cleanupTestCase() { EVP_PKEY_free(m_key); }

    void claims_data();
    void claims();
    void signatureVerifies();
    void keyFiles_data();
    void keyFiles();
    void brokenKeys_data();
    void brokenKeys();

private:
    EVP_PKEY *m_key = nullptr;
};

void TestServiceAccount::claims_data()
{
    QTest::addColumn<QString>("subject");
    QTest::addColumn<QString>("keyId");
    QTest::newRow("service account") << QString() << u"kid1"_s;
    QTest::newRow("acting for a user") << u"user@example.com"_s << QString();
}

void TestServiceAccount::claims()
{
    QFETCH(QString, subject);
    QFETCH(QString, keyId);
    const ServiceAccountKey key{u"robot@p.iam.gserviceaccount.com"_s, keyId, u"p"_s, pemOf(m_key)};
    const Result<QByteArray> assertion = signedAssertion(key, u"scope-a scope-b"_s, subject, now);
    QVERIFY(assertion.has_value());
    const QList<QByteArray> parts = assertion->split('.');
    QCOMPARE(parts.size(), 3);
    const QJsonObject header = QJsonDocument::fromJson(decoded(parts[0])).object();
    QCOMPARE(header.value("alg"_L1).toString(), u"RS256"_s);
    QCOMPARE(header.value("kid"_L1).toString(), keyId);
    const QJsonObject claims = QJsonDocument::fromJson(decoded(parts[1])).object();
    QCOMPARE(claims.value("iss"_L1).toString(), key.email);
    QCOMPARE(claims.value("scope"_L1).toString(), u"scope-a scope-b"_s);
    // Google's clients write this whatever address they post to.
    QCOMPARE(claims.value("aud"_L1).toString(), u"https://oauth2.googleapis.com/token"_s);
    QCOMPARE(claims.value("sub"_L1).toString(), subject);
    const qint64 issuedAt = claims.value("iat"_L1).toInteger();
    QVERIFY(issuedAt < now / 1000 && issuedAt >= now / 1000 - 60);
    QCOMPARE(claims.value("exp"_L1).toInteger(), issuedAt + 3600);
}

void TestServiceAccount::signatureVerifies()
{
    const ServiceAccountKey key{u"r@p"_s, {}, {}, pemOf(m_key)};
    const QByteArray assertion = *signedAssertion(key, u"s"_s, {}, now);
    const qsizetype dot = assertion.lastIndexOf('.');
    const QByteArray signature = decoded(assertion.mid(dot + 1));
    const auto verifies = [&](const QByteArray &text) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, m_key);
        const int result = EVP_DigestVerify(
            context, reinterpret_cast<const unsigned char *>(signature.constData()),
            static_cast<size_t>(signature.size()), reinterpret_cast<const unsigned char *>(text.constData()),
            static_cast<size_t>(text.size()));
        EVP_MD_CTX_free(context);
        return result == 1;
    };
    QVERIFY(verifies(assertion.left(dot)));
    QVERIFY(!verifies(assertion.left(dot) + 'x'));
    QVERIFY(!assertion.contains('=') && !assertion.contains('+') && !assertion.contains('/'));
}

void TestServiceAccount::keyFiles_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<bool>("good");
    QTest::newRow("as the console gives it") << QByteArray(
        R"({"type":"service_account","project_id":"p","client_email":"r@p","private_key":"PEM"})")
                                             << true;
    QTest::newRow("without key") << QByteArray(R"({"client_email":"r@p"})") << false;
    QTest::newRow("without address") << QByteArray(R"({"private_key":"PEM"})") << false;
    QTest::newRow("no JSON") << QByteArray("PEM") << false;
    QTest::newRow("empty") << QByteArray() << false;
}

void TestServiceAccount::keyFiles()
{
    QFETCH(QByteArray, content);
    QFETCH(bool, good);
    const QTemporaryDir folder;
    QFile file(folder.filePath(u"key.json"_s));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(content);
    file.close();
    const Result<ServiceAccountKey> key = loadServiceAccountKey(file.fileName());
    QCOMPARE(key.has_value(), good);
    if (!key)
        QVERIFY(key.error().text.contains(file.fileName()));
    QVERIFY(!loadServiceAccountKey(folder.filePath(u"missing"_s)).has_value());
}

void TestServiceAccount::brokenKeys_data()
{
    QTest::addColumn<QByteArray>("pem");
    EVP_PKEY *ec = EVP_EC_gen("P-256");
    QTest::newRow("no PEM") << QByteArray("PEM");
    QTest::newRow("not RSA") << pemOf(ec);
    QTest::newRow("cut") << pemOf(m_key).left(200);
    EVP_PKEY_free(ec);
}

void TestServiceAccount::brokenKeys()
{
    QFETCH(QByteArray, pem);
    const Result<QByteArray> assertion = signedAssertion({u"r@p"_s, {}, {}, pem}, u"s"_s, {}, now);
    QVERIFY(!assertion.has_value());
    QCOMPARE(assertion.error().code, u"service_account_key"_s);
}

QTEST_APPLESS_MAIN(TestServiceAccount)
#include "tst_serviceaccount.moc"
