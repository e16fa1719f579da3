// SPDX-License-Identifier: Apache-2.0
#include "http/pubsubmessage.h"

#include "core/account.h"
#include "core/pushproof.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr qsizetype mostEmailBytes = 320;

/// Empty when it is not base64.
QByteArray decoded(QByteArray data)
{
    data.replace('+', '-').replace('/', '_');
    while (data.endsWith('='))
        data.chop(1);
    const auto result =
        QByteArray::fromBase64Encoding(data,
                                       QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals
                                           | QByteArray::AbortOnBase64DecodingErrors);
    return result ? result.decoded : QByteArray();
}

/// Qt keeps a number beyond 2^63 as a double, so the digits are taken from the text.
QString historyIdOf(const QJsonValue &value, const QByteArray &text)
{
    static const QRegularExpression number(u"\"historyId\"\\s*:\\s*(\\d{1,20})\\s*[,}]"_s);
    return value.isDouble() ? number.match(QString::fromUtf8(text)).captured(1) : value.toString();
}

} // namespace

std::optional<GmailPush> gmailPushFrom(const QByteArray &body)
{
    const QJsonObject message = QJsonDocument::fromJson(body).object()["message"_L1].toObject();
    const QByteArray text = decoded(message["data"_L1].toString().toLatin1());
    const QJsonObject said = QJsonDocument::fromJson(text).object();
    const QString email = core::normalizedEmail(said["emailAddress"_L1].toString());
    const QString historyId = historyIdOf(said["historyId"_L1], text);
    if (!email.contains(u'@') || email.toUtf8().size() > mostEmailBytes || !core::historyId(historyId))
        return std::nullopt;
    return GmailPush{email, historyId};
}

} // namespace tidekeeper::http
