// SPDX-License-Identifier: Apache-2.0
#include "core/oautherror.h"

#include <QtCore/QRandomGenerator>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

QByteArray error(const QByteArray &code, const QByteArray &description = {}, const QByteArray &subtype = {})
{
    QByteArray body = "{\"error\":\"" + code + '"';
    if (!description.isEmpty())
        body += ",\"error_description\":\"" + description + '"';
    if (!subtype.isEmpty())
        body += ",\"error_subtype\":\"" + subtype + '"';
    return body + '}';
}

} // namespace

class TestOAuthError : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tokens_data();
    void tokens();
    void noAnswerIsTransient();
    void stored_data();
    void stored();
    void onlyA400InvalidGrantCostsAGrant();
    void delegated_data();
    void delegated();
    void ownService_data();
    void ownService();
    void configurationHasARemedyAndScope();
    void hostileBodies_data();
    void hostileBodies();
    void everyCodeUnderEveryStatus_data();
    void everyCodeUnderEveryStatus();
    void whatIsUnknownIsTransient();
    void noAddressInTexts();
};

void TestOAuthError::tokens_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("token");
    QTest::addColumn<QString>("rotated");
    QTest::newRow("as Google answers")
        << 200
        << QByteArray(R"({"access_token":"ya29.a","expires_in":3599,"scope":"a b","token_type":"Bearer"})")
        << u"ya29.a"_s << QString();
    // google-auth-library-python accepts expires_in as a string.
    QTest::newRow("expires_in as a string")
        << 200 << QByteArray(R"({"access_token":"t","expires_in":"3599"})") << u"t"_s << QString();
    QTest::newRow("rotated refresh token")
        << 200 << QByteArray(R"({"access_token":"t","expires_in":60,"refresh_token":"1//new"})") << u"t"_s
        << u"1//new"_s;
    QTest::newRow("no expires_in") << 200 << QByteArray(R"({"access_token":"t"})") << QString() << QString();
    QTest::newRow("expires_in 0") << 200 << QByteArray(R"({"access_token":"t","expires_in":0})") << QString()
                                  << QString();
    QTest::newRow("no token") << 200 << QByteArray(R"({"expires_in":3599})") << QString() << QString();
    QTest::newRow("token of another type")
        << 200 << QByteArray(R"({"access_token":5,"expires_in":3599})") << QString() << QString();
    QTest::newRow("token under an error status")
        << 400 << QByteArray(R"({"access_token":"t","expires_in":3599})") << QString() << QString();
}

void TestOAuthError::tokens()
{
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    QFETCH(QString, token);
    const std::optional<TokenGrant> grant = tokenGrantFrom({status, body, {}, {}});
    QCOMPARE(grant.has_value(), !token.isEmpty());
    if (grant) {
        QCOMPARE(grant->accessToken, token);
        QTEST(grant->refreshToken, "rotated");
    }
}

void TestOAuthError::noAnswerIsTransient()
{
    const Outcome outcome = tokenFailure({0, {}, u"timeout"_s, u"No answer."_s}, GrantKind::Stored);
    QCOMPARE(toString(outcome.kind), toString(OutcomeKind::Transient));
    QCOMPARE(outcome.code, u"timeout"_s);
}

