// SPDX-License-Identifier: Apache-2.0
#include "reportrequest.h"

#include "nearest.h"

#include <QtCore/QJsonArray>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;
using tidekeeper::Status;

namespace gmailquota {

namespace {

constexpr qsizetype longestAccountBytes = 320;

Status invalid(const QString &field, const QString &what)
{
    return Status::failure(u"invalid_request"_s, u"\"%1\" %2"_s.arg(field, what), {{u"field"_s, field}});
}

/// An optional text; not empty when it is there.
Status readText(const QJsonObject &json, const QString &field, QString *text)
{
    const QJsonValue value = json[field];
    if (value.isUndefined())
        return Status::success();
    *text = value.toString();
    return text->isEmpty() ? invalid(field, u"must be a text that is not empty."_s) : Status::success();
}

Status checkNames(const QJsonObject &json)
{
    static const QStringList known{u"account"_s, u"project"_s, u"status"_s,
                                   u"headers"_s, u"body"_s,    u"grant_id"_s};
    for (const QString &field : json.keys()) {
        if (known.contains(field))
            continue;
        Status unknown = invalid(field, u"is not a field of a report."_s + didYouMean(field, known));
        unknown.details[u"near"_s] = QJsonArray::fromStringList(nearestOf(field, known));
        return unknown;
    }
    return Status::success();
}

Status readAccount(const QJsonObject &json, QString *account)
{
    const QString field = u"account"_s;
    if (!json.contains(field))
        return invalid(field, u"is missing: give the address of the mailbox that the call was for."_s);
    if (const Status status = readText(json, field, account); !status.ok())
        return status;
    if (account->trimmed().isEmpty())
        return invalid(field, u"must be a text that is not empty."_s);
    if (account->toUtf8().size() > longestAccountBytes)
        return invalid(field, u"must be at most 320 bytes of UTF-8."_s);
    return Status::success();
}

/// A text, or a list of texts, as the HTTP clients of many languages have a header that may come twice.
bool isHeaderValue(const QJsonValue &value)
{
    const QJsonArray list = value.toArray();
    return value.isString()
        || (value.isArray()
            && std::all_of(list.begin(), list.end(), [](const QJsonValue &one) { return one.isString(); }));
}

Status readAnswer(const QJsonObject &json, GmailAnswer *answer)
{
    if (!json.contains("status"_L1))
        return invalid(u"status"_s, u"is missing: give the HTTP status of Gmail's answer."_s);
    const double status = json["status"_L1].toDouble(NAN);
    if (!(status >= 100 && status <= 599 && status == std::floor(status)))
        return invalid(u"status"_s, u"must be a whole number from 100 to 599."_s);
    answer->status = int(status);

    const QJsonValue headers = json["headers"_L1];
    const QJsonObject values = headers.toObject();
    const bool texts = std::all_of(values.begin(), values.end(), isHeaderValue);
    if (!headers.isUndefined() && !(headers.isObject() && texts))
        return invalid(u"headers"_s, u"must be an object of texts, such as {\"Retry-After\": \"30\"}."_s);
    answer->headers = values;

    answer->body = json["body"_L1];
    if (!answer->body.isUndefined() && !answer->body.isString() && !answer->body.isObject())
        return invalid(u"body"_s,
                       u"must be Gmail's answer as text or as an object; leave it out when empty."_s);
    return Status::success();
}

} // namespace

Status readReport(const QJsonObject &json, ReportRequest *request)
{
    if (const Status status = checkNames(json); !status.ok())
        return status;
    if (const Status status = readAccount(json, &request->account); !status.ok())
        return status;
    request->project = u"default"_s;
    if (const Status status = readText(json, u"project"_s, &request->project); !status.ok())
        return status;
    if (const Status status = readText(json, u"grant_id"_s, &request->grantId); !status.ok())
        return status;
    return readAnswer(json, &request->answer);
}

} // namespace gmailquota
