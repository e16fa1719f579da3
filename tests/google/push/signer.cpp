// SPDX-License-Identifier: Apache-2.0
#include "google/push/signer.h"

#include "google/oauth/jwt.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QJsonArray>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

constexpr qint64 lifetimeS = 3600;
constexpr qint64 leastLeftS = 300;

QString number(const QByteArray &bytes)
{
    return QString::fromLatin1(
        bytes.toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

} // namespace

const RsaKey &PushSigner::key()
{
    if (!m_key)
        m_key = RsaKey::generate();
    return *m_key;
}

QString PushSigner::keyId()
{
    return QString::fromLatin1(QCryptographicHash::hash(key().modulus(), QCryptographicHash::Sha1).toHex());
}

QByteArray PushSigner::token(const Settings &settings, qint64 nowMs)
{
    const qint64 nowS = nowMs / 1000;
    // Without an audience of its own a subscription's tokens name the address that is pushed to.
    const QString audience =
        settings.pushTokenAudience.isEmpty() ? settings.pushUrl : settings.pushTokenAudience;
    if (m_claims[u"aud"].toString() == audience
        && m_claims[u"email"].toString() == settings.pushServiceAccount
        && m_claims[u"exp"].toInteger() - nowS > leastLeftS)
        return m_token;
    m_claims = {{u"iss"_s, u"https://accounts.google.com"_s},
                {u"aud"_s, audience},
                {u"azp"_s, u"113774264463038321964"_s},
                {u"sub"_s, u"113774264463038321964"_s},
                {u"email"_s, settings.pushServiceAccount},
                {u"email_verified"_s, true},
                {u"iat"_s, nowS},
                {u"exp"_s, nowS + lifetimeS}};
    m_token = Jwt::make(m_claims, key(), keyId());
    return m_token;
}

QJsonObject PushSigner::jwks()
{
    const QJsonObject published{{u"kty"_s, u"RSA"_s},
                                {u"use"_s, u"sig"_s},
                                {u"alg"_s, u"RS256"_s},
                                {u"kid"_s, keyId()},
                                {u"n"_s, number(key().modulus())},
                                {u"e"_s, number(key().exponent())}};
    return {{u"keys"_s, QJsonArray{published}}};
}

} // namespace tidekeeper::googlesim
