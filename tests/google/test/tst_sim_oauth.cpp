// SPDX-License-Identifier: Apache-2.0
#include "google/oauth/jwt.h"
#include "simbench.h"

#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

const QString messaging = u"https://www.googleapis.com/auth/firebase.messaging"_s;
const QString readonly = u"https://www.googleapis.com/auth/gmail.readonly"_s;
const QString issuer = u"robot@sim-project.iam.gserviceaccount.com"_s;

/// One key for all tests: making one takes a while.
const RsaKey &key()
{
    static const RsaKey made = RsaKey::generate().value();
    return made;
}

QJsonObject registration()
{
    return {{u"email"_s, issuer}, {u"public_key"_s, QString::fromLatin1(key().publicPem())}};
}

QString errorOf(const Answer &answer)
{
    return SimBench::json(answer)[u"error"].toString();
}

QString descriptionOf(const Answer &answer)
{
    return SimBench::json(answer)[u"error_description"].toString();
}

} // namespace

class TestSimOauth : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refreshGivesAToken();
    void refreshErrors_data();
    void refreshErrors();
    void grantOfAnotherClient();
    void revokedGrantKillsItsTokens();
    void narrowerScope();
    void jwtRules_data();
    void jwtRules();
    void jwtSignatureIsChecked();
    void jwtForAMailbox();
    void keyMustBeAPublicKey();
};

void TestSimOauth::refreshGivesAToken()
{
    SimBench bench;
    const Answer answer = bench.token(bench.refreshForm());
    QCOMPARE(answer.status, 200);
    const QJsonObject body = SimBench::json(answer);
    QVERIFY(body[u"access_token"].toString().startsWith(u"ya29."_s));
    QCOMPARE(body[u"expires_in"].toInt(), 3599);
    QCOMPARE(body[u"token_type"].toString(), u"Bearer"_s);
    QCOMPARE(body[u"scope"].toString(), u"https://www.googleapis.com/auth/gmail.modify"_s);
    QVERIFY(!body.contains(u"refresh_token"_s));
}

void TestSimOauth::refreshErrors_data()
{
    QTest::addColumn<QByteArray>("form");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("error");
    QTest::addColumn<QString>("description");
    const QByteArray grant = "grant_type=refresh_token&";
    QTest::newRow("no client") << grant + "refresh_token=x" << 400 << u"invalid_request"_s
                               << u"Could not determine client ID from request."_s;
    QTest::newRow("unknown client") << grant + "client_id=x&client_secret=y&refresh_token=z" << 401
                                    << u"invalid_client"_s << u"The OAuth client was not found."_s;
    QTest::newRow("wrong secret") << grant + "client_id=sim-client&client_secret=y&refresh_token=z" << 401
                                  << u"invalid_client"_s << u"The provided client secret is invalid."_s;
    QTest::newRow("no token") << grant + "client_id=sim-client&client_secret=sim-secret" << 400
                              << u"invalid_request"_s << u"Missing required parameter: refresh_token"_s;
    QTest::newRow("unknown token") << grant + "client_id=sim-client&client_secret=sim-secret&refresh_token=z"
                                   << 400 << u"invalid_grant"_s << u"Bad Request"_s;
    QTest::newRow("grant type") << QByteArray("grant_type=password") << 400 << u"unsupported_grant_type"_s
                                << u"Invalid grant_type: password"_s;
}

void TestSimOauth::refreshErrors()
{
    QFETCH(QByteArray, form);
    QFETCH(int, status);
    QFETCH(QString, error);
    QFETCH(QString, description);
    SimBench bench;
    const Answer answer = bench.token(form);
    QCOMPARE(answer.status, status);
    QCOMPARE(errorOf(answer), error);
    QCOMPARE(descriptionOf(answer), description);
    QCOMPARE(bench.sim.world.totals.tokenErrors, 1);
}

