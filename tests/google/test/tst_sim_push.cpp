// SPDX-License-Identifier: Apache-2.0
#include "google/httpfront.h"
#include "google/oauth/jwt.h"
#include "google/push/notification.h"
#include "simbench.h"

#include <QtTest/QTest>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

const QJsonObject watchBody{{u"topicName"_s, u"projects/sim-project/topics/gmail"_s}};

QByteArray fromUrl64(const QString &text)
{
    return QByteArray::fromBase64(text.toLatin1(), QByteArray::Base64UrlEncoding);
}

/// Verifies with nothing but what a reader of the published keys has.
bool verifies(const QJsonObject &key, const Jwt &jwt)
{
    const QByteArray n = fromUrl64(key[u"n"].toString());
    const QByteArray e = fromUrl64(key[u"e"].toString());
    const auto number = [](const QByteArray &bytes) {
        return BN_bin2bn(reinterpret_cast<const unsigned char *>(bytes.constData()), int(bytes.size()),
                         nullptr);
    };
    BIGNUM *modulus = number(n);
    BIGNUM *exponent = number(e);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus);
    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent);
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
    EVP_PKEY *made = nullptr;
    EVP_PKEY_fromdata_init(maker);
    EVP_PKEY_fromdata(maker, &made, EVP_PKEY_PUBLIC_KEY, params);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, made);
    const int good = EVP_DigestVerify(
        context, reinterpret_cast<const unsigned char *>(jwt.signature.constData()),
        size_t(jwt.signature.size()), reinterpret_cast<const unsigned char *>(jwt.signedText.constData()),
        size_t(jwt.signedText.size()));
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(made);
    EVP_PKEY_CTX_free(maker);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    BN_free(exponent);
    BN_free(modulus);
    return good == 1;
}

} // namespace

/// Pushes over real sockets to an endpoint of the test's own.
class TestSimPush : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void shapes_data();
    void shapes();
    void eachWatchPushesOnce();
    void eachMailPushesOnce();
    void nothingWithoutWatchOrAddress();
    void tokensVerifyWithThePublishedKeys();
    void withoutServiceAccountNoToken();
    void noPush_data();
    void noPush();
    void isSentAgainUntilAcknowledged();
    void nobodyListens();
    void badSettings_data();
    void badSettings();

private:
    QJsonObject totals()
    {
        return SimBench::json(m_bench->call("GET", u"/sim/state?accounts=0"_s))[u"totals"].toObject();
    }
    void watch() { QCOMPARE(m_bench->gmail("POST", u"watch"_s, watchBody).status, 200); }

    std::unique_ptr<SimBench> m_bench;
    std::unique_ptr<HttpFront> m_endpoint;
    QList<Call> m_pushed;
    QList<int> m_statuses; ///< of the next answers; then 204
};

void TestSimPush::init()
{
    m_pushed.clear();
    m_statuses.clear();
    m_bench = std::make_unique<SimBench>(
        QJsonObject{{u"emails"_s, QJsonArray{u"a@example.com"_s, u"b@example.com"_s}}});
    m_endpoint = std::make_unique<HttpFront>([this](const Call &call) {
        m_pushed.append(call);
        return Answer::empty(m_statuses.isEmpty() ? 204 : m_statuses.takeFirst());
    });
    QVERIFY(m_endpoint->listen(QHostAddress::LocalHost, 0).isEmpty());
    m_bench->control("settings",
                     {{u"push_url"_s, m_endpoint->url() + u"/pubsub/push"_s},
                      {u"push_token_audience"_s, u"https://tk.example/push"_s},
                      {u"push_service_account"_s, u"push@sim-project.iam.gserviceaccount.com"_s},
                      {u"push_retry_ms"_s, 5}});
}

void TestSimPush::cleanup()
{
    m_bench.reset();
    m_endpoint.reset();
}

void TestSimPush::shapes_data()
{
    QTest::addColumn<QString>("shape");
    QTest::addColumn<QByteArray>("body");
    QTest::newRow("wire")
        << u"wire"_s
        << QByteArray(
               R"({"message":{"data":"eyJlbWFpbEFkZHJlc3MiOiJhQGIuY29tIiwiaGlzdG9yeUlkIjo3fQ==","messageId":"12","message_id":"12",)"
               R"("publishTime":"2027-01-15T08:00:00.000Z","publish_time":"2027-01-15T08:00:00.000Z"},"subscription":"projects/p/subscriptions/s"})");
    QTest::newRow("guide")
        << u"guide"_s
        << QByteArray(
               R"({"message":{"data":"eyJlbWFpbEFkZHJlc3MiOiJhQGIuY29tIiwiaGlzdG9yeUlkIjoiNyJ9","messageId":"12",)"
               R"("publishTime":"2027-01-15T08:00:00.000Z"},"subscription":"projects/p/subscriptions/s"})");
}

