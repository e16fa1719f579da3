// SPDX-License-Identifier: Apache-2.0
#include "google/oauth/tokenendpoint.h"

#include "google/oauth/errors.h"
#include "google/oauth/jwt.h"

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

/// A form decodes '+' as a space, which QUrlQuery alone does not.
QUrlQuery formOf(const QByteArray &body)
{
    return QUrlQuery(QString::fromLatin1(QByteArray(body).replace('+', "%20")));
}

QString field(const QUrlQuery &form, const QString &name)
{
    return form.queryItemValue(name, QUrl::FullyDecoded);
}

bool isForm(const Call &call)
{
    return call.headers.value("content-type").startsWith("application/x-www-form-urlencoded");
}

/// The scopes asked for, all of them granted; a sentence's worth of the others.
QString scopesBeyond(const QStringList &asked, const QStringList &granted)
{
    QStringList beyond;
    for (const QString &scope : asked) {
        if (!granted.contains(scope))
            beyond << scope;
    }
    return beyond.join(u", "_s);
}

QStringList words(const QString &text)
{
    return text.split(u' ', Qt::SkipEmptyParts);
}

} // namespace

Answer TokenEndpoint::token(const Call &call)
{
    const QUrlQuery form = formOf(call.body);
    const QString grantType = field(form, u"grant_type"_s);
    Answer answer;
    if (!isForm(call))
        answer = errors::token(400, u"invalid_request"_s, u"The request must be form-encoded."_s);
    else if (grantType == u"refresh_token"_s)
        answer = refresh(form);
    else if (grantType == u"urn:ietf:params:oauth:grant-type:jwt-bearer"_s)
        answer = jwtBearer(form);
    else
        answer = errors::token(400, u"unsupported_grant_type"_s, u"Invalid grant_type: %1"_s.arg(grantType));
    if (answer.status != 200)
        ++m_world.totals.tokenErrors;
    return answer;
}

Answer TokenEndpoint::refresh(const QUrlQuery &form)
{
    const QString clientId = field(form, u"client_id"_s);
    const Grant grant = m_world.grants.value(field(form, u"refresh_token"_s));
    const auto client = m_world.clients.find(clientId);
    const Subject subject{u"token.refresh"_s, grant.email,
                          client == m_world.clients.end() ? QString() : client->second.projectId, clientId};
    return m_faults.run(subject, [&] { return refreshGranted(form); });
}

Answer TokenEndpoint::refreshGranted(const QUrlQuery &form)
{
    const QString clientId = field(form, u"client_id"_s);
    if (clientId.isEmpty())
        return errors::token(400, u"invalid_request"_s, u"Could not determine client ID from request."_s);
    const auto client = m_world.clients.find(clientId);
    if (client == m_world.clients.end())
        return errors::unknownClient();
    if (field(form, u"client_secret"_s) != client->second.secret)
        return errors::wrongClientSecret();
    const QString refreshToken = field(form, u"refresh_token"_s);
    if (refreshToken.isEmpty())
        return errors::token(400, u"invalid_request"_s, u"Missing required parameter: refresh_token"_s);
    const auto grant = m_world.grants.constFind(refreshToken);
    if (grant == m_world.grants.constEnd())
        return errors::token(400, u"invalid_grant"_s, u"Bad Request"_s);
    if (grant->revoked)
        return errors::revokedGrant();
    if (grant->clientId != clientId)
        return errors::token(401, u"unauthorized_client"_s, u"Unauthorized client or scope in request"_s);
    const QStringList asked = words(field(form, u"scope"_s));
    if (const QString beyond = scopesBeyond(asked, grant->scopes); !beyond.isEmpty())
        return errors::token(400, u"invalid_scope"_s,
                             u"Some requested scopes were invalid. {invalid=[%1]}"_s.arg(beyond));
    const QStringList scopes = asked.isEmpty() ? grant->scopes : asked;
    const QString accessToken = m_world.issue({grant->email, client->second.projectId, scopes, refreshToken});
    return Answer::json({{u"access_token"_s, accessToken},
                         {u"expires_in"_s, m_world.settings.tokenLifetimeS - 1},
                         {u"scope"_s, scopes.join(u' ')},
                         {u"token_type"_s, u"Bearer"_s}});
}

