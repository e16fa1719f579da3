// SPDX-License-Identifier: Apache-2.0
// Which tokens of Pub/Sub pushes are believed, and how often Google is asked for its keys.
#include "oauth/pushtoken.h"
#include "support/fakeclock.h"
#include "support/localhttp.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;
using tidekeeper::test::LocalHttp;

namespace {

constexpr qint64 nowS = 1'800'000'000;
constexpr auto url64 = QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals;

QByteArray json(const QJsonObject &object)
{
    return QJsonDocument(object).toJson(QJsonDocument::Compact);
}

/// A key of the test's own, as Google would publish and use it.
class Key {
public:
    explicit Key(unsigned bits = 2048) : m_key(EVP_RSA_gen(bits), &EVP_PKEY_free) { }

    QByteArray pem() const
    {
        BIO *bio = BIO_new(BIO_s_mem());
        PEM_write_bio_PrivateKey(bio, m_key.get(), nullptr, nullptr, 0, nullptr, nullptr);
        char *data = nullptr;
        const long size = BIO_get_mem_data(bio, &data);
        const QByteArray pem(data, size);
        BIO_free(bio);
        return pem;
    }
    QJsonObject published(const QString &id) const
    {
        return {{u"kty"_s, u"RSA"_s},
                {u"use"_s, u"sig"_s},
                {u"alg"_s, u"RS256"_s},
                {u"kid"_s, id},
                {u"n"_s, number(OSSL_PKEY_PARAM_RSA_N)},
                {u"e"_s, number(OSSL_PKEY_PARAM_RSA_E)}};
    }

private:
    QString number(const char *name) const
    {
        BIGNUM *value = nullptr;
        EVP_PKEY_get_bn_param(m_key.get(), name, &value);
        QByteArray bytes(BN_num_bytes(value), 0);
        BN_bn2bin(value, reinterpret_cast<unsigned char *>(bytes.data()));
        BN_free(value);
        return QString::fromLatin1(bytes.toBase64(url64));
    }

    std::shared_ptr<EVP_PKEY> m_key;
};

QJsonObject goodHeader()
{
    return {{u"alg"_s, u"RS256"_s}, {u"kid"_s, u"k1"_s}, {u"typ"_s, u"JWT"_s}};
}

QJsonObject goodClaims()
{
    return {{u"iss"_s, u"https://accounts.google.com"_s},
            {u"aud"_s, u"https://tk.example/push"_s},
            {u"email"_s, u"push@p.iam.gserviceaccount.com"_s},
            {u"email_verified"_s, true},
            {u"sub"_s, u"113774264463038321964"_s},
            {u"iat"_s, nowS - 10},
            {u"exp"_s, nowS + 3590}};
}

QByteArray tokenOf(const Key &key, const QJsonObject &header, const QJsonObject &claims)
{
    const QByteArray text = json(header).toBase64(url64) + '.' + json(claims).toBase64(url64);
    return text + '.' + signedRs256(text, key.pem())->toBase64(url64);
}

} // namespace

class TestPushToken : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void tokens_data();
    void tokens();
    void madeUpTokensAskNobodyForKeys();
    void keysAreKeptAsLongAsTheyHold();
    void aNewKeyIsFetchedOnceInTenSeconds();
    void manyWaitForOneRequest();
    void withoutKeysNothingIsSaid();
    void keptKeysOutliveAnOutage();
    void keySets_data();
    void keySets();
    void lifetimes_data();
    void lifetimes();

private:
    QString reasonOf(const QByteArray &token);
    void publish(const QJsonArray &keys, const QByteArray &cacheControl = "public, max-age=20000");

    Key m_key;
    Key m_otherKey;
    test::FakeClock m_clock{nowS * 1000};
    std::unique_ptr<LocalHttp> m_google;
    std::unique_ptr<net::HttpClient> m_http;
    std::unique_ptr<SigningKeys> m_keys;
    std::unique_ptr<PushTokens> m_tokens;
};

void TestPushToken::init()
{
    m_clock.step(nowS * 1000 - m_clock.nowMs());
    m_google = std::make_unique<LocalHttp>();
    m_http = std::make_unique<net::HttpClient>();
    m_keys = std::make_unique<SigningKeys>(*m_http, QUrl(m_google->url() + u"/certs"_s), m_clock);
    m_tokens = std::make_unique<PushTokens>(
        *m_keys, PushSender{u"https://tk.example/push"_s, u"push@p.iam.gserviceaccount.com"_s}, m_clock);
    publish({m_key.published(u"k1"_s)});
}

