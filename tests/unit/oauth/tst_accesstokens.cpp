// SPDX-License-Identifier: Apache-2.0
#include "oauth/accesstokens.h"
#include "oauth/tokenservice.h"
#include "support/fakeclock.h"
#include "support/localhttp.h"

#include <tidekeeper/callback.h>

#include <QtCore/QFile>
#include <QtCore/QTemporaryDir>
#include <QtCore/QUrlQuery>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;
using tidekeeper::test::LocalHttp;

namespace {

class FakeGrants final : public GrantSource {
public:
    QCoro::Task<Result<QString>> refreshToken(QString) override
    {
        ++reads;
        if (!error.isEmpty())
            co_return fail(error, u"Told to fail."_s);
        co_return tokens.size() > 1 ? tokens.takeFirst() : tokens.first();
    }
    QCoro::Task<Result<>> rotate(QString, QString from, QString to) override
    {
        rotations.append(from + u" → "_s + to);
        co_return Result<>();
    }

    QStringList tokens{u"1//refresh"_s}; ///< the last one stays
    QString error;
    QStringList rotations;
    int reads = 0;
};

core::Account account(const QString &id = u"a"_s)
{
    core::Account account;
    account.id = id;
    account.email = id + u"@example.com"_s;
    account.grantKind = core::GrantKind::Stored;
    return account;
}

QByteArray token(const QByteArray &value, int expiresIn = 3599)
{
    return "{\"access_token\":\"" + value + "\",\"expires_in\":" + QByteArray::number(expiresIn) + "}";
}

} // namespace

class TestAccessTokens : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();

    void refreshSendsTheForm();
    void keptUntilNinetyPercentOfItsLife();
    void rejectedTokenIsReplaced();
    void oneRequestInFlightPerAccount();
    void changedAccountGetsItsOwnToken();
    void failuresAreNotKept();
    void unreadableGrantIsNeverSent();
    void noGrantNeedsReauth();
    void newerTokenWins();
    void revokedWhenTheTokenIsStillTheSame();
    void rotatedTokenIsSaved();
    void clientFaults_data();
    void clientFaults();
    void correctedSecretFileNeedsNoRestart();
    void silentEndpointIsTransient();
    void ownTokenService();
    void service();

private:
    void script(int status, const QByteArray &body)
    {
        m_server->setScript([=](const LocalHttp::Request &) { return LocalHttp::answer(status, body); });
    }
    void writeSecret(const QByteArray &secret)
    {
        QFile file(m_folder->filePath(u"secret"_s));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(secret);
    }
    TokenResult get(const core::Account &account, const QString &rejected = {})
    {
        return QCoro::waitFor(m_tokens->forAccount(account, rejected));
    }
    qsizetype requests() const { return m_server->requests().size(); }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<LocalHttp> m_server;
    std::unique_ptr<net::HttpClient> m_http;
    std::unique_ptr<TokenEndpoint> m_endpoint;
    std::unique_ptr<FakeGrants> m_grants;
    std::unique_ptr<AccessTokens> m_tokens;
    tidekeeper::test::FakeClock m_clock;
};

void TestAccessTokens::init()
{
    m_folder = std::make_unique<QTemporaryDir>();
    writeSecret("GOCSPX-secret\n");
    m_server = std::make_unique<LocalHttp>();
    script(200, token("ya29.one"));
    m_http = std::make_unique<net::HttpClient>();
    m_endpoint = std::make_unique<TokenEndpoint>(*m_http, m_server->url() + u'/');
    m_grants = std::make_unique<FakeGrants>();
    const ClientCredentials client{u"id.apps.example"_s, m_folder->filePath(u"secret"_s)};
    const ClientCredentials noFile{u"id.apps.example"_s, m_folder->filePath(u"missing"_s)};
    m_tokens = std::make_unique<AccessTokens>(
        *m_endpoint, *m_grants,
        ClientDirectory{{u"default"_s, {{u"default"_s, client}, {u"nofile"_s, noFile}}}}, m_clock);
}

void TestAccessTokens::refreshSendsTheForm()
{
    m_grants->tokens = {u"1//re+fresh/&="_s};
    const TokenResult result = get(account());
    QVERIFY(result.has_value());
    QCOMPARE(result->token, u"ya29.one"_s);
    QCOMPARE(result->expiresAt, m_clock.nowMs() + 3'599'000);
    const LocalHttp::Request request = m_server->requests().first();
    QCOMPARE(request.method, "POST");
    QCOMPARE(request.path, "/token");
    QCOMPARE(request.headers.value("content-type"), "application/x-www-form-urlencoded");
    const QUrlQuery form(QString::fromUtf8(request.body));
    QCOMPARE(form.queryItemValue(u"client_id"_s, QUrl::FullyDecoded), u"id.apps.example"_s);
    QCOMPARE(form.queryItemValue(u"client_secret"_s, QUrl::FullyDecoded), u"GOCSPX-secret"_s);
    QCOMPARE(form.queryItemValue(u"refresh_token"_s, QUrl::FullyDecoded), u"1//re+fresh/&="_s);
    QCOMPARE(form.queryItemValue(u"grant_type"_s), u"refresh_token"_s);
    QVERIFY(!request.body.contains('+')); // a bare plus is a blank in a form
}