Answer TokenEndpoint::jwtBearer(const QUrlQuery &form)
{
    const QByteArray assertion = field(form, u"assertion"_s).toLatin1();
    Subject subject{u"token.jwt"_s, {}, {}};
    if (const auto jwt = Jwt::parse(assertion)) {
        subject.email = jwt->claims.value(u"sub"_s).toString().toLower();
        const auto account = m_world.serviceAccounts.find(jwt->claims.value(u"iss"_s).toString());
        if (account != m_world.serviceAccounts.end()) {
            subject.projectId = account->second.projectId;
            subject.clientId = account->second.email;
        }
    }
    return m_faults.run(subject, [&] { return jwtGranted(assertion); });
}

Answer TokenEndpoint::jwtGranted(const QByteArray &assertion)
{
    const auto refuse = [](const QString &text) { return errors::token(400, u"invalid_grant"_s, text); };
    const auto jwt = Jwt::parse(assertion);
    if (!jwt)
        return refuse(u"Invalid JWT: The assertion is not a JSON web token."_s);
    const auto account = m_world.serviceAccounts.find(jwt->claims.value(u"iss"_s).toString());
    if (account == m_world.serviceAccounts.end())
        return refuse(u"Invalid JWT: No valid verifier found for issuer"_s);
    if (jwt->header.value(u"alg"_s).toString() != u"RS256"_s
        || !account->second.key.verifyRs256(jwt->signedText, jwt->signature))
        return refuse(u"Invalid JWT Signature."_s);
    // Clients name Google's address whatever the URL they were pointed at.
    const QString audience = jwt->claims.value(u"aud"_s).toString();
    if (audience != u"https://oauth2.googleapis.com/token"_s && audience != m_ownUrl + u"/token"_s)
        return refuse(u"Invalid JWT: Failed audience check."_s);
    const qint64 nowS = m_world.clock.wallMs() / 1000;
    const qint64 issued = jwt->claims.value(u"iat"_s).toInteger();
    const qint64 expires = jwt->claims.value(u"exp"_s).toInteger();
    if (issued > nowS + m_world.settings.jwtSkewS || expires <= nowS || expires <= issued
        || expires - issued > 3600)
        return refuse(
            u"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
            u"Check your iat and exp values in the JWT claim."_s);
    const QStringList scopes = words(jwt->claims.value(u"scope"_s).toString());
    if (scopes.isEmpty())
        return errors::token(400, u"invalid_scope"_s,
                             u"Invalid OAuth scope or ID token audience provided."_s);
    const QString subject = jwt->claims.value(u"sub"_s).toString().toLower();
    if (!subject.isEmpty()) {
        if (!m_world.findUser(subject, account->second.projectId))
            return refuse(u"Invalid email or User ID"_s);
        if (!scopesBeyond(scopes, account->second.delegatedScopes).isEmpty())
            return errors::notDelegated();
    }
    const QString accessToken = m_world.issue({subject, account->second.projectId, scopes, {}});
    return Answer::json({{u"access_token"_s, accessToken},
                         {u"expires_in"_s, m_world.settings.tokenLifetimeS - 1},
                         {u"token_type"_s, u"Bearer"_s}});
}

Answer TokenEndpoint::revoke(const Call &call)
{
    QString text = call.query.queryItemValue(u"token"_s, QUrl::FullyDecoded);
    if (text.isEmpty())
        text = field(formOf(call.body), u"token"_s);
    const auto access = m_world.accepted("Bearer " + text.toLatin1());
    const auto grant = m_world.grants.find(access ? access->refreshToken : text);
    if (grant == m_world.grants.end() || grant->revoked)
        return errors::token(400, u"invalid_token"_s, u"Token expired or revoked"_s);
    grant->revoked = true;
    return Answer::json({});
}

} // namespace tidekeeper::googlesim