void TestPushToken::publish(const QJsonArray &keys, const QByteArray &cacheControl)
{
    const QByteArray answer =
        LocalHttp::answer(200, json({{u"keys"_s, keys}}), "Cache-Control: " + cacheControl + "\r\n").bytes;
    m_google->setScript([answer](const LocalHttp::Request &) { return LocalHttp::Answer{answer}; });
}

/// Empty when the token is believed; "keys_unavailable" when nothing can be said.
QString TestPushToken::reasonOf(const QByteArray &token)
{
    const Result<> checked = QCoro::waitFor(m_tokens->check(token));
    if (checked)
        return {};
    return checked.error().code == "push_token_refused"_L1 ? checked.error().details["reason"_L1].toString()
                                                           : checked.error().code;
}

void TestPushToken::tokens_data()
{
    QTest::addColumn<QByteArray>("token");
    QTest::addColumn<QString>("reason");
    const QByteArray good = tokenOf(m_key, goodHeader(), goodClaims());
    QTest::newRow("good") << good << QString();

    const auto claim = [&](const char *row, const QString &name, const QJsonValue &value,
                           const QString &reason) {
        QJsonObject claims = goodClaims();
        claims[name] = value;
        QTest::newRow(row) << tokenOf(m_key, goodHeader(), claims) << reason;
    };
    claim("issuer without scheme", u"iss"_s, u"accounts.google.com"_s, {});
    claim("other issuer", u"iss"_s, u"https://accounts.google.com.evil.example"_s, u"issuer"_s);
    claim("no issuer", u"iss"_s, QJsonValue::Undefined, u"issuer"_s);
    claim("other audience", u"aud"_s, u"https://tk.example/push/"_s, u"audience"_s);
    claim("no audience", u"aud"_s, QJsonValue::Undefined, u"audience"_s);
    claim("other account", u"email"_s, u"evil@p.iam.gserviceaccount.com"_s, u"account"_s);
    claim("not verified", u"email_verified"_s, false, u"account"_s);
    claim("verified as a text", u"email_verified"_s, u"true"_s, u"account"_s);
    claim("just expired, within the leeway", u"exp"_s, nowS - 59, {});
    claim("expired", u"exp"_s, nowS - 60, u"expired"_s);
    claim("never expires", u"exp"_s, QJsonValue::Undefined, u"expired"_s);
    claim("from ahead, within the leeway", u"iat"_s, nowS + 60, {});
    claim("not yet", u"iat"_s, nowS + 61, u"not_yet"_s);
    claim("issued at no time", u"iat"_s, u"now"_s, u"not_yet"_s);

    const auto header = [&](const char *row, const QString &name, const QJsonValue &value,
                            const QString &reason) {
        QJsonObject changed = goodHeader();
        changed[name] = value;
        QTest::newRow(row) << tokenOf(m_key, changed, goodClaims()) << reason;
    };
    header("alg none", u"alg"_s, u"none"_s, u"algorithm"_s);
    header("other alg", u"alg"_s, u"RS512"_s, u"algorithm"_s);
    header("no alg", u"alg"_s, QJsonValue::Undefined, u"algorithm"_s);
    header("unknown key", u"kid"_s, u"k2"_s, u"unknown_key"_s);
    header("no key id", u"kid"_s, QJsonValue::Undefined, u"unknown_key"_s);

    QTest::newRow("wrong key") << tokenOf(m_otherKey, goodHeader(), goodClaims()) << u"signature"_s;
    const QList<QByteArray> parts = good.split('.');
    QTest::newRow("unsigned") << parts[0] + '.' + parts[1] + '.' << u"malformed"_s;
    QJsonObject raised = goodClaims();
    raised[u"sub"_s] = u"1"_s;
    QTest::newRow("claims changed afterwards")
        << parts[0] + '.' + json(raised).toBase64(url64) + '.' + parts[2] << u"signature"_s;
    QTest::newRow("signature cut") << good.chopped(4) << u"signature"_s;

    // The public key as the secret of an HMAC: believed by whoever lets the token choose.
    QJsonObject hs256 = goodHeader();
    hs256[u"alg"_s] = u"HS256"_s;
    const QByteArray text = json(hs256).toBase64(url64) + '.' + json(goodClaims()).toBase64(url64);
    const QByteArray secret = json(m_key.published(u"k1"_s));
    QByteArray mac(32, 0);
    HMAC(EVP_sha256(), secret.constData(), int(secret.size()),
         reinterpret_cast<const unsigned char *>(text.constData()), size_t(text.size()),
         reinterpret_cast<unsigned char *>(mac.data()), nullptr);
    QTest::newRow("HS256") << text + '.' + mac.toBase64(url64) << u"algorithm"_s;

    QTest::newRow("empty") << QByteArray() << u"malformed"_s;
    QTest::newRow("garbage") << QByteArray("ya29.a0AfH6SMB") << u"malformed"_s;
    QTest::newRow("two dots") << QByteArray("..") << u"malformed"_s;
    QTest::newRow("four parts") << good + ".x" << u"malformed"_s;
    QTest::newRow("not base64url") << "!" + good << u"malformed"_s;
    QTest::newRow("claims are a list")
        << parts[0] + '.' + QByteArray("[]").toBase64(url64) + '.' + parts[2] << u"malformed"_s;
    QTest::newRow("huge") << good + QByteArray(9'000, 'A') << u"malformed"_s;
}

void TestPushToken::tokens()
{
    QFETCH(QByteArray, token);
    QFETCH(QString, reason);
    QCOMPARE(reasonOf(token), reason);
}

void TestPushToken::madeUpTokensAskNobodyForKeys()
{
    QJsonObject claims = goodClaims();
    claims[u"aud"_s] = u"elsewhere"_s;
    QCOMPARE(reasonOf(tokenOf(m_otherKey, goodHeader(), claims)), u"audience"_s);
    QCOMPARE(m_google->requests().size(), 0);
}

void TestPushToken::keysAreKeptAsLongAsTheyHold()
{
    const auto token = [this] {
        QJsonObject claims = goodClaims();
        claims[u"exp"_s] = m_clock.nowMs() / 1000 + 60;
        return tokenOf(m_key, goodHeader(), claims);
    };
    QCOMPARE(reasonOf(token()), QString());
    QCOMPARE(reasonOf(token()), QString());
    m_clock.advance(19'999'000);
    QCOMPARE(reasonOf(token()), QString());
    QCOMPARE(m_google->requests().size(), 1);
    QCOMPARE(m_google->requests().constFirst().path, "/certs");
    m_clock.advance(1'000);
    QCOMPARE(reasonOf(token()), QString());
    QCOMPARE(m_google->requests().size(), 2);
}

void TestPushToken::aNewKeyIsFetchedOnceInTenSeconds()
{
    QCOMPARE(reasonOf(tokenOf(m_key, goodHeader(), goodClaims())), QString());
    publish({m_key.published(u"k1"_s), m_otherKey.published(u"k2"_s)});
    QJsonObject header = goodHeader();
    header[u"kid"_s] = u"k2"_s;
    const QByteArray withNewKey = tokenOf(m_otherKey, header, goodClaims());
    m_clock.advance(9'999);
    QCOMPARE(reasonOf(withNewKey), u"unknown_key"_s);
    QCOMPARE(m_google->requests().size(), 1);
    m_clock.advance(1);
    QCOMPARE(reasonOf(withNewKey), QString());
    QCOMPARE(m_google->requests().size(), 2);
}

void TestPushToken::manyWaitForOneRequest()
{
    const QByteArray good = tokenOf(m_key, goodHeader(), goodClaims());
    std::vector<QCoro::Task<Result<>>> checks;
    for (int i = 0; i < 20; ++i)
        checks.push_back(m_tokens->check(good));
    for (QCoro::Task<Result<>> &check : checks)
        QVERIFY(QCoro::waitFor(check));
    QCOMPARE(m_google->requests().size(), 1);
}

void TestPushToken::withoutKeysNothingIsSaid()
{
    const QByteArray good = tokenOf(m_key, goodHeader(), goodClaims());
    m_google->setScript([](const LocalHttp::Request &) { return LocalHttp::answer(503, "later"); });
    QCOMPARE(reasonOf(good), u"keys_unavailable"_s);
    QCOMPARE(reasonOf(good), u"keys_unavailable"_s);
    QCOMPARE(m_google->requests().size(), 1); // not hammered while it is down
    publish({m_key.published(u"k1"_s)});
    m_clock.advance(10'000);
    QCOMPARE(reasonOf(good), QString());
}

void TestPushToken::keptKeysOutliveAnOutage()
{
    QCOMPARE(reasonOf(tokenOf(m_key, goodHeader(), goodClaims())), QString());
    m_google->setScript([](const LocalHttp::Request &) { return LocalHttp::answer(500, "oops"); });
    QJsonObject claims = goodClaims();
    claims[u"exp"_s] = nowS + 100'000;
    const QByteArray longLived = tokenOf(m_key, goodHeader(), claims);
    m_clock.advance(SigningKeys::longestUseMs - 1);
    QCOMPARE(reasonOf(longLived), QString());
    m_clock.advance(1);
    QCOMPARE(reasonOf(longLived), u"keys_unavailable"_s);
}

void TestPushToken::keySets_data()
{
    QTest::addColumn<QByteArray>("jwks");
    QTest::addColumn<QStringList>("ids");
    const auto changed = [this](const QString &name, const QJsonValue &value) {
        QJsonObject key = m_key.published(u"a"_s);
        key[name] = value;
        return json({{u"keys"_s, QJsonArray{key, m_otherKey.published(u"b"_s)}}});
    };
    QTest::newRow("two") << changed(u"x5c"_s, u"ignored"_s) << QStringList{u"a"_s, u"b"_s};
    QTest::newRow("use and alg left out")
        << changed(u"use"_s, QJsonValue::Undefined) << QStringList{u"a"_s, u"b"_s};
    QTest::newRow("for encryption") << changed(u"use"_s, u"enc"_s) << QStringList{u"b"_s};
    QTest::newRow("other algorithm") << changed(u"alg"_s, u"RS512"_s) << QStringList{u"b"_s};
    QTest::newRow("elliptic") << changed(u"kty"_s, u"EC"_s) << QStringList{u"b"_s};
    QTest::newRow("nameless") << changed(u"kid"_s, QJsonValue::Undefined) << QStringList{u"b"_s};
    QTest::newRow("no modulus") << changed(u"n"_s, QJsonValue::Undefined) << QStringList{u"b"_s};
    QTest::newRow("a text") << changed(u"n"_s, u"%%%"_s) << QStringList{u"b"_s};
    QTest::newRow("short key") << changed(u"n"_s, Key(1024).published(u"x"_s)["n"_L1]) << QStringList{u"b"_s};
    QTest::newRow("huge key") << changed(u"n"_s, QString(2'000, u'A')) << QStringList{u"b"_s};
    QTest::newRow("no keys") << QByteArray("{}") << QStringList();
    QTest::newRow("no JSON") << QByteArray("<html>") << QStringList();
}

void TestPushToken::keySets()
{
    QFETCH(QByteArray, jwks);
    QFETCH(QStringList, ids);
    QStringList found = keysFrom(jwks).keys();
    found.sort();
    QCOMPARE(found, ids);
}

void TestPushToken::lifetimes_data()
{
    QTest::addColumn<QByteArray>("header");
    QTest::addColumn<qint64>("ms");
    QTest::newRow("as Google's") << QByteArray("public, max-age=21154, must-revalidate, no-transform")
                                 << qint64(21'154'000);
    QTest::newRow("capitals") << QByteArray("Max-Age=600") << qint64(600'000);
    QTest::newRow("too short") << QByteArray("max-age=0") << qint64(300'000);
    QTest::newRow("too long") << QByteArray("max-age=999999") << qint64(86'400'000);
    QTest::newRow("another's age") << QByteArray("s-max-age=7200") << qint64(300'000);
    QTest::newRow("no number") << QByteArray("max-age=99999999999999999999") << qint64(300'000);
    QTest::newRow("none") << QByteArray() << qint64(300'000);
}

void TestPushToken::lifetimes()
{
    QFETCH(QByteArray, header);
    QFETCH(qint64, ms);
    QCOMPARE(lifetimeMs(header), ms);
}

QTEST_GUILESS_MAIN(TestPushToken)
#include "tst_pushtoken.moc"