void TestAccessTokens::keptUntilNinetyPercentOfItsLife()
{
    script(200, token("t", 1'000));
    QVERIFY(!get(account())->kept);
    m_clock.advance(899'000);
    QVERIFY(get(account())->kept);
    QCOMPARE(requests(), 1);
    m_clock.advance(1'000);
    QVERIFY(!get(account())->kept);
    QCOMPARE(requests(), 2);
    m_clock.step(-3'600'000); // a step of the wall clock changes nothing
    get(account());
    QCOMPARE(requests(), 2);
}

void TestAccessTokens::rejectedTokenIsReplaced()
{
    get(account());
    script(200, token("ya29.two"));
    QCOMPARE(get(account(), u"ya29.one"_s)->token, u"ya29.two"_s);
    // The other one that was refused the old token takes the new one without asking again.
    QCOMPARE(get(account(), u"ya29.one"_s)->token, u"ya29.two"_s);
    QCOMPARE(requests(), 2);
}

void TestAccessTokens::oneRequestInFlightPerAccount()
{
    QList<QString> results;
    for (int i = 0; i < 20; ++i) {
        m_tokens->forAccount(account()).then(
            [&](const TokenResult &result) { results.append(result->token); });
        m_tokens->forAccount(account(u"b"_s)).then([&](const TokenResult &result) {
            results.append(result->token);
        });
    }
    QTRY_COMPARE(results.size(), 40);
    QCOMPARE(requests(), 2);
    QCOMPARE(results.count(u"ya29.one"_s), 40);
}

void TestAccessTokens::changedAccountGetsItsOwnToken()
{
    get(account());
    core::Account moved = account();
    moved.email = u"other@example.com"_s;
    script(200, token("ya29.other"));
    QCOMPARE(get(moved)->token, u"ya29.other"_s); // not the token of the old mailbox
    core::Account regranted = account();
    ++regranted.generation;
    get(regranted);
    QCOMPARE(requests(), 3);
}

void TestAccessTokens::failuresAreNotKept()
{
    script(503, "{}");
    QCOMPARE(toString(get(account()).error().kind), u"transient"_s);
    script(200, token("ya29.one"));
    QVERIFY(get(account()).has_value());
}

void TestAccessTokens::unreadableGrantIsNeverSent()
{
    // langgenius/dify-official-plugins#3461
    m_grants->error = u"grant_unreadable"_s;
    const TokenResult result = get(account());
    QCOMPARE(toString(result.error().kind), u"local"_s);
    QCOMPARE(requests(), 0);
    m_grants->error = u"database_unavailable"_s;
    QCOMPARE(toString(get(account()).error().kind), u"transient"_s);
}

void TestAccessTokens::noGrantNeedsReauth()
{
    m_grants->error = u"not_found"_s;
    for (const core::GrantKind kind : {core::GrantKind::Stored, core::GrantKind::None}) {
        core::Account without = account();
        without.grantKind = kind;
        const TokenResult result = get(without);
        QCOMPARE(toString(result.error().kind), u"account"_s);
        QCOMPARE(toString(result.error().accountState), u"needs_reauth"_s);
        QCOMPARE(result.error().code, u"no_grant"_s);
    }
    QCOMPARE(requests(), 0);
}

void TestAccessTokens::newerTokenWins()
{
    m_grants->tokens = {u"1//old"_s, u"1//new"_s};
    m_server->setScript([](const LocalHttp::Request &request) {
        return request.body.contains("old") ? LocalHttp::answer(400, R"({"error":"invalid_grant"})")
                                            : LocalHttp::answer(200, token("ya29.new"));
    });
    const TokenResult result = get(account());
    QVERIFY(result.has_value());
    QCOMPARE(result->token, u"ya29.new"_s);
}

void TestAccessTokens::revokedWhenTheTokenIsStillTheSame()
{
    script(400, R"({"error":"invalid_grant","error_description":"Token has been expired or revoked."})");
    QCOMPARE(toString(get(account()).error().kind), u"revoked"_s);
    QCOMPARE(requests(), 1); // router-for-me/CLIProxyAPI#5766: one request for a terminal answer
}

void TestAccessTokens::rotatedTokenIsSaved()
{
    script(200, R"({"access_token":"t","expires_in":60,"refresh_token":"1//next"})");
    get(account());
    QCOMPARE(m_grants->rotations, QStringList{u"1//refresh → 1//next"_s});
    script(200, R"({"access_token":"u","expires_in":60,"refresh_token":"1//refresh"})");
    get(account(), u"t"_s);
    QCOMPARE(m_grants->rotations.size(), 1); // the same one is no rotation
}

void TestAccessTokens::clientFaults_data()
{
    QTest::addColumn<QString>("client");
    QTest::addColumn<QByteArray>("secret");
    QTest::addColumn<QString>("code");
    QTest::newRow("unknown client") << u"other"_s << QByteArray("x") << u"unknown_client"_s;
    QTest::newRow("file missing") << u"nofile"_s << QByteArray("x") << u"client_secret_unreadable"_s;
    QTest::newRow("file empty") << u"default"_s << QByteArray(" \n") << u"client_secret_empty"_s;
}

void TestAccessTokens::clientFaults()
{
    // xorbitsai/xagent#1544: a missing secret at startup cost the grants.
    QFETCH(QString, client);
    QFETCH(QByteArray, secret);
    writeSecret(secret);
    core::Account wanted = account();
    wanted.client = client;
    const TokenResult result = get(wanted);
    QCOMPARE(toString(result.error().kind), u"configuration"_s);
    QTEST(result.error().code, "code");
    QVERIFY(!result.error().remedy.isEmpty());
    QCOMPARE(requests(), 0);
}

void TestAccessTokens::correctedSecretFileNeedsNoRestart()
{
    m_server->setScript([](const LocalHttp::Request &request) {
        return request.body.contains("client_secret=right")
            ? LocalHttp::answer(200, token("ya29.one"))
            : LocalHttp::answer(401, R"({"error":"invalid_client"})");
    });
    QCOMPARE(toString(get(account()).error().kind), u"configuration"_s);
    writeSecret("right\n");
    QVERIFY(get(account()).has_value());
}

void TestAccessTokens::silentEndpointIsTransient()
{
    QString closed;
    {
        const LocalHttp gone;
        closed = gone.url();
    }
    TokenEndpoint endpoint(*m_http, closed);
    AccessTokens tokens(endpoint, *m_grants,
                        {{u"default"_s, {{u"default"_s, {u"id"_s, m_folder->filePath(u"secret"_s)}}}}},
                        m_clock);
    const TokenResult result = QCoro::waitFor(tokens.forAccount(account()));
    QCOMPARE(toString(result.error().kind), u"transient"_s);
    QCOMPARE(result.error().code, u"network"_s);
}

void TestAccessTokens::ownTokenService()
{
    core::Account own = account();
    own.grantKind = core::GrantKind::Http;
    own.grant = {{u"token_url"_s, m_server->url() + u"/tokens"_s}};
    QCOMPARE(get(own)->token, u"ya29.one"_s);
    QCOMPARE(m_server->requests().first().path, "/tokens");
    QCOMPARE(m_server->requests().first().body,
             R"({"account":"a","email":"a@example.com","project":"default"})");
    QCOMPARE(m_grants->reads, 0);
}

void TestAccessTokens::service()
{
    TokenService service(*m_tokens, [](QString id) -> QCoro::Task<Result<core::Account>> {
        if (id != u"a"_s)
            co_return fail(u"not_found"_s, u"No such account."_s);
        co_return account();
    });
    Status status;
    QJsonObject result;
    int answers = 0;
    const auto reply = [&] {
        return whenDone(this, [&](const Status &s, const QJsonObject &r) {
            status = s;
            result = r;
            ++answers;
        });
    };
    service.forAccount(u"a"_s, reply());
    QTRY_COMPARE(answers, 1);
    QVERIFY(status.ok());
    QCOMPARE(result.value("access_token"_L1).toString(), u"ya29.one"_s);
    service.forAccount(u"b"_s, reply());
    QTRY_COMPARE(answers, 2);
    QCOMPARE(status.code, u"not_found"_s);
    service.forServiceAccount(m_folder->filePath(u"no-key"_s), u"scope"_s, reply());
    QTRY_COMPARE(answers, 3);
    QCOMPARE(status.code, u"configuration"_s);
    QCOMPARE(status.details.value("code"_L1).toString(), u"service_account_key"_s);
}

QTEST_GUILESS_MAIN(TestAccessTokens)
#include "tst_accesstokens.moc"