void TestSimOauth::grantOfAnotherClient()
{
    SimBench bench;
    bench.control("accounts",
                  {{u"emails"_s, QJsonArray{u"b@example.com"_s}},
                   {u"client_id"_s, u"other"_s},
                   {u"client_secret"_s, u"s"_s}});
    const Answer answer =
        bench.token("grant_type=refresh_token&client_id=other&client_secret=s&refresh_token="
                    + bench.refreshToken.toLatin1().toPercentEncoding());
    QCOMPARE(answer.status, 401);
    QCOMPARE(errorOf(answer), u"unauthorized_client"_s);
}

void TestSimOauth::revokedGrantKillsItsTokens()
{
    SimBench bench;
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    const QByteArray form = "token=" + bench.refreshToken.toLatin1().toPercentEncoding();
    QCOMPARE(bench.call("POST", u"/revoke"_s, form, "application/x-www-form-urlencoded").status, 200);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 401);
    const Answer answer = bench.token(bench.refreshForm());
    QCOMPARE(answer.status, 400);
    QCOMPARE(errorOf(answer), u"invalid_grant"_s);
    QCOMPARE(descriptionOf(answer), u"Token has been expired or revoked."_s);
    bench.control("accounts", {{u"emails"_s, QJsonArray{u"a@example.com"_s}}}); // a new consent
    QCOMPARE(bench.token(bench.refreshForm()).status, 400); // does not bring the old one back
}

void TestSimOauth::narrowerScope()
{
    SimBench bench({{u"scopes"_s, QJsonArray{readonly, messaging}}});
    const Answer narrower =
        bench.token(bench.refreshForm() + "&scope=" + readonly.toLatin1().toPercentEncoding());
    QCOMPARE(SimBench::json(narrower)[u"scope"].toString(), readonly);
    const Answer wider = bench.token(bench.refreshForm() + "&scope=openid+" + readonly.toLatin1());
    QCOMPARE(wider.status, 400);
    QCOMPARE(errorOf(wider), u"invalid_scope"_s);
    QCOMPARE(descriptionOf(wider), u"Some requested scopes were invalid. {invalid=[openid]}"_s);
}

void TestSimOauth::jwtRules_data()
{
    QTest::addColumn<QString>("claim");
    QTest::addColumn<QJsonValue>("value");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("description");
    const qint64 now = 1'800'000'000; // the clock's start, in seconds
    const QString shortLived = u"Invalid JWT: Token must be a short-lived token (60 minutes) and in a "
                               u"reasonable timeframe. Check your iat "
                               u"and exp values in the JWT claim."_s;
    QTest::newRow("good") << u"x"_s << QJsonValue(1) << 200 << QString();
    QTest::newRow("issuer") << u"iss"_s << QJsonValue(u"nobody@example.com"_s) << 400
                            << u"Invalid JWT: No valid verifier found for issuer"_s;
    QTest::newRow("audience") << u"aud"_s << QJsonValue(u"https://example.com/token"_s) << 400
                              << u"Invalid JWT: Failed audience check."_s;
    QTest::newRow("own audience") << u"aud"_s << QJsonValue(u"http://sim/token"_s) << 200 << QString();
    QTest::newRow("over an hour") << u"exp"_s << QJsonValue(now + 3601) << 400 << shortLived;
    QTest::newRow("expired") << u"exp"_s << QJsonValue(now) << 400 << shortLived;
    QTest::newRow("a little ahead") << u"iat"_s << QJsonValue(now + 300) << 200 << QString();
    QTest::newRow("far ahead") << u"iat"_s << QJsonValue(now + 301) << 400 << shortLived;
    QTest::newRow("a minute ago") << u"iat"_s << QJsonValue(now - 60) << 400
                                  << shortLived; // exp is now + 3600
    QTest::newRow("no scope") << u"scope"_s << QJsonValue(u""_s) << 400
                              << u"Invalid OAuth scope or ID token audience provided."_s;
    QTest::newRow("unknown mailbox") << u"sub"_s << QJsonValue(u"z@example.com"_s) << 400
                                     << u"Invalid email or User ID"_s;
    QTest::newRow("not delegated")
        << u"sub"_s << QJsonValue(u"a@example.com"_s) << 401
        << u"Client is unauthorized to retrieve access tokens using this method, or client "
           u"not authorized for any of the scopes requested."_s;
}

