// SPDX-License-Identifier: Apache-2.0
#include "google/fcm/errors.h"
#include "google/fcm/fcmapi.h"

#include <QtCore/QRegularExpression>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

const QStringList &targets()
{
    static const QStringList names{u"token"_s, u"topic"_s, u"condition"_s, u"fid"_s};
    return names;
}

/// JSON may come in camelCase or snake_case.
const QSet<QString> &fieldNames()
{
    static const QSet<QString> names{u"name"_s,      u"data"_s, u"notification"_s, u"android"_s,
                                     u"webpush"_s,   u"apns"_s, u"token"_s,        u"topic"_s,
                                     u"condition"_s, u"fid"_s,  u"fcmOptions"_s,   u"fcm_options"_s};
    return names;
}

bool isReserved(const QString &key)
{
    return key == u"from"_s || key == u"message_type"_s || key.startsWith(u"google."_s)
        || key.startsWith(u"gcm.notification."_s);
}

std::optional<Answer> fieldProblem(const QJsonObject &message)
{
    const QStringList names = message.keys();
    QString target;
    for (const QString &name : names) {
        if (!fieldNames().contains(name))
            return errors::fcmBadRequest(
                u"message"_s,
                u"Invalid JSON payload received. Unknown name \"%1\" at 'message': Cannot find field."_s.arg(
                    name));
        if (!targets().contains(name))
            continue;
        if (!target.isEmpty())
            return errors::fcmBadRequest(
                u"message"_s,
                u"Invalid value at 'message' (oneof), oneof field 'target' is already set. "
                u"Cannot set '%1'"_s.arg(name));
        target = name;
    }
    if (target.isEmpty())
        return errors::fcmBadRequest(u"message.token"_s, u"Recipient of the message is not set."_s);
    return std::nullopt;
}

std::optional<Answer> dataProblem(const QJsonObject &data)
{
    int index = 0;
    for (auto entry = data.begin(); entry != data.end(); ++entry, ++index) {
        if (!entry.value().isString())
            return errors::fcmBadRequest(u"message.data[%1].value"_s.arg(index),
                                         u"Invalid value at 'message.data[%1].value' (TYPE_STRING), %2"_s.arg(
                                             QString::number(index), entry.value().toVariant().toString()));
        if (isReserved(entry.key()))
            return errors::fcmBadRequest(u"message.data"_s,
                                         u"Invalid data payload key: %1"_s.arg(entry.key()));
    }
    return std::nullopt;
}

std::optional<Answer> ttlProblem(const QJsonObject &android)
{
    if (!android.contains(u"ttl"_s))
        return std::nullopt;
    static const QRegularExpression form(u"^(\\d{1,9}(?:\\.\\d{1,9})?)s$"_s);
    const auto match = form.match(android.value(u"ttl"_s).toString());
    if (match.hasMatch() && match.captured(1).toDouble() <= 2'419'200)
        return std::nullopt;
    return errors::fcmBadRequest(u"message.android.ttl"_s, u"Invalid value at 'message.android.ttl'"_s);
}

qsizetype sizeOf(const QJsonObject &object)
{
    qsizetype size = 0;
    for (auto entry = object.begin(); entry != object.end(); ++entry)
        size += entry.key().toUtf8().size() + entry.value().toString().toUtf8().size();
    return size;
}

} // namespace

std::optional<Answer> payloadProblem(const QJsonObject &message)
{
    if (auto problem = fieldProblem(message))
        return problem;
    const QJsonObject data = message.value(u"data"_s).toObject();
    if (auto problem = dataProblem(data))
        return problem;
    if (auto problem = ttlProblem(message.value(u"android"_s).toObject()))
        return problem;
    const bool toMany = message.contains(u"topic"_s) || message.contains(u"condition"_s);
    if (sizeOf(data) + sizeOf(message.value(u"notification"_s).toObject()) > (toMany ? 2048 : 4096))
        return errors::fcmBadRequest(u"message"_s, u"Message is too big"_s);
    return std::nullopt;
}

} // namespace tidekeeper::googlesim
