// SPDX-License-Identifier: Apache-2.0
#include "oauth/pushtoken.h"

#include <QtCore/QJsonDocument>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

constexpr qsizetype largestToken = 8 * 1024; // Google's have about 800 characters
constexpr double leewayS = 60;

tl::unexpected<Error> refused(const QString &reason, const QString &text)
{
    return fail(u"push_token_refused"_s, text, {{u"reason"_s, reason}});
}

tl::unexpected<Error> malformed()
{
    return refused(u"malformed"_s, u"The bearer token is no JSON web token."_s);
}

/// Empty when the part is not what it should be: no part of a good token is.
QByteArray decoded(const QByteArray &part)
{
    const auto result =
        QByteArray::fromBase64Encoding(part,
                                       QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals
                                           | QByteArray::AbortOnBase64DecodingErrors);
    return result ? result.decoded : QByteArray();
}

bool isGoogle(const QString &issuer)
{
    return issuer == "https://accounts.google.com"_L1 || issuer == "accounts.google.com"_L1;
}

} // namespace

Result<PushToken> parsePushToken(const QByteArray &compact)
{
    if (compact.size() > largestToken)
        return malformed();
    const QList<QByteArray> parts = compact.split('.');
    if (parts.size() != 3)
        return malformed();
    const QJsonDocument header = QJsonDocument::fromJson(decoded(parts[0]));
    const QJsonDocument claims = QJsonDocument::fromJson(decoded(parts[1]));
    if (!header.isObject() || !claims.isObject())
        return malformed();
    // The token must not choose how it is checked: "none", or HS256 with the public key as the secret.
    if (header["alg"_L1].toString() != "RS256"_L1)
        return refused(u"algorithm"_s, u"The bearer token is not signed with RS256."_s);
    const QByteArray signature = decoded(parts[2]);
    if (signature.isEmpty())
        return malformed();
    return PushToken{header["kid"_L1].toString(), claims.object(), parts[0] + '.' + parts[1], signature};
}

Result<> checkClaims(const QJsonObject &claims, const PushSender &sender, qint64 nowMs)
{
    const double nowS = static_cast<double>(nowMs) / 1000;
    if (!isGoogle(claims["iss"_L1].toString()))
        return refused(u"issuer"_s, u"The bearer token was not issued by Google."_s);
    if (claims["aud"_L1].toString() != sender.audience)
        return refused(u"audience"_s, u"The bearer token's audience is not push.audience."_s);
    if (claims["email"_L1].toString() != sender.serviceAccount || !claims["email_verified"_L1].toBool())
        return refused(u"account"_s, u"The bearer token does not belong to push.service_account."_s);
    if (claims["exp"_L1].toDouble() <= nowS - leewayS)
        return refused(u"expired"_s, u"The bearer token has expired."_s);
    if (!claims["iat"_L1].isDouble() || claims["iat"_L1].toDouble() > nowS + leewayS)
        return refused(u"not_yet"_s, u"The bearer token is from the future; are the clocks right?"_s);
    return {};
}

PushTokens::PushTokens(SigningKeys &keys, PushSender sender, const Clock &clock)
    : m_keys(keys), m_sender(std::move(sender)), m_clock(clock)
{ }

/// What costs nothing first: made-up tokens are to cause no request for keys.
QCoro::Task<Result<>> PushTokens::check(QByteArray compact)
{
    const Result<PushToken> token = parsePushToken(compact);
    if (!token)
        co_return fail(token.error());
    const Result<> claims = checkClaims(token->claims, m_sender, m_clock.nowMs());
    if (!claims)
        co_return fail(claims.error());
    const Result<std::optional<RsaPublicKey>> key = co_await m_keys.find(token->keyId);
    if (!key)
        co_return fail(key.error());
    if (!*key)
        co_return refused(u"unknown_key"_s,
                          u"The bearer token is signed with a key that Google does not have."_s);
    if (!(*key)->verifies(token->signedText, token->signature))
        co_return refused(u"signature"_s, u"The bearer token's signature is wrong."_s);
    co_return Result<>();
}

} // namespace tidekeeper::oauth