void TestSimOauth::jwtRules()
{
    QFETCH(QString, claim);
    QFETCH(QJsonValue, value);
    QFETCH(int, status);
    QFETCH(QString, description);
    SimBench bench;
    bench.sim.tokens.setOwnUrl(u"http://sim"_s);
    bench.control("service-accounts", registration());
    const qint64 now = bench.sim.clock.wallMs() / 1000;
    QJsonObject claims{{u"iss"_s, issuer},
                       {u"scope"_s, messaging},
                       {u"aud"_s, u"https://oauth2.googleapis.com/token"_s},
                       {u"iat"_s, now},
                       {u"exp"_s, now + 3600}};
    claims.insert(claim, value);
    const Answer answer =
        bench.token("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
                    + Jwt::make(claims, key()));
    QCOMPARE(answer.status, status);
    QCOMPARE(descriptionOf(answer), description);
    if (status == 200) {
        QCOMPARE(SimBench::json(answer)[u"expires_in"].toInt(), 3599);
        QVERIFY(!SimBench::json(answer).contains(u"scope"_s));
    }
}

void TestSimOauth::jwtSignatureIsChecked()
{
    SimBench bench;
    bench.control("service-accounts", registration());
    const auto otherKey = RsaKey::generate();
    const qint64 now = bench.sim.clock.wallMs() / 1000;
    const QByteArray forged = Jwt::make({{u"iss"_s, issuer},
                                         {u"scope"_s, messaging},
                                         {u"aud"_s, u"https://oauth2.googleapis.com/token"_s},
                                         {u"iat"_s, now},
                                         {u"exp"_s, now + 60}},
                                        *otherKey);
    const QByteArray form = "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=";
    const Answer answer = bench.token(form + forged);
    QCOMPARE(answer.status, 400);
    QCOMPARE(errorOf(answer), u"invalid_grant"_s);
    QCOMPARE(descriptionOf(answer), u"Invalid JWT Signature."_s);
    QCOMPARE(errorOf(bench.token(form + "no.jwt")), u"invalid_grant"_s);
}

void TestSimOauth::jwtForAMailbox()
{
    SimBench bench;
    const QJsonObject file = bench.control(
        "service-accounts", {{u"email"_s, issuer}, {u"delegated_scopes"_s, QJsonArray{readonly}}});
    const auto key = RsaKey::fromPrivatePem(file[u"private_key"].toString().toLatin1());
    const qint64 now = bench.sim.clock.wallMs() / 1000;
    const QByteArray assertion = Jwt::make({{u"iss"_s, issuer},
                                            {u"sub"_s, u"a@example.com"_s},
                                            {u"scope"_s, readonly},
                                            {u"aud"_s, u"https://oauth2.googleapis.com/token"_s},
                                            {u"iat"_s, now},
                                            {u"exp"_s, now + 60}},
                                           *key);
    const Answer answer =
        bench.token("grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=" + assertion);
    QCOMPARE(answer.status, 200);
    bench.bearer = "Bearer " + SimBench::json(answer)[u"access_token"].toString().toLatin1();
    QCOMPARE(SimBench::json(bench.gmail("GET", u"profile"_s))[u"emailAddress"].toString(),
             u"a@example.com"_s);
}

void TestSimOauth::keyMustBeAPublicKey()
{
    SimBench bench;
    QVERIFY(bench.control("service-accounts", {{u"public_key"_s, u"no key"_s}})[u"error"].toString().contains(
        u"public_key"_s));
}

QTEST_GUILESS_MAIN(TestSimOauth)
#include "tst_sim_oauth.moc"
