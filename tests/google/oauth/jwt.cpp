// SPDX-License-Identifier: Apache-2.0
#include "google/oauth/jwt.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QList>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

constexpr auto encoding = QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals;

std::optional<QByteArray> decoded(const QByteArray &part)
{
    const auto result =
        QByteArray::fromBase64Encoding(part, encoding | QByteArray::AbortOnBase64DecodingErrors);
    return result ? std::optional(result.decoded) : std::nullopt;
}

QByteArray encoded(const QJsonObject &object)
{
    return QJsonDocument(object).toJson(QJsonDocument::Compact).toBase64(encoding);
}

} // namespace

std::optional<Jwt> Jwt::parse(const QByteArray &compact)
{
    const QList<QByteArray> parts = compact.split('.');
    if (parts.size() != 3)
        return std::nullopt;
    const auto header = decoded(parts[0]);
    const auto claims = decoded(parts[1]);
    const auto signature = decoded(parts[2]);
    if (!header || !claims || !signature)
        return std::nullopt;
    const QJsonDocument headerJson = QJsonDocument::fromJson(*header);
    const QJsonDocument claimsJson = QJsonDocument::fromJson(*claims);
    if (!headerJson.isObject() || !claimsJson.isObject())
        return std::nullopt;
    return Jwt{headerJson.object(), claimsJson.object(), parts[0] + '.' + parts[1], *signature};
}

QByteArray Jwt::make(const QJsonObject &claims, const RsaKey &key, const QString &keyId)
{
    QJsonObject header{{u"alg"_s, u"RS256"_s}, {u"typ"_s, u"JWT"_s}};
    if (!keyId.isEmpty())
        header.insert(u"kid"_s, keyId);
    const QByteArray text = encoded(header) + '.' + encoded(claims);
    return text + '.' + key.signRs256(text).toBase64(encoding);
}

} // namespace tidekeeper::googlesim
