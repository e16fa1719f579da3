// SPDX-License-Identifier: Apache-2.0
// From the sealed row in the database to Google and back.
#include "core/planner.h"
#include "oauth/accesstokens.h"
#include "oauth/sealedgrants.h"
#include "store/statement.h"
#include "support/fakeclock.h"
#include "support/localhttp.h"
#include "support/testdatabase.h"

#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;

namespace {

const QString a = u"a"_s;

} // namespace

class TestSealedGrants : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void readsWhatWasSealed();
    void noneIsNotFound();
    void anotherKeyIsAFaultOfOurs();
    void rotationReplacesTheToken();
    void rotationLosesAgainstANewerToken();
    void expiredAccessTokenIsReplacedFromTheRow();
    void corruptRowIsNeverSent();

private:
    void put(const QByteArray &token)
    {
        store::AccountChange change;
        change.email = u"a@example.com"_s;
        change.grant.kind = store::GrantChange::Kind::Set;
        change.grant.sealedRefreshToken = *m_sealing->seal(token, a);
        change.grant.keyId = m_sealing->keyId();
        change.grant.fingerprint = m_sealing->valueFingerprint(token);
        QVERIFY(QCoro::waitFor(m_accounts->put(a, change, m_clock.nowMs())).has_value());
    }
    QString tokenOf(const QString &account)
    {
        const Result<QString> token = QCoro::waitFor(m_source->refreshToken(account));
        return token ? *token : token.error().code;
    }

    /// Asks for the account's access token as a renewal does.
    TokenResult accessToken()
    {
        const core::Account account = QCoro::waitFor(m_accounts->find(a))->account;
        return QCoro::waitFor(m_tokens->forAccount(account, {}));
    }
    void answerWith(const QByteArray &accessToken)
    {
        m_server->setScript([accessToken](const test::LocalHttp::Request &) {
            return test::LocalHttp::answer(200,
                                           R"({"access_token":")" + accessToken + R"(","expires_in":3599})");
        });
    }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::GrantStore> m_grants;
    std::shared_ptr<const Sealing> m_sealing;
    std::unique_ptr<SealedGrants> m_source;
    test::FakeClock m_clock;

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<test::LocalHttp> m_server;
    std::unique_ptr<net::HttpClient> m_http;
    std::unique_ptr<TokenEndpoint> m_endpoint;
    std::unique_ptr<AccessTokens> m_tokens;
};

void TestSealedGrants::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    m_grants = std::make_unique<store::GrantStore>(m_database->database());
    m_sealing = std::make_shared<const Sealing>(QByteArray(Sealing::keyBytes, 'k'));
    m_source = std::make_unique<SealedGrants>(*m_accounts, *m_grants, m_sealing, m_clock);

    m_folder = std::make_unique<QTemporaryDir>();
    QFile secret(m_folder->filePath(u"secret"_s));
    QVERIFY(secret.open(QIODevice::WriteOnly) && secret.write("GOCSPX-secret") > 0);
    m_server = std::make_unique<test::LocalHttp>();
    m_http = std::make_unique<net::HttpClient>();
    m_endpoint = std::make_unique<TokenEndpoint>(*m_http, m_server->url());
    const ClientCredentials client{u"id.apps.example"_s, secret.fileName()};
    m_tokens = std::make_unique<AccessTokens>(
        *m_endpoint, *m_source, ClientDirectory{{u"default"_s, {{u"default"_s, client}}}}, m_clock);
}

void TestSealedGrants::cleanup()
{
    m_tokens.reset();
    m_endpoint.reset();
    m_http.reset();
    m_server.reset();
    m_source.reset();
    m_database.reset();
}

void TestSealedGrants::readsWhatWasSealed()
{
    put("1//refresh");
    QCOMPARE(tokenOf(a), u"1//refresh"_s);
}

void TestSealedGrants::noneIsNotFound()
{
    QCOMPARE(tokenOf(u"nobody"_s), u"not_found"_s);
}

void TestSealedGrants::anotherKeyIsAFaultOfOurs()
{
    put("1//refresh");
    const auto other = std::make_shared<const Sealing>(QByteArray(Sealing::keyBytes, 'x'));
    SealedGrants source(*m_accounts, *m_grants, other, m_clock);
    const Result<QString> token = QCoro::waitFor(source.refreshToken(a));
    QVERIFY(!token.has_value());
    QCOMPARE(token.error().code, u"grant_unreadable"_s);
}

void TestSealedGrants::rotationReplacesTheToken()
{
    put("1//refresh");
    QVERIFY(QCoro::waitFor(m_source->rotate(a, u"1//refresh"_s, u"1//next"_s)).has_value());
    QCOMPARE(tokenOf(a), u"1//next"_s);
}

void TestSealedGrants::rotationLosesAgainstANewerToken()
{
    put("1//refresh");
    put("1//from the user");
    const Result<> rotated = QCoro::waitFor(m_source->rotate(a, u"1//refresh"_s, u"1//next"_s));
    QVERIFY(!rotated.has_value());
    QCOMPARE(rotated.error().code, u"conflict"_s);
    QCOMPARE(tokenOf(a), u"1//from the user"_s);
}

// langgenius/dify-official-plugins#3461: the stored token was sent as it stood, sealed, once the first access token had
// run out.
void TestSealedGrants::expiredAccessTokenIsReplacedFromTheRow()
{
    put("1//refresh");
    answerWith("ya29.first");
    QCOMPARE(accessToken()->token, u"ya29.first"_s);
    answerWith("ya29.second");
    m_clock.advance(core::hourMs / 2);
    QCOMPARE(accessToken()->token, u"ya29.first"_s);
    m_clock.advance(core::hourMs / 2);
    QCOMPARE(accessToken()->token, u"ya29.second"_s);
    QCOMPARE(m_server->requests().size(), 2);
    for (const test::LocalHttp::Request &request : m_server->requests())
        QVERIFY2(request.body.contains("refresh_token=1%2F%2Frefresh&"), request.body.constData());
}

// The same: what cannot be opened is a fault of ours, is sent nowhere and costs the account nothing.
void TestSealedGrants::corruptRowIsNeverSent()
{
    put("1//refresh");
    answerWith("ya29.first");
    const Result<qint64> spoilt = QCoro::waitFor(m_database->database().run([](QSqlDatabase &db) {
        const QByteArray rubbish("not what was sealed, and long enough to look like it");
        return store::change(db, u"UPDATE grants SET sealed = ? WHERE account = ?"_s,
                             {QString::fromLatin1(rubbish.toBase64()), a});
    }));
    QCOMPARE(*spoilt, 1);
    const TokenResult result = accessToken();
    QVERIFY(!result.has_value());
    QVERIFY(result.error().kind == core::OutcomeKind::Local);
    QVERIFY(m_server->requests().isEmpty());
    const core::Account account = QCoro::waitFor(m_accounts->find(a))->account;
    QVERIFY(account.state == core::AccountState::Active);
    QVERIFY(account.hasRefreshToken);
}

QTEST_GUILESS_MAIN(TestSealedGrants)
#include "tst_sealedgrants.moc"
