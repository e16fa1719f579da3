// SPDX-License-Identifier: Apache-2.0
#include "decide/watchanswer.h"

#include "decide/retryafter.h"
#include "decide/watchrequest.h"

#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace watchrenewal {

namespace {

QJsonObject outcome(QLatin1StringView word, const QString &code, const QString &text, QJsonObject more = {})
{
    more.insert(u"outcome"_s, word);
    more.insert(u"code"_s, code);
    more.insert(u"text"_s, text);
    return more;
}

QJsonObject transient(const QString &code, const QString &text)
{
    return outcome("transient"_L1, code, text);
}

QJsonObject projectFault(const QString &code, const QString &text, const QString &remedy)
{
    return outcome("configuration"_L1, code, text, {{u"scope"_s, u"project"_s}, {u"remedy"_s, remedy}});
}

QJsonObject accountFault(const QString &reason, const QString &text, const QString &state)
{
    return outcome("account"_L1, reason, text, {{u"reason"_s, reason}, {u"state"_s, state}});
}

/// Numbers as Gmail writes them in REST (strings) or prints them in its guide (bare). Read from the text: a JSON
/// number beyond 2⁵³ would lose digits.
QString numberIn(const QString &body, QLatin1StringView key)
{
    const QRegularExpression pattern(u"\"%1\"\\s*:\\s*\"?(\\d{1,20})\"?\\s*[,}]"_s.arg(key));
    return pattern.match(body).captured(1);
}

QJsonObject renewed(const ApiAnswer &answer)
{
    const qint64 expiresAt = numberIn(answer.body, "expiration"_L1).toLongLong();
    if (expiresAt <= 0)
        return transient(u"malformed_answer"_s, u"Gmail accepted the watch but gave no usable expiration."_s);
    QJsonObject data;
    bool isHistoryId = false;
    const QString historyId = numberIn(answer.body, "historyId"_L1);
    historyId.toULongLong(&isHistoryId);
    if (isHistoryId)
        data.insert(u"history_id"_s, historyId);
    return outcome("renewed"_L1, u"renewed"_s, u"The watch was renewed."_s,
                   {{u"expires_at"_s, expiresAt}, {u"data"_s, data}});
}

/// Gmail tells by reason, not by status: a full minute of units is a 403, too many calls at once a 429.
bool isRate(const ApiAnswer &answer, const ApiError &error)
{
    if (answer.status == 429)
        return true;
    return answer.status == 403
        && (error.reason == "rateLimitExceeded"_L1 || error.reason == "userRateLimitExceeded"_L1
            || error.reason == "dailyLimitExceeded"_L1 || error.reason == "quotaExceeded"_L1
            || error.infoReason == "RATE_LIMIT_EXCEEDED"_L1);
}

QJsonObject rate(const ApiAnswer &answer, const ApiError &error, qint64 nowMs)
{
    const bool wholeProject =
        error.quotaLimit.endsWith("PerProject"_L1) || error.reason == "dailyLimitExceeded"_L1;
    const QString code = error.reason.isEmpty() ? u"http_%1"_s.arg(answer.status) : error.reason;
    return outcome("rate"_L1, code, u"Gmail refused the call for its quota: %1"_s.arg(error.message),
                   {{u"until"_s, retryUntil(answer, error.message, nowMs)},
                    {u"scope"_s, wholeProject ? u"project"_s : u"account"_s}});
}

QJsonObject badRequest(const ApiAnswer &answer, const ApiError &error)
{
    if (isOwnedElsewhere(answer))
        return outcome(
            "owned_elsewhere"_L1, u"watch_owned_elsewhere"_s,
            u"Another environment of this Google project watches this mailbox with another topic."_s);
    if (error.message.contains("Invalid topicName"_L1))
        return projectFault(u"invalid_topic"_s, u"Gmail does not accept the topic: %1."_s.arg(error.message),
                            u"Use a topic of the Google project that the OAuth client belongs to, written "
                            "projects/PROJECT/topics/TOPIC."_s);
    if (error.message.contains("Mail service not enabled"_L1))
        return accountFault(u"mail_service_not_enabled"_s, u"This Google account has no Gmail mailbox."_s,
                            u"parked"_s);
    // "Precondition check failed." is ambiguous, and so is everything that has no name here.
    const QString code = error.reason.isEmpty() ? u"http_400"_s : error.reason;
    return transient(code, u"Gmail refused the watch: %1"_s.arg(error.message));
}

QJsonObject forbidden(const ApiError &error)
{
    if (error.message.contains("Error sending test message to Cloud PubSub"_L1))
        return projectFault(
            u"topic_forbidden"_s, u"Gmail may not publish to the topic: %1"_s.arg(error.message),
            u"Give gmail-api-push@system.gserviceaccount.com the role Pub/Sub Publisher on the topic; "
            "an organisation policy of domain restricted sharing may forbid it."_s);
    if (error.reason == "accessNotConfigured"_L1 || error.infoReason == "SERVICE_DISABLED"_L1)
        return projectFault(u"api_disabled"_s, u"The Gmail API is not enabled in the Google project."_s,
                            u"Enable the Gmail API in the Google Cloud console."_s);
    if (error.reason == "domainPolicy"_L1)
        return accountFault(u"domain_policy"_s,
                            u"The administrator of this domain has disabled Gmail apps."_s, u"parked"_s);
    if (error.reason == "insufficientPermissions"_L1
        || error.infoReason == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"_L1)
        return accountFault(u"missing_scope"_s, u"The user's consent does not cover reading mail."_s,
                            u"needs_reauth"_s);
    return transient(error.reason.isEmpty() ? u"http_403"_s : error.reason,
                     u"Gmail refused the call: %1"_s.arg(error.message));
}

/// What is the same for watch and stop: everything but success.
QJsonObject failureOutcome(const ApiAnswer &answer, qint64 nowMs)
{
    if (!answer.failure.isEmpty())
        return transient(answer.failure, answer.failureText);
    const ApiError error = apiErrorFrom(answer.body);
    const QString httpCode = u"http_%1"_s.arg(answer.status);
    if (answer.status >= 500 || answer.status == 408) // whatever the body says
        return transient(httpCode, u"Gmail answered %1."_s.arg(answer.status));
    if (isRate(answer, error))
        return rate(answer, error, nowMs);
    if (answer.status == 401)
        return outcome("unauthorized"_L1, httpCode, u"Gmail did not accept the access token."_s);
    if (answer.status == 400)
        return badRequest(answer, error);
    if (answer.status == 403)
        return forbidden(error);
    if (answer.status == 404 && error.message.contains("Cloud PubSub"_L1))
        return projectFault(u"topic_missing"_s, u"The topic does not exist: %1"_s.arg(error.message),
                            u"Create the Pub/Sub topic or correct its name."_s);
    return transient(httpCode, u"Gmail answered %1: %2"_s.arg(answer.status).arg(error.message));
}

bool isSuccess(const ApiAnswer &answer)
{
    return answer.failure.isEmpty() && answer.status >= 200 && answer.status <= 299;
}

} // namespace

QJsonObject renewOutcome(const ApiAnswer &answer, qint64 nowMs)
{
    return isSuccess(answer) ? renewed(answer) : failureOutcome(answer, nowMs);
}

QJsonObject removeOutcome(const ApiAnswer &answer, qint64 nowMs)
{
    return isSuccess(answer) ? outcome("gone"_L1, u"stopped"_s, u"The watch was stopped."_s)
                             : failureOutcome(answer, nowMs);
}

bool isOwnedElsewhere(const ApiAnswer &answer)
{
    return answer.failure.isEmpty() && answer.status == 400
        && apiErrorFrom(answer.body).message.contains("Only one user push notification client allowed"_L1);
}

bool mayTakeOver(const QJsonObject &subscription, qint64 nowMs)
{
    const qint64 takenOverAt = subscription.value("data"_L1).toObject().value("taken_over_at"_L1).toInteger();
    const bool isAlive = subscription.value("expires_at"_L1).toInteger() > nowMs;
    return isAlive && nowMs - takenOverAt >= lifetimeMs;
}

} // namespace watchrenewal