void TestOAuthError::stored_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("code");
    const auto row = [](const char *name, int status, const QByteArray &body, const QString &kind,
                        const QString &code) { QTest::newRow(name) << status << body << kind << code; };

    // django-gmailapi-backend#9
    row("expired or revoked", 400, error("invalid_grant", "Token has been expired or revoked."), u"revoked"_s,
        u"invalid_grant"_s);
    row("Bad Request", 400, error("invalid_grant", "Bad Request"), u"revoked"_s, u"invalid_grant"_s);
    row("account deleted", 400, error("invalid_grant", "Account has been deleted"), u"revoked"_s,
        u"invalid_grant"_s);
    row("account deleted, in other words", 400, error("invalid_grant", "The account has been deleted"),
        u"revoked"_s, u"invalid_grant"_s);
    row("a description never seen", 400, error("invalid_grant", "Something new."), u"revoked"_s,
        u"invalid_grant"_s);
    row("without description", 400, error("invalid_grant"), u"revoked"_s, u"invalid_grant"_s);

    // Session control: the token is good again after the user signs in.
    row("invalid_rapt as subtype", 400, error("invalid_grant", "reauth related error", "invalid_rapt"),
        u"account"_s, u"invalid_rapt"_s);
    row("rapt_required as subtype", 400, error("invalid_grant", "reauth related error", "rapt_required"),
        u"account"_s, u"invalid_rapt"_s);
    row("rapt_required in the text", 400, error("invalid_grant", "reauth related error (rapt_required)"),
        u"account"_s, u"invalid_rapt"_s);
    row("invalid_rapt in the text", 400, error("invalid_grant", "reauth related error (invalid_rapt)"),
        u"account"_s, u"invalid_rapt"_s);

    // simonrob/email-oauth2-proxy#362
    row("client not found", 401, error("invalid_client", "The OAuth client was not found."),
        u"configuration"_s, u"invalid_client"_s);
    row("wrong secret", 401, error("invalid_client", "The provided client secret is invalid."),
        u"configuration"_s, u"invalid_client"_s);
    row("invalid_client as 400", 400, error("invalid_client"), u"configuration"_s, u"invalid_client"_s);
    // googleapis/google-api-nodejs-client#1256
    row("client deleted", 401, error("deleted_client", "The OAuth client was deleted."), u"configuration"_s,
        u"deleted_client"_s);
    row("token of another client", 401,
        error("unauthorized_client", "Unauthorized client or scope in request"), u"account"_s,
        u"unauthorized_client"_s);
    row("invalid_scope", 400, error("invalid_scope", "Some requested scopes were invalid."),
        u"configuration"_s, u"invalid_scope"_s);
    row("restricted_client", 400, error("restricted_client"), u"configuration"_s, u"restricted_client"_s);
    row("unsupported_grant_type", 400, error("unsupported_grant_type"), u"configuration"_s,
        u"unsupported_grant_type"_s);
    row("invalid_request", 400, error("invalid_request", "Could not determine client ID from request."),
        u"configuration"_s, u"invalid_request"_s);

    row("disabled_client", 401, error("disabled_client", "The OAuth client was disabled."),
        u"configuration"_s, u"disabled_client"_s);
    row("client not authorized", 401, error("access_denied", "Requested client not authorized"), u"account"_s,
        u"access_denied"_s);
    row("access_denied", 403, error("access_denied", "Account restricted"), u"account"_s, u"access_denied"_s);
    row("admin_policy_enforced", 400, error("admin_policy_enforced"), u"account"_s,
        u"admin_policy_enforced"_s);

    row("internal_failure", 400, error("internal_failure", "Backend Error"), u"transient"_s,
        u"internal_failure"_s);
    row("rate_limit_exceeded 403", 403, error("rate_limit_exceeded"), u"transient"_s,
        u"rate_limit_exceeded"_s);
    row("rate_limit_exceeded 429", 429, error("rate_limit_exceeded"), u"transient"_s,
        u"rate_limit_exceeded"_s);
    row("403 without a known code", 403, "Forbidden", u"transient"_s, u"http_403"_s);
    row("429 without a known code", 429, "{}", u"transient"_s, u"http_429"_s);
    row("408", 408, error("invalid_grant"), u"transient"_s, u"http_408"_s);
    row("400 that is no JSON (a captive portal)", 400, "<html>invalid_grant</html>", u"transient"_s,
        u"http_400"_s);
    row("401 without a known code", 401, "{}", u"transient"_s, u"http_401"_s);
    row("404", 404, "not here", u"transient"_s, u"http_404"_s);
    row("302", 302, "", u"transient"_s, u"malformed_answer"_s);
    row("malformed 200", 200, "<html>", u"transient"_s, u"malformed_answer"_s);
    row("200 with invalid_grant", 200, error("invalid_grant"), u"transient"_s, u"malformed_answer"_s);

    // xorbitsai/xagent#1544: a blip of the token endpoint removed the user's grant.
    for (const int status : {500, 502, 503, 504, 599}) {
        for (const char *code : {"invalid_grant", "invalid_client", "access_denied", "server_error"})
            QTest::addRow("%d with %s", status, code)
                << status << error(code) << u"transient"_s << u"http_%1"_s.arg(status);
    }
}

