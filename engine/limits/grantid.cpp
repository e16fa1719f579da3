// SPDX-License-Identifier: Apache-2.0
#include "limits/grantid.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QStringList>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qsizetype checksumBytes = 6;
constexpr char separator = '\n'; // no project, account or place contains one; an id may, and comes last
constexpr auto base64 = QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals;

QByteArray checksum(const QString &limiter, const QByteArray &content)
{
    QCryptographicHash hash(QCryptographicHash::Sha256);
    hash.addData(limiter.toUtf8());
    hash.addData(QByteArrayView(&separator, 1));
    hash.addData(content);
    return hash.result().left(checksumBytes);
}

QString sealed(const QString &limiter, const QByteArrayList &parts)
{
    const QByteArray content = parts.join(separator);
    return QString::fromLatin1((checksum(limiter, content) + content).toBase64(base64));
}

/// The parts of an id of this kind, the first of which is the kind; empty when it is none.
QByteArrayList unsealed(const QString &limiter, const QString &id, char kind, qsizetype count)
{
    const QByteArray text = id.toLatin1();
    const auto decoded =
        QByteArray::fromBase64Encoding(text, base64 | QByteArray::AbortOnBase64DecodingErrors);
    const QByteArray content = decoded.decoded.mid(checksumBytes);
    // Encoded again it must be the same: the last character has bits that decode to nothing.
    if (!decoded || decoded.decoded.toBase64(base64) != text
        || checksum(limiter, content) != decoded.decoded.left(checksumBytes))
        return {};
    QByteArrayList parts = content.split(separator);
    if (parts.size() < count || parts.first() != QByteArrayView(&kind, 1))
        return {};
    const QByteArray last = parts.mid(count - 1).join(separator);
    parts.resize(count);
    parts.last() = last;
    return parts;
}

tl::unexpected<Error> notOurs(const QString &field, const QString &what)
{
    const QString text = u"\"%1\" is not %2 of this limiter: pass it on as it was answered."_s;
    return fail(u"invalid_request"_s, text.arg(field, what), {{u"field"_s, field}});
}

} // namespace

QString grantIdOf(const QString &limiter, const Grant &grant)
{
    return sealed(limiter,
                  {"g", grant.project.toUtf8(), grant.account.toUtf8(), QByteArray::number(grant.cost),
                   QByteArray::number(grant.nowUs), grant.degraded ? "d" : "", grant.id.toUtf8()});
}

Result<Grant> grantFrom(const QString &limiter, const QString &grantId)
{
    const QByteArrayList parts = unsealed(limiter, grantId, 'g', 7);
    if (parts.isEmpty())
        return notOurs(u"grant_id"_s, u"a grant"_s);
    return Grant{QString::fromUtf8(parts[1]),
                 QString::fromUtf8(parts[2]),
                 parts[3].toLongLong(),
                 parts[4].toLongLong(),
                 parts[5] == "d",
                 QString::fromUtf8(parts[6])};
}

QString holdIdOf(const QString &limiter, const Hold &hold)
{
    return sealed(limiter, {"h", hold.project.toUtf8(), hold.accountName, hold.place.toUtf8()});
}

Result<Hold> holdFrom(const QString &limiter, const QString &holdId)
{
    const QByteArrayList parts = unsealed(limiter, holdId, 'h', 4);
    if (parts.isEmpty())
        return notOurs(u"hold"_s, u"a place"_s);
    return Hold{QString::fromUtf8(parts[1]), parts[2], QString::fromUtf8(parts[3])};
}

} // namespace tidekeeper::limits
