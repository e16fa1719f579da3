// SPDX-License-Identifier: Apache-2.0
#include "google/push/notification.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonDocument>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

QByteArray json(const QJsonObject &object)
{
    return QJsonDocument(object).toJson(QJsonDocument::Compact);
}

} // namespace

QByteArray bodyOf(const Notification &notification, const QString &shape)
{
    const bool asOnTheWire = shape == u"wire"_s;
    const QJsonValue historyId = asOnTheWire ? QJsonValue(qint64(notification.historyId))
                                             : QJsonValue(QString::number(notification.historyId));
    const QByteArray data = json({{u"emailAddress"_s, notification.email}, {u"historyId"_s, historyId}});
    const QString publishTime =
        QDateTime::fromMSecsSinceEpoch(notification.publishedAtMs, Qt::UTC).toString(Qt::ISODateWithMs);
    QJsonObject message{{u"messageId"_s, notification.messageId}, {u"publishTime"_s, publishTime}};
    if (asOnTheWire) {
        message.insert(u"message_id"_s, notification.messageId);
        message.insert(u"publish_time"_s, publishTime);
        message.insert(u"data"_s, QString::fromLatin1(data.toBase64()));
    } else {
        constexpr auto urlAlphabet = QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals;
        message.insert(u"data"_s, QString::fromLatin1(data.toBase64(urlAlphabet)));
    }
    return json({{u"message"_s, message}, {u"subscription"_s, notification.subscription}});
}

} // namespace tidekeeper::googlesim