void TestOAuthError::stored()
{
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    const Outcome outcome = tokenFailure({status, body, {}, {}}, GrantKind::Stored);
    QTEST(toString(outcome.kind), "kind");
    QTEST(outcome.code, "code");
    QVERIFY(!outcome.text.isEmpty());
    const bool isForHumans = outcome.kind != OutcomeKind::Transient;
    QCOMPARE(!outcome.remedy.isEmpty(), isForHumans);
    if (outcome.code == u"invalid_rapt"_s)
        QCOMPARE(toString(outcome.accountState), toString(AccountState::NeedsReauth));
    else if (outcome.kind == OutcomeKind::Account)
        QCOMPARE(toString(outcome.accountState), toString(AccountState::Parked));
}

void TestOAuthError::onlyA400InvalidGrantCostsAGrant()
{
    for (int status = 100; status < 600; ++status) {
        const Outcome outcome =
            tokenFailure({status, error("invalid_grant", "Bad Request"), {}, {}}, GrantKind::Stored);
        QCOMPARE(outcome.kind == OutcomeKind::Revoked, status == 400);
    }
}

void TestOAuthError::delegated_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("code");
    QTest::newRow("clock off") << 400
                               << error("invalid_grant",
                                        "Invalid JWT: Token must be a short-lived token (60 minutes)")
                               << u"configuration"_s << u"invalid_grant"_s;
    QTest::newRow("signature") << 400 << error("invalid_grant", "Invalid JWT Signature.")
                               << u"configuration"_s << u"invalid_grant"_s;
    QTest::newRow("unknown user") << 400 << error("invalid_grant", "Invalid email or User ID") << u"account"_s
                                  << u"no_such_user"_s;
    QTest::newRow("not an address") << 400 << error("invalid_grant", "Not a valid email") << u"account"_s
                                    << u"no_such_user"_s;
    QTest::newRow("user long gone") << 400
                                    << error("invalid_request", "Invalid impersonation \\\"sub\\\" field.")
                                    << u"account"_s << u"no_such_user"_s;
    QTest::newRow("not delegated")
        << 401
        << error("unauthorized_client", "Client is unauthorized to retrieve access tokens using this method")
        << u"configuration"_s << u"unauthorized_client"_s;
}

void TestOAuthError::delegated()
{
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    const Outcome outcome = tokenFailure({status, body, {}, {}}, GrantKind::Delegated);
    QTEST(toString(outcome.kind), "kind");
    QTEST(outcome.code, "code");
    // One Workspace domain without delegation must not stop the others.
    if (outcome.code == u"unauthorized_client"_s)
        QCOMPARE(toString(outcome.scope), toString(FaultScope::Domain));
}

void TestOAuthError::ownService_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("kind");
    QTest::newRow("says revoked") << 400 << QByteArray(R"({"error_class":"revoked"})") << u"revoked"_s;
    QTest::newRow("says revoked under 500")
        << 500 << QByteArray(R"({"error_class":"revoked"})") << u"transient"_s;
    QTest::newRow("says revoked under 404")
        << 404 << QByteArray(R"({"error_class":"revoked"})") << u"transient"_s;
    QTest::newRow("says configuration")
        << 403 << QByteArray(R"({"error_class":"configuration"})") << u"configuration"_s;
    QTest::newRow("says account") << 404 << QByteArray(R"({"error_class":"account"})") << u"account"_s;
    QTest::newRow("passes Google's answer on") << 400 << error("invalid_grant") << u"revoked"_s;
    QTest::newRow("says nothing") << 404 << QByteArray() << u"transient"_s;
}

void TestOAuthError::ownService()
{
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    QTEST(toString(tokenFailure({status, body, {}, {}}, GrantKind::Http).kind), "kind");
}

