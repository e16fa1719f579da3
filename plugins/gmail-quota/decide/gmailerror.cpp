// SPDX-License-Identifier: Apache-2.0
#include "gmailerror.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace gmailquota {

namespace {

constexpr qsizetype mostSearched = 16'384; // characters of a text that is no JSON
constexpr qint64 largestLimit = 1'000'000'000; // units; anything beyond is no limit

/// The object itself, or the first one of a list.
QJsonObject objectIn(const QJsonValue &value)
{
    return value.isArray() ? value.toArray().at(0).toObject() : value.toObject();
}

qint64 limitValue(const QJsonValue &value)
{
    const double number = value.isString() ? value.toString().toDouble() : value.toDouble();
    return number >= 1 && number <= double(largestLimit) ? qint64(number) : 0;
}

void takeDetails(const QJsonArray &details, GmailError *error)
{
    for (const QJsonValue &value : details) {
        const QJsonObject detail = value.toObject();
        if (const QString reason = detail["reason"_L1].toString(); !reason.isEmpty())
            error->reasons.append(reason);
        const QJsonObject metadata = detail["metadata"_L1].toObject();
        if (!metadata.contains("quota_limit"_L1))
            continue;
        error->quotaMetric = metadata["quota_metric"_L1].toString();
        error->quotaLimit = metadata["quota_limit"_L1].toString();
        error->quotaUnit = metadata["quota_unit"_L1].toString();
        error->quotaLimitValue = limitValue(metadata["quota_limit_value"_L1]);
    }
}

/// root: {"error": {…}}, or the inner object alone, as client libraries hand it on.
GmailError fromEnvelope(const QJsonObject &root)
{
    GmailError error;
    const QJsonValue wrapped = root["error"_L1];
    if (wrapped.isString()) {
        error.reasons.append(wrapped.toString());
        error.message = root["error_description"_L1].toString();
        return error;
    }
    const QJsonObject inner = wrapped.isUndefined() ? root : objectIn(wrapped);
    error.message = inner["message"_L1].toString();
    error.status = inner["status"_L1].toString();
    for (const QJsonValue &one : inner["errors"_L1].toArray()) {
        if (const QString reason = one["reason"_L1].toString(); !reason.isEmpty())
            error.reasons.append(reason);
        if (error.message.isEmpty())
            error.message = one["message"_L1].toString();
    }
    takeDetails(inner["details"_L1].toArray(), &error);
    return error;
}

/// The value of a key in the remains of JSON or of a printed dictionary.
QString valueIn(const QString &text, const QString &key)
{
    const QRegularExpression pattern(u"[\"']%1\\\\?[\"']\\s*:\\s*\\\\?[\"']([^\"'\\\\]*)"_s.arg(key));
    return pattern.match(text).captured(1);
}

GmailError fromText(const QString &text)
{
    GmailError error;
    error.message = text;
    error.message.replace("\\u0027"_L1, "'"_L1);
    if (const QString reason = valueIn(text, u"reason"_s); !reason.isEmpty())
        error.reasons.append(reason);
    error.status = valueIn(text, u"status"_s);
    error.quotaMetric = valueIn(text, u"quota_metric"_s);
    error.quotaLimit = valueIn(text, u"quota_limit"_s);
    error.quotaUnit = valueIn(text, u"quota_unit"_s);
    error.quotaLimitValue = limitValue(valueIn(text, u"quota_limit_value"_s));
    return error;
}

} // namespace

GmailError gmailErrorFrom(const QJsonValue &body)
{
    if (!body.isString())
        return fromEnvelope(objectIn(body));
    const QString text = body.toString();
    const QJsonDocument document = QJsonDocument::fromJson(text.toUtf8());
    if (document.isNull())
        return fromText(text.left(mostSearched));
    return fromEnvelope(document.isArray() ? objectIn(document.array()) : document.object());
}

} // namespace gmailquota