void TestSimPush::shapes()
{
    QFETCH(QString, shape);
    QFETCH(QByteArray, body);
    QCOMPARE(bodyOf({u"a@b.com"_s, 7, u"12"_s, 1'800'000'000'000, u"projects/p/subscriptions/s"_s}, shape),
             body);
}

void TestSimPush::eachWatchPushesOnce()
{
    watch();
    QTRY_COMPARE(m_pushed.size(), 1);
    const Call push = m_pushed.constFirst();
    QCOMPARE(push.method, "POST");
    QCOMPARE(push.path, u"/pubsub/push"_s);
    QCOMPARE(push.headers.value("content-type"), "application/json");
    const QJsonObject body = QJsonDocument::fromJson(push.body).object();
    const QByteArray data = QByteArray::fromBase64(body[u"message"][u"data"].toString().toLatin1());
    const QJsonObject said = QJsonDocument::fromJson(data).object();
    QCOMPARE(said[u"emailAddress"].toString(), u"a@example.com"_s);
    QCOMPARE(QString::number(said[u"historyId"].toInteger()), m_bench->account()[u"history_id"].toString());
    QTRY_COMPARE(totals()[u"pushes_acknowledged"].toInt(), 1);
    watch();
    QTRY_COMPARE(m_pushed.size(), 2);
    QTRY_COMPARE(m_bench->account()[u"pushes_acknowledged"].toInt(), 2);
    m_bench->control("faults", {{u"kind"_s, u"topic_forbidden"_s}});
    m_bench->gmail("POST", u"watch"_s, watchBody); // refused: no push
    QTest::qWait(50);
    QCOMPARE(totals()[u"pushes_sent"].toInt(), 2);
}

void TestSimPush::eachMailPushesOnce()
{
    watch();
    m_bench->control("mail", {{u"email"_s, u"a@example.com"_s}, {u"count"_s, 3}});
    m_bench->control("mail", {{u"email"_s, u"b@example.com"_s}}); // nobody watches it
    m_bench->gmail("POST", u"messages"_s,
                   {{u"raw"_s, QString::fromLatin1(QByteArray("Subject: x\r\n\r\ny").toBase64())}});
    QTRY_COMPARE(totals()[u"pushes_acknowledged"].toInt(), 5);
    QTest::qWait(20);
    QCOMPARE(m_pushed.size(), 5);
}

void TestSimPush::nothingWithoutWatchOrAddress()
{
    m_bench->control("mail", {{u"email"_s, u"a@example.com"_s}});
    m_bench->control("settings", {{u"push_url"_s, QString()}});
    watch();
    QTest::qWait(50);
    QCOMPARE(m_pushed.size(), 0);
    QCOMPARE(totals()[u"pushes_sent"].toInt(), 0);
}

