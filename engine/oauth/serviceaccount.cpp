// SPDX-License-Identifier: Apache-2.0
#include "oauth/serviceaccount.h"

#include "oauth/rs256.h"

#include <QtCore/QFile>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

// Google's own clients write this audience whatever address they post to, so an assertion for another token
// endpoint (a proxy, a simulator) carries it as well.
constexpr auto audience = "https://oauth2.googleapis.com/token"_L1;
constexpr qint64 clockSlackS = 10;
constexpr qint64 lifetimeS = 3600;
constexpr qint64 largestKeyFile = 64 * 1024;

QByteArray base64Url(const QByteArray &bytes)
{
    return bytes.toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals);
}

QByteArray encoded(const QJsonObject &object)
{
    return base64Url(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

} // namespace

Result<ServiceAccountKey> loadServiceAccountKey(const QString &file)
{
    const auto broken = [&](const QString &what) {
        return fail(u"service_account_key"_s, u"The service account key file %1 %2."_s.arg(file, what),
                    {{u"file"_s, file}});
    };
    QFile device(file);
    if (!device.open(QIODevice::ReadOnly))
        return broken(u"cannot be read: %1"_s.arg(device.errorString()));
    const QJsonObject json = QJsonDocument::fromJson(device.read(largestKeyFile)).object();
    const ServiceAccountKey key{
        json.value("client_email"_L1).toString(), json.value("private_key_id"_L1).toString(),
        json.value("project_id"_L1).toString(), json.value("private_key"_L1).toString().toLatin1()};
    if (key.email.isEmpty() || key.privateKeyPem.isEmpty())
        return broken(u"is not a JSON key with client_email and private_key"_s);
    return key;
}

Result<QByteArray> signedAssertion(const ServiceAccountKey &key, const QString &scope, const QString &subject,
                                   qint64 nowMs)
{
    QJsonObject header{{u"alg"_s, u"RS256"_s}, {u"typ"_s, u"JWT"_s}};
    if (!key.keyId.isEmpty())
        header.insert(u"kid"_s, key.keyId);
    const qint64 issuedAtS = nowMs / 1000 - clockSlackS;
    QJsonObject claims{{u"iss"_s, key.email},
                       {u"scope"_s, scope},
                       {u"aud"_s, audience},
                       {u"iat"_s, issuedAtS},
                       {u"exp"_s, issuedAtS + lifetimeS}};
    if (!subject.isEmpty())
        claims.insert(u"sub"_s, subject);

    const QByteArray text = encoded(header) + '.' + encoded(claims);
    const std::optional<QByteArray> signature = signedRs256(text, key.privateKeyPem);
    if (!signature)
        return fail(u"service_account_key"_s,
                    u"The private key of the service account is not a usable RSA key."_s);
    return text + '.' + base64Url(*signature);
}

} // namespace tidekeeper::oauth