void TestOAuthError::configurationHasARemedyAndScope()
{
    const Outcome outcome = tokenFailure({401, error("invalid_client"), {}, {}}, GrantKind::Stored);
    QCOMPARE(toString(outcome.scope), toString(FaultScope::Client));
    QVERIFY(outcome.remedy.contains(u"client_secret_file"_s));
}

void TestOAuthError::hostileBodies_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("array") << QByteArray("[1]");
    QTest::newRow("error is an object")
        << QByteArray(R"({"error":{"code":403,"status":"PERMISSION_DENIED"}})");
    QTest::newRow("binary") << QByteArray("\x00\xff\xfe", 3);
    QTest::newRow("a megabyte") << QByteArray(1'000'000, '{');
}

void TestOAuthError::hostileBodies()
{
    QFETCH(QByteArray, body);
    const Outcome outcome = tokenFailure({400, body, {}, {}}, GrantKind::Stored);
    QCOMPARE(toString(outcome.kind), toString(OutcomeKind::Transient));
    QVERIFY(outcome.text.size() < 400);
}

void TestOAuthError::everyCodeUnderEveryStatus_data()
{
    QTest::addColumn<QByteArray>("code");
    QTest::addColumn<QString>("kind"); ///< under any 4xx but 408
    const auto row = [](const char *code, const QString &kind) {
        QTest::newRow(code) << QByteArray(code) << kind;
    };
    row("invalid_client", u"configuration"_s);
    row("deleted_client", u"configuration"_s);
    row("disabled_client", u"configuration"_s);
    row("restricted_client", u"configuration"_s);
    row("invalid_scope", u"configuration"_s);
    row("invalid_request", u"configuration"_s);
    row("unsupported_grant_type", u"configuration"_s);
    row("unauthorized_client", u"account"_s);
    row("access_denied", u"account"_s);
    row("admin_policy_enforced", u"account"_s);
    row("internal_failure", u"transient"_s);
    row("rate_limit_exceeded", u"transient"_s);
    row("server_error", u"transient"_s);
    row("temporarily_unavailable", u"transient"_s);
    row("slow_down", u"transient"_s);
    row("invalid_token", u"transient"_s);
    row("revoked", u"transient"_s);
    row("INVALID_GRANT", u"transient"_s);
}

/// Which status comes with some of these codes was never seen written down.
void TestOAuthError::everyCodeUnderEveryStatus()
{
    QFETCH(QByteArray, code);
    QFETCH(QString, kind);
    for (int status = 100; status < 600; ++status) {
        const bool isHeard = status >= 400 && status < 500 && status != 408;
        const Outcome outcome = tokenFailure({status, error(code), {}, {}}, GrantKind::Stored);
        QCOMPARE(toString(outcome.kind), isHeard ? kind : u"transient"_s);
    }
}

/// 20,000 answers put together at random: none that has no row costs a grant, stops an account or a client.
void TestOAuthError::whatIsUnknownIsTransient()
{
    QRandomGenerator random(41162);
    const QList<QByteArray> words{
        "invalid",  "grant",  "revoked", "client", "token has been expired or revoked",
        "deleted_", "access", "_denied", "rapt",   "unauthorized",
        "",         "500"};
    const auto word = [&] { return words[random.bounded(words.size())]; };
    for (int i = 0; i < 20'000; ++i) {
        QByteArray body = error(word() + ' ' + word(), word() + word(), word() + '-' + word());
        if (i % 3 == 0)
            body.truncate(random.bounded(body.size()));
        const TokenAnswer answer{random.bounded(100, 600), body, {}, {}};
        for (const GrantKind grant : {GrantKind::Stored, GrantKind::Http, GrantKind::Delegated})
            QCOMPARE(toString(tokenFailure(answer, grant).kind), u"transient"_s);
    }
}

void TestOAuthError::noAddressInTexts()
{
    const Outcome outcome = tokenFailure(
        {400, error("invalid_grant", "No user someone@example.com here"), {}, {}}, GrantKind::Http);
    QVERIFY(outcome.text.contains(u"No user (address) here"_s));
}

QTEST_GUILESS_MAIN(TestOAuthError)
#include "tst_oautherror.moc"
