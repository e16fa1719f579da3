// SPDX-License-Identifier: Apache-2.0
#include "rateanswer.h"

#include "gmailerror.h"
#include "methodfamily.h"
#include "retryhint.h"

#include <QtCore/QRegularExpression>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

// Sources: Google's page "Resolve errors" (developers.google.com/workspace/gmail/api/guides/handle-errors) for the
// reasons and the scopes they are said to have, and published captures, named in the tests, for what is really sent.

namespace gmailquota {

namespace {

/// "RATE_LIMIT_EXCEEDED" and "rateLimitExceeded" are one word.
QString plain(const QString &reason)
{
    return reason.toLower().remove(u'_');
}

bool isDaily(const QString &reason)
{
    return plain(reason) == "dailylimitexceeded"_L1;
}

bool isRate(const QString &reason)
{
    static const std::array words{"ratelimitexceeded"_L1, "userratelimitexceeded"_L1, "quotaexceeded"_L1,
                                  "resourceexhausted"_L1, "dailylimitexceeded"_L1};
    return std::find(words.begin(), words.end(), plain(reason)) != words.end();
}

bool isBackend(const QString &reason)
{
    return plain(reason) == "backenderror"_L1 || plain(reason) == "internalerror"_L1;
}

bool readsLikeRate(const QString &message)
{
    static const QRegularExpression forms(
        u"rate limit exceeded|user-rate limit|daily limit exceeded|quota exceeded for quota metric|"
        "too many (concurrent )?requests|resource has been exhausted"_s,
        QRegularExpression::CaseInsensitiveOption);
    return forms.match(message).hasMatch();
}

/// The reason that decides: the first one about the rate, else the first; only a word may leave here.
QString decidingReason(const GmailError &error)
{
    static const QRegularExpression word(u"^\\w{1,64}$"_s);
    const auto rate = std::find_if(error.reasons.begin(), error.reasons.end(), isRate);
    const QString reason = rate != error.reasons.end() ? *rate : error.reasons.value(0);
    return word.match(reason).hasMatch() ? reason : QString();
}

/// Reasons that say for certain that it was not the rate, whatever the status and the message.
bool isOther(const QString &reason)
{
    static const std::array words{"autherror"_L1,
                                  "badrequest"_L1,
                                  "domainpolicy"_L1,
                                  "insufficientpermissions"_L1,
                                  "accesstokenscopeinsufficient"_L1,
                                  "accessnotconfigured"_L1,
                                  "servicedisabled"_L1,
                                  "forbidden"_L1,
                                  "notfound"_L1,
                                  "failedprecondition"_L1};
    return isBackend(reason) || std::find(words.begin(), words.end(), plain(reason)) != words.end();
}

bool isRateAnswer(int status, const GmailError &error, const QString &reason)
{
    if (isRate(reason) || isOther(reason))
        return isRate(reason);
    return status == 429 || (status < 500 && (isRate(error.status) || readsLikeRate(error.message)));
}

/// The limit's name in "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' …".
QString limitIn(const QString &message)
{
    static const QRegularExpression form(u"and limit '([^']*)'"_s);
    return form.match(message).captured(1);
}

QString scopeOf(int status, const GmailError &error, const QString &reason)
{
    static const QRegularExpression user(u"\\buser\\b"_s, QRegularExpression::CaseInsensitiveOption);
    if (error.quotaLimit.endsWith("PerUser"_L1))
        return u"account"_s;
    if (error.quotaLimit.endsWith("PerProject"_L1) || isDaily(reason))
        return u"project"_s;
    if (const QString limit = limitIn(error.message); !limit.isEmpty())
        return user.match(limit).hasMatch() ? u"account"_s : u"project"_s;
    if (user.match(error.message).hasMatch())
        return u"account"_s;
    // Documented as the project's limit. What is sent for one user's names the user above; other refusals with this
    // reason come as 429 and are about one user.
    const bool saysProject = status == 403 && plain(reason) == "ratelimitexceeded"_L1;
    return saysProject ? u"project"_s : u"account"_s;
}

/// The name in brackets behind "User-rate limit exceeded. Retry after <time>".
QString suffixOf(const QString &message)
{
    static const QRegularExpression form(
        u"User-rate limit exceeded\\.?\\s*(?:Retry after\\s+\\S+)?\\s*\\(([^()]*)\\)"_s,
        QRegularExpression::CaseInsensitiveOption);
    return form.match(message).captured(1);
}

bool isPerDay(const GmailError &error)
{
    return error.quotaLimit.contains("PerDay"_L1)
        || limitIn(error.message).contains("per day"_L1, Qt::CaseInsensitive);
}

/// Only a limit of units per minute whose scope is certain can be compared with a bucket's.
qint64 toldLimitOf(const GmailError &error)
{
    const bool scoped = error.quotaLimit.endsWith("PerUser"_L1) || error.quotaLimit.endsWith("PerProject"_L1);
    const bool perMinute =
        error.quotaUnit.startsWith("1/min/"_L1) || error.quotaLimit.contains("PerMinute"_L1);
    const bool inUnits = error.quotaMetric.isEmpty() || error.quotaMetric.endsWith("/default"_L1)
        || error.quotaMetric.endsWith("/total_query_cost"_L1);
    return scoped && perMinute && inUnits ? error.quotaLimitValue : 0;
}

QString rateSentence(const RateAnswer &answer, const GmailError &error)
{
    if (answer.untilDayEnd)
        return u"A limit per day is used up: Gmail serves calls again after midnight in Los Angeles, or when "
               u"the "
               "project's owner raises the limit in the Google Cloud console."_s;
    if (answer.scope == "project"_L1)
        return u"The project calls Gmail faster than Google allows: all its calls pause."_s;
    if (error.message.contains("concurrent"_L1, Qt::CaseInsensitive))
        return u"Too many calls for this account are under way at once: its calls pause. Ask for grants with "
               "\"hold\" to bound them."_s;
    if (!answer.family.isEmpty())
        return u"Gmail refuses one kind of call for this account (%1): calls of this kind pause."_s.arg(
            answer.family);
    return u"The account is called faster than Gmail allows: its calls pause."_s;
}

RateAnswer rateAnswer(const GmailAnswer &answer, const GmailError &error, const QString &reason, qint64 nowMs)
{
    RateAnswer result;
    result.rate = true;
    result.retryable = true;
    result.reason = reason;
    result.scope = scopeOf(answer.status, error, reason);
    if (result.scope == "account"_L1)
        result.family = familyNamed(suffixOf(error.message));
    result.untilDayEnd = isDaily(reason) || isPerDay(error);
    result.retryAfterMs = result.untilDayEnd ? msToDayEnd(gmailNowMs(answer.headers, nowMs))
                                             : toldWaitMs(error.message, answer.headers, nowMs);
    result.toldLimit = toldLimitOf(error);
    result.sentence = rateSentence(result, error);
    return result;
}

QString otherSentence(int status, const QString &reason)
{
    const QString word = plain(reason);
    if (status == 401 || word == "autherror"_L1)
        return u"Gmail did not accept the access token: get a fresh one. The rate was not the cause."_s;
    if (word == "domainpolicy"_L1)
        return u"The administrator of the account's domain has switched Gmail off for apps. The rate was not "
               u"the "
               "cause; a retry does not help."_s;
    if (word == "insufficientpermissions"_L1 || word == "accesstokenscopeinsufficient"_L1)
        return u"The grant lacks a scope that this call needs: ask the user for consent again. The rate was "
               u"not "
               "the cause."_s;
    if (word == "accessnotconfigured"_L1 || word == "servicedisabled"_L1)
        return u"The Gmail API is not enabled in this Google Cloud project: enable it in the console. The "
               u"rate was "
               "not the cause."_s;
    return u"Gmail looked at the call and refused it for another cause than its rate; sent again unchanged "
           u"it "
           "would be refused again."_s;
}

RateAnswer otherAnswer(const GmailAnswer &answer, const GmailError &error, const QString &reason,
                       qint64 nowMs)
{
    RateAnswer result;
    result.reason = reason;
    result.retryable = answer.status >= 500 || answer.status == 408 || isBackend(reason);
    if (result.retryable) {
        result.retryAfterMs = toldWaitMs(error.message, answer.headers, nowMs);
        result.sentence = u"Gmail failed by itself; the same call may succeed later."_s;
        return result;
    }
    result.admitted = answer.status != 401 && answer.status != 403;
    result.sentence = otherSentence(answer.status, reason);
    return result;
}

} // namespace

RateAnswer classify(const GmailAnswer &answer, qint64 nowMs)
{
    if (answer.status < 400) {
        RateAnswer served;
        served.admitted = true;
        served.sentence = u"Gmail served the call."_s;
        return served;
    }
    const GmailError error = gmailErrorFrom(answer.body);
    const QString reason = decidingReason(error);
    if (isRateAnswer(answer.status, error, reason))
        return rateAnswer(answer, error, reason, nowMs);
    return otherAnswer(answer, error, reason, nowMs);
}

} // namespace gmailquota
