// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/errors.h"

#include <QtCore/QHash>

namespace tidekeeper::googlesim::errors {

using namespace Qt::StringLiterals;

namespace {

QJsonObject errorInfo(const QString &reason, const QJsonObject &metadata)
{
    return {{u"@type"_s, u"type.googleapis.com/google.rpc.ErrorInfo"_s},
            {u"reason"_s, reason},
            {u"domain"_s, u"googleapis.com"_s},
            {u"metadata"_s, metadata}};
}

QJsonObject help(const QString &description, const QString &url)
{
    return {{u"@type"_s, u"type.googleapis.com/google.rpc.Help"_s},
            {u"links"_s, QJsonArray{QJsonObject{{u"description"_s, description}, {u"url"_s, url}}}}};
}

struct Meter {
    QString metricName; ///< "Total Query Cost"
    QString metric; ///< "gmail.googleapis.com/total_query_cost"
    QString limitName; ///< "Units per minute"
    QString limit; ///< "totalQueryCostPerMinute"
};

Meter meterOf(Preset preset)
{
    if (preset == Preset::Gmail2026)
        return {u"Total Query Cost"_s, u"gmail.googleapis.com/total_query_cost"_s, u"Units per minute"_s,
                u"totalQueryCostPerMinute"_s};
    return {u"Queries"_s, u"gmail.googleapis.com/default"_s, u"Queries per minute"_s, u"defaultPerMinute"_s};
}

} // namespace

Answer gmail(const GmailError &error)
{
    QJsonObject item{{u"message"_s, error.message}, {u"domain"_s, error.domain}, {u"reason"_s, error.reason}};
    if (!error.location.isEmpty()) {
        item.insert(u"locationType"_s, u"header"_s);
        item.insert(u"location"_s, error.location);
    }
    QJsonObject body{{u"code"_s, error.code},
                     {u"message"_s, error.message},
                     {u"errors"_s, QJsonArray{item}},
                     {u"status"_s, error.status}};
    if (!error.details.isEmpty())
        body.insert(u"details"_s, error.details);
    return Answer::json({{u"error"_s, body}}, error.code);
}

Answer unitsExhausted(Scope scope, Preset preset, qint64 limit, const QString &projectNumber, int httpStatus)
{
    const Meter meter = meterOf(preset);
    const bool perUser = scope == Scope::User;
    const QString message =
        u"Quota exceeded for quota metric '%1' and limit '%2%3' of service 'gmail.googleapis.com' "
        u"for consumer 'project_number:%4'."_s.arg(meter.metricName, meter.limitName,
                                                   perUser ? u" per user"_s : QString(), projectNumber);
    QJsonObject metadata{
        {u"quota_metric"_s, meter.metric},
        {u"quota_limit"_s, meter.limit + (perUser ? u"PerUser"_s : u"PerProject"_s)},
        {u"quota_limit_value"_s, QString::number(limit)},
        {u"quota_location"_s, u"global"_s},
        {u"service"_s, u"gmail.googleapis.com"_s},
        {u"consumer"_s, u"projects/"_s + projectNumber},
    };
    if (preset == Preset::Gmail2026)
        metadata.insert(u"quota_unit"_s, perUser ? u"1/min/{project}/{user}"_s : u"1/min/{project}"_s);
    return gmail({httpStatus, message, u"rateLimitExceeded"_s,
                  httpStatus == 429 ? u"RESOURCE_EXHAUSTED"_s : u"PERMISSION_DENIED"_s, u"usageLimits"_s,
                  QJsonArray{errorInfo(u"RATE_LIMIT_EXCEEDED"_s, metadata),
                             help(u"Request a higher quota limit."_s,
                                  u"https://cloud.google.com/docs/quota#requesting_higher_quota"_s)}});
}

Answer tooManyConcurrent()
{
    return gmail(
        {429, u"Too many concurrent requests for user."_s, u"rateLimitExceeded"_s, u"RESOURCE_EXHAUSTED"_s});
}

Answer retryAfter(const QString &until, const QString &family)
{
    // Two spaces before "Retry", as captured.
    const QString message = u"User-rate limit exceeded.  Retry after %1%2"_s.arg(
        until, family.isEmpty() ? QString() : u" (%1)"_s.arg(family));
    return gmail({429, message, u"rateLimitExceeded"_s, u"RESOURCE_EXHAUSTED"_s});
}

Answer exhausted()
{
    return gmail({429, u"Resource has been exhausted (e.g. check quota)."_s, u"rateLimitExceeded"_s,
                  u"RESOURCE_EXHAUSTED"_s});
}

Answer dailyLimit()
{
    return gmail(
        {403, u"Daily Limit Exceeded"_s, u"dailyLimitExceeded"_s, u"PERMISSION_DENIED"_s, u"usageLimits"_s});
}

Answer invalidCredentials()
{
    return gmail({401,
                  u"Invalid Credentials"_s,
                  u"authError"_s,
                  u"UNAUTHENTICATED"_s,
                  u"global"_s,
                  {},
                  u"Authorization"_s});
}

Answer insufficientScope(const QString &method)
{
    return gmail({403, u"Request had insufficient authentication scopes."_s, u"insufficientPermissions"_s,
                  u"PERMISSION_DENIED"_s, u"global"_s,
                  QJsonArray{errorInfo(u"ACCESS_TOKEN_SCOPE_INSUFFICIENT"_s,
                                       {{u"service"_s, u"gmail.googleapis.com"_s}, {u"method"_s, method}})}});
}

Answer delegationDenied(const QString &email)
{
    return gmail({403, u"Delegation denied for %1"_s.arg(email), u"forbidden"_s, u"PERMISSION_DENIED"_s});
}

Answer apiDisabled(const QString &projectNumber)
{
    const QString url =
        u"https://console.developers.google.com/apis/api/gmail.googleapis.com/overview?project=%1"_s.arg(
            projectNumber);
    const QString message =
        u"Gmail API has not been used in project %1 before or it is disabled. Enable it by visiting "
        u"%2 then retry."_s.arg(projectNumber, url);
    return gmail({403, message, u"accessNotConfigured"_s, u"PERMISSION_DENIED"_s, u"usageLimits"_s,
                  QJsonArray{errorInfo(u"SERVICE_DISABLED"_s,
                                       {{u"service"_s, u"gmail.googleapis.com"_s},
                                        {u"consumer"_s, u"projects/"_s + projectNumber}}),
                             help(u"Google developers console API activation"_s, url)}});
}

Answer domainPolicy()
{
    return gmail({403, u"The domain administrators have disabled Gmail apps."_s, u"domainPolicy"_s,
                  u"PERMISSION_DENIED"_s});
}

Answer backendError(int httpStatus)
{
    static const QHash<int, QString> statuses{{500, u"INTERNAL"_s},
                                              {502, u"UNAVAILABLE"_s},
                                              {503, u"UNAVAILABLE"_s},
                                              {504, u"DEADLINE_EXCEEDED"_s}};
    return gmail(
        {httpStatus, u"Backend Error"_s, u"backendError"_s, statuses.value(httpStatus, u"UNKNOWN"_s)});
}

Answer notFound()
{
    return gmail({404, u"Requested entity was not found."_s, u"notFound"_s, u"NOT_FOUND"_s});
}

Answer invalidArgument(const QString &message)
{
    return gmail({400, message, u"invalidArgument"_s, u"INVALID_ARGUMENT"_s});
}

Answer failedPrecondition(const QString &message)
{
    return gmail({400, message, u"failedPrecondition"_s, u"FAILED_PRECONDITION"_s});
}

Answer otherWatchActive()
{
    return invalidArgument(
        u"Only one user push notification client allowed per developer (call /stop then try again)"_s);
}

Answer topicOfOtherProject(const QString &projectId)
{
    return invalidArgument(u"Invalid topicName does not match projects/%1/topics/*"_s.arg(projectId));
}

Answer topicForbidden(const QString &topic)
{
    // A space before the colon, as captured.
    return gmail(
        {403,
         u"Error sending test message to Cloud PubSub %1 : User not authorized to perform this action."_s.arg(
             topic),
         u"forbidden"_s, u"PERMISSION_DENIED"_s});
}

Answer topicMissing(const QString &topic)
{
    return gmail({404,
                  u"Error sending test message to Cloud PubSub %1: Resource not found (resource=%2)"_s.arg(
                      topic, topic.section(u'/', -1)),
                  u"notFound"_s, u"NOT_FOUND"_s});
}

} // namespace tidekeeper::googlesim::errors
