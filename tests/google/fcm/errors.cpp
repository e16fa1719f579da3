// SPDX-License-Identifier: Apache-2.0
#include "google/fcm/errors.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::googlesim::errors {

using namespace Qt::StringLiterals;

namespace {

Answer withDetails(int code, const QString &status, const QString &message, const QJsonArray &details)
{
    QJsonObject body{{u"code"_s, code}, {u"message"_s, message}, {u"status"_s, status}};
    if (!details.isEmpty())
        body.insert(u"details"_s, details);
    return Answer::json({{u"error"_s, body}}, code);
}

QJsonObject fcmError(const QString &errorCode)
{
    return {{u"@type"_s, u"type.googleapis.com/google.firebase.fcm.v1.FcmError"_s},
            {u"errorCode"_s, errorCode}};
}

} // namespace

Answer fcm(int code, const QString &status, const QString &message, const QString &errorCode,
           qint64 retryAfterS)
{
    Answer answer = withDetails(code, status, message,
                                errorCode.isEmpty() ? QJsonArray() : QJsonArray{fcmError(errorCode)});
    if (retryAfterS >= 0)
        answer.headers.append({"Retry-After", QByteArray::number(retryAfterS)});
    return answer;
}

Answer fcmBadRequest(const QString &field, const QString &description)
{
    const QJsonObject violation{{u"field"_s, field}, {u"description"_s, description}};
    return withDetails(400, u"INVALID_ARGUMENT"_s, description,
                       QJsonArray{QJsonObject{{u"@type"_s, u"type.googleapis.com/google.rpc.BadRequest"_s},
                                              {u"fieldViolations"_s, QJsonArray{violation}}}});
}

Answer fcmUnregistered()
{
    return fcm(404, u"NOT_FOUND"_s, u"Requested entity was not found."_s, u"UNREGISTERED"_s);
}

Answer fcmInvalidToken()
{
    return fcm(400, u"INVALID_ARGUMENT"_s, u"The registration token is not a valid FCM registration token"_s,
               u"INVALID_ARGUMENT"_s);
}

Answer fcmSenderIdMismatch()
{
    return fcm(403, u"PERMISSION_DENIED"_s, u"SenderId mismatch"_s, u"SENDER_ID_MISMATCH"_s);
}

Answer fcmQuotaExceeded(qint64 retryAfterS)
{
    return fcm(429, u"RESOURCE_EXHAUSTED"_s, u"Quota exceeded for FCM message sending."_s,
               u"QUOTA_EXCEEDED"_s, retryAfterS);
}

} // namespace tidekeeper::googlesim::errors