void TestSimPush::tokensVerifyWithThePublishedKeys()
{
    watch();
    QTRY_COMPARE(m_pushed.size(), 1);
    const QByteArray authorization = m_pushed.constFirst().headers.value("authorization");
    QVERIFY(authorization.startsWith("Bearer "));
    const auto jwt = Jwt::parse(authorization.mid(7));
    QVERIFY(jwt);
    const Answer keys = m_bench->call("GET", u"/oauth2/v3/certs"_s);
    QCOMPARE(keys.status, 200);
    QVERIFY(std::any_of(keys.headers.begin(), keys.headers.end(),
                        [](const auto &header) { return header.first == "Cache-Control"; }));
    const QJsonObject key = SimBench::json(keys)[u"keys"][0].toObject();
    QCOMPARE(jwt->header[u"alg"].toString(), u"RS256"_s);
    QCOMPARE(jwt->header[u"kid"], key[u"kid"]);
    QVERIFY(verifies(key, *jwt));
    Jwt changed = *jwt;
    changed.signedText += 'x';
    QVERIFY(!verifies(key, changed));
    QCOMPARE(jwt->claims[u"iss"].toString(), u"https://accounts.google.com"_s);
    QCOMPARE(jwt->claims[u"aud"].toString(), u"https://tk.example/push"_s);
    QCOMPARE(jwt->claims[u"email"].toString(), u"push@sim-project.iam.gserviceaccount.com"_s);
    QVERIFY(jwt->claims[u"email_verified"].toBool());
    const qint64 nowS = m_bench->sim.clock.wallMs() / 1000;
    QCOMPARE(jwt->claims[u"iat"].toInteger(), nowS);
    QCOMPARE(jwt->claims[u"exp"].toInteger(), nowS + 3600);

    m_bench->advanceMs(3'299'000);
    watch();
    QTRY_COMPARE(m_pushed.size(), 2);
    QCOMPARE(m_pushed[1].headers.value("authorization"), authorization); // used again …
    m_bench->advanceMs(1'000);
    watch();
    QTRY_COMPARE(m_pushed.size(), 3);
    QVERIFY(m_pushed[2].headers.value("authorization") != authorization); // … while enough of it is left
}

void TestSimPush::withoutServiceAccountNoToken()
{
    m_bench->control("settings", {{u"push_service_account"_s, QString()}});
    watch();
    QTRY_COMPARE(m_pushed.size(), 1);
    QVERIFY(!m_pushed.constFirst().headers.contains("authorization"));
}

void TestSimPush::noPush_data()
{
    QTest::addColumn<QJsonObject>("fault");
    QTest::addColumn<int>("pushes");
    QTest::newRow("everybody's") << QJsonObject{{u"kind"_s, u"no_push"_s}} << 0;
    QTest::newRow("this account's") << QJsonObject{{u"kind"_s, u"no_push"_s},
                                                   {u"account"_s, u"a@example.com"_s}}
                                    << 0;
    QTest::newRow("another account's")
        << QJsonObject{{u"kind"_s, u"no_push"_s}, {u"account"_s, u"b@example.com"_s}} << 1;
    QTest::newRow("of a topic") << QJsonObject{{u"kind"_s, u"no_push"_s},
                                               {u"topic"_s, u"projects/sim-project/topics/gmail"_s}}
                                << 0;
}

/// The watch succeeds all the same: that is what makes it dangerous.
void TestSimPush::noPush()
{
    QFETCH(QJsonObject, fault);
    QFETCH(int, pushes);
    m_bench->control("faults", fault);
    watch();
    QTRY_COMPARE(totals()[u"pushes_acknowledged"].toInt(), pushes);
    QTest::qWait(20);
    QCOMPARE(m_pushed.size(), pushes);
    QCOMPARE(totals()[u"pushes_suppressed"].toInt(), 1 - pushes);
    QVERIFY(m_bench->account()[u"watch"].isObject());
}

void TestSimPush::isSentAgainUntilAcknowledged()
{
    m_statuses = {503, 403, 404};
    watch();
    QTRY_COMPARE(totals()[u"pushes_acknowledged"].toInt(), 1);
    QCOMPARE(m_pushed.size(), 4);
    for (const Call &push : std::as_const(m_pushed))
        QCOMPARE(push.body, m_pushed.constFirst().body); // the same message, not a new one
    QCOMPARE(totals()[u"pushes_refused"].toInt(), 3);
    QCOMPARE(totals()[u"push_refusals_by_status"].toObject(),
             (QJsonObject{{u"403"_s, 1}, {u"404"_s, 1}, {u"503"_s, 1}}));
    QTest::qWait(50);
    QCOMPARE(m_pushed.size(), 4);
}

void TestSimPush::nobodyListens()
{
    m_endpoint.reset();
    watch();
    QTRY_VERIFY(totals()[u"push_refusals_by_status"][u"0"].toInt() >= 2);
    QCOMPARE(totals()[u"pushes_acknowledged"].toInt(), 0);
}

void TestSimPush::badSettings_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("value");
    QTest::newRow("scheme") << u"push_url"_s << u"ftp://example.com/"_s;
    QTest::newRow("no host") << u"push_url"_s << u"http:///push"_s;
    QTest::newRow("shape") << u"push_shape"_s << u"round"_s;
}

void TestSimPush::badSettings()
{
    QFETCH(QString, name);
    QFETCH(QString, value);
    const QJsonObject before = m_bench->sim.world.settings.toJson();
    const QString error = m_bench->control("settings", {{name, value}})[u"error"].toString();
    QVERIFY2(error.contains(name), qPrintable(error));
    QCOMPARE(m_bench->sim.world.settings.toJson(), before);
}

QTEST_GUILESS_MAIN(TestSimPush)
#include "tst_sim_push.moc"
