// SPDX-License-Identifier: Apache-2.0
#include "decide/apierror.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace watchrenewal {

namespace {

QString withoutAddresses(QString message)
{
    static const QRegularExpression address(u"[^\\s<>\"'@]+@[^\\s<>\"'@]+"_s);
    return message.replace(address, u"(address)"_s).left(300);
}

} // namespace

ApiError apiErrorFrom(const QString &body)
{
    const QJsonObject error = QJsonDocument::fromJson(body.toUtf8()).object().value("error"_L1).toObject();
    ApiError result;
    result.message = withoutAddresses(error.value("message"_L1).toString());
    result.reason = error.value("errors"_L1).toArray().at(0).toObject().value("reason"_L1).toString();
    const QJsonArray details = error.value("details"_L1).toArray();
    for (const QJsonValue &value : details) {
        const QJsonObject detail = value.toObject();
        if (!detail.value("@type"_L1).toString().endsWith("google.rpc.ErrorInfo"_L1))
            continue;
        result.infoReason = detail.value("reason"_L1).toString();
        result.quotaLimit = detail.value("metadata"_L1).toObject().value("quota_limit"_L1).toString();
    }
    return result;
}

} // namespace watchrenewal
