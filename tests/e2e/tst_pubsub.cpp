// SPDX-License-Identifier: Apache-2.0
#include "product.h"
#include "support/localhttp.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::LocalHttp;
using test::Product;

namespace {

constexpr int patienceMs = 30'000;
const QString audience = u"https://tidekeeper.example/push"_s;
const QString serviceAccount = u"push@sim-project.iam.gserviceaccount.com"_s;

} // namespace

/// Google pushes straight to the engine, with real processes and real tokens.
class TestPubsub : public QObject {
    Q_OBJECT

private:
    QJsonObject pushTotals(const QString &name) { return m_product.googleTotals()[name].toObject(); }
    int total(const QString &name) { return m_product.googleTotals()[name].toInt(); }
    bool configureGoogle(const QJsonObject &settings)
    {
        return m_product.googlePost(u"/sim/settings"_s, settings).good();
    }
    int statusOf(const QByteArray &body, const QByteArray &token)
    {
        demo::JsonClient client(m_product.engineUrl, token);
        return QCoro::waitFor(client.post(u"/pubsub/push"_s, body, "application/json")).status;
    }
    /// One push as Google sent it, to an endpoint of the test's own.
    LocalHttp::Request captured()
    {
        LocalHttp endpoint([](const LocalHttp::Request &) { return LocalHttp::answer(204, {}); });
        configureGoogle({{u"push_url"_s, endpoint.url()}});
        m_product.googlePost(u"/sim/mail"_s, {{u"email"_s, u"user-1@example.com"_s}});
        if (!QTest::qWaitFor([&] { return !endpoint.requests().isEmpty(); }, patienceMs))
            qFatal("Google pushed nothing");
        const LocalHttp::Request request = endpoint.requests().constFirst();
        QTest::qWait(50); // the acknowledgement leaves
        configureGoogle({{u"push_url"_s, m_product.engineUrl + u"/pubsub/push"_s}});
        return request;
    }

    Product m_product;

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_product.startGoogle());
        const QByteArray config = "[push]\naudience = \"" + audience.toUtf8() + "\"\nservice_account = \""
            + serviceAccount.toUtf8() + "\"\ncerts_url = \"" + m_product.googleUrl.toUtf8()
            + "/oauth2/v3/certs\"\n";
        QVERIFY2(m_product.startEngine(config), m_product.engine->log().constData());
        QVERIFY(configureGoogle({{u"push_url"_s, m_product.engineUrl + u"/pubsub/push"_s},
                                 {u"push_token_audience"_s, audience},
                                 {u"push_service_account"_s, serviceAccount},
                                 {u"push_retry_ms"_s, 100}}));
        QVERIFY(m_product.importAccounts(3));
    }

    /// A push may even overtake the answer to the watch that caused it.
    void renewalsAreProven()
    {
        QVERIFY(Product::eventually(patienceMs, [&] { return total(u"pushes_acknowledged"_s) == 3; }));
        QCOMPARE(total(u"watches"_s), 3);
        QCOMPARE(total(u"pushes_refused"_s), 0);
        QVERIFY(Product::eventually(patienceMs, [&] {
            const QJsonObject account = m_product.engineGet(u"/api/v1/accounts/user-1"_s).body;
            return account["push"_L1]["state"_L1].toString() == "proven"_L1;
        }));
    }

    void bothShapesAreRead()
    {
        QVERIFY(configureGoogle({{u"push_shape"_s, u"guide"_s}}));
        QVERIFY(m_product.googlePost(u"/sim/mail"_s, {{u"email"_s, u"user-2@example.com"_s}}).good());
        QVERIFY(Product::eventually(patienceMs, [&] { return total(u"pushes_acknowledged"_s) == 4; }));
        QCOMPARE(total(u"pushes_refused"_s), 0);
    }

    /// What another subscription's service account sends waits at Google until the configuration agrees.
    void anotherSenderIsRefused()
    {
        QVERIFY(
            configureGoogle({{u"push_service_account"_s, u"other@sim-project.iam.gserviceaccount.com"_s}}));
        QVERIFY(m_product.googlePost(u"/sim/mail"_s, {{u"email"_s, u"user-3@example.com"_s}}).good());
        QVERIFY(Product::eventually(
            patienceMs, [&] { return pushTotals(u"push_refusals_by_status"_s)[u"403"_s].toInt() >= 2; }));
        QCOMPARE(total(u"pushes_acknowledged"_s), 4);
        QVERIFY(configureGoogle({{u"push_service_account"_s, serviceAccount}}));
        QVERIFY(Product::eventually(patienceMs, [&] { return total(u"pushes_acknowledged"_s) == 5; }));
    }

    /// openclaw/gogcli#271, openclaw/gogcli#1140.
    void replaysAreAcknowledged()
    {
        const LocalHttp::Request push = captured();
        const QByteArray token = push.headers.value("authorization").mid(7);
        for (int i = 0; i < 3; ++i)
            QCOMPARE(statusOf(push.body, token), 204);
        QCOMPARE(statusOf(push.body, {}), 401);
        QCOMPARE(statusOf(push.body, m_product.adminToken), 403); // the API's own tokens are none here
        QByteArray forged = token;
        forged[token.size() / 2] = token[token.size() / 2] == 'A' ? 'B' : 'A';
        QCOMPARE(statusOf(push.body, forged), 403);
        // xorbitsai/xagent#704: what can never be read must not come again.
        QCOMPARE(statusOf("{\"message\":{\"data\":\"!!!\"}}", token), 204);
        QVERIFY(!m_product.engine->log().contains(token));
        QVERIFY(!m_product.engine->log().contains("user-1@example.com"));
    }
};

QTEST_GUILESS_MAIN(TestPubsub)
#include "tst_pubsub.moc"
