// SPDX-License-Identifier: Apache-2.0
#include "limits/accountnames.h"

#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QMessageAuthenticationCode>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qsizetype leastKeyBytes = 16;
constexpr qint64 mostFileBytes = 4'096;
constexpr auto base64 = QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals;
constexpr QFileDevice::Permissions ofOthers =
    QFileDevice::ReadGroup | QFileDevice::WriteGroup | QFileDevice::ReadOther | QFileDevice::WriteOther;

const QString kindField = u"account_key"_s;
const QString fileField = u"account_key_file"_s;

tl::unexpected<Error> bad(const QString &field, const QString &what)
{
    return fail(u"invalid_policy"_s, field + u' ' + what, {{u"field"_s, field}});
}

/// The trimmed content.
Result<QByteArray> readKey(const QString &path)
{
    const auto unreadable = [&path](const QString &why) {
        return bad(fileField, u"names the file \"%1\", which cannot be read: %2."_s.arg(path, why));
    };
    QFile file(path);
    if (QFileInfo(path).exists() && !QFileInfo(path).isFile()) // a pipe would hold up the start
        return unreadable(u"it is not a regular file"_s);
    if (!file.open(QIODevice::ReadOnly))
        return unreadable(file.errorString());
    if (file.size() > mostFileBytes)
        return unreadable(u"it is longer than %1 bytes"_s.arg(mostFileBytes));
    QByteArray key = file.read(mostFileBytes).trimmed();
    if (key.size() < leastKeyBytes) {
        const QString text =
            u"names the file \"%1\", whose key is too short: at least %2 bytes are needed beside white "
            "space. Make one with \"openssl rand -hex 32\"."_s;
        return bad(fileField, text.arg(path, QString::number(leastKeyBytes)));
    }
    return key;
}

} // namespace

Result<AccountNames> AccountNames::from(const QJsonObject &policy)
{
    const QString kind = policy[kindField].toString(policy.contains(kindField) ? QString() : u"base64url"_s);
    const QString path = policy[fileField].toString();
    AccountNames names;
    if (kind == "base64url"_L1) {
        if (!path.isEmpty())
            names.m_warnings.append(
                u"account_key_file has no effect, because account_key is \"base64url\"."_s);
        return names;
    }
    if (kind != "hmac"_L1)
        return bad(kindField, u"must be \"base64url\" or \"hmac\"."_s);
    if (path.isEmpty())
        return bad(fileField, u"is missing: account_key = \"hmac\" needs the file of its key."_s);
    Result<QByteArray> key = readKey(path);
    if (!key)
        return fail(key.error());
    names.m_key = *std::move(key);
    if (QFile(path).permissions() & ofOthers) {
        const QString text =
            u"account_key_file: other users can read or write \"%1\", and whoever has the key can tell which "
            "account a name in Redis is. Run: chmod 600 %1"_s;
        names.m_warnings.append(text.arg(path));
    }
    return names;
}

QByteArray AccountNames::nameOf(const QString &account) const
{
    const QByteArray text = account.toUtf8();
    if (tellAddresses())
        return text.toBase64(base64);
    return QMessageAuthenticationCode::hash(text, m_key, QCryptographicHash::Sha256).toBase64(base64);
}

QString AccountNames::accountOf(const QByteArray &name) const
{
    return tellAddresses() ? QString::fromUtf8(QByteArray::fromBase64(name, base64)) : QString();
}

} // namespace tidekeeper::limits
