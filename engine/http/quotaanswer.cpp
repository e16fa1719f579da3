// SPDX-License-Identifier: Apache-2.0
#include "http/quotaanswer.h"

#include "limits/units.h"

#include <QtCore/QHash>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

using limits::wholeUnits;

QJsonObject bucket(qint64 levelMilli, qint64 capacityMilli)
{
    return {{u"level"_s, wholeUnits(levelMilli)}, {u"capacity"_s, wholeUnits(capacityMilli)}};
}

QJsonObject grantBody(const QuotaAnswer &answer)
{
    QJsonObject body{
        {u"granted"_s, true},
        {u"wait_ms"_s, answer.waitMs},
        {u"cost"_s, answer.cost},
        {u"degraded"_s, answer.degraded},
        {u"grant_id"_s, answer.grantId},
        {u"account"_s, bucket(answer.accountLevel, answer.accountCapacity)},
        {u"project"_s, bucket(answer.projectLevel, answer.projectCapacity)},
    };
    if (!answer.refusedBy.isEmpty())
        body[u"would_refuse"_s] = answer.refusedBy;
    if (!answer.holdId.isEmpty())
        body[u"hold"_s] = QJsonObject{{u"id"_s, answer.holdId}, {u"expires_at"_s, answer.holdExpiresAt}};
    return body;
}

/// What the one that refused has to say. %1 units, %2 ms.
QString sentence(const QString &refusedBy)
{
    static const QHash<QString, QString> sentences{
        {u"account"_s,
         u"The account has less than %1 units now; the same request is granted after %2 ms if nobody else "
         "asks."_s},
        {u"project"_s,
         u"The project has less than %1 units now; the same request is granted after %2 ms if nobody else "
         "asks."_s},
        {u"day"_s,
         u"%1 units are more than is left of the project's budget for today, which ends in %2 ms."_s},
        {u"account_frozen"_s,
         u"The API refused calls of this account for their rate, so nobody may make one now; ask again after "
         "%2 ms."_s},
        {u"project_frozen"_s,
         u"The API refused calls of this project for their rate, so nobody may make one now; ask again after "
         "%2 ms."_s},
        {u"concurrency"_s, u"All places of this account are taken; one is free after %2 ms at the latest."_s},
        {u"late"_s, u"The decision would have come after its deadline, so nothing was charged; ask again."_s},
    };
    return sentences.value(refusedBy, u"%1 units are refused; ask again after %2 ms."_s);
}

Error refusal(const QuotaAnswer &answer)
{
    if (answer.refusedBy == "never"_L1) {
        const QString text = u"%1 units can never be granted at once; at most %2 can. Split the request."_s;
        return Error::failure(u"cost_exceeds_capacity"_s, text.arg(answer.cost).arg(answer.largestCost),
                              {{u"granted"_s, false},
                               {u"refused_by"_s, answer.refusedBy},
                               {u"cost"_s, answer.cost},
                               {u"largest_cost"_s, answer.largestCost}});
    }
    const QString text = sentence(answer.refusedBy)
                             .replace(u"%1"_s, QString::number(answer.cost))
                             .replace(u"%2"_s, QString::number(answer.retryAfterMs));
    return Error::failure(u"quota_refused"_s, text,
                          {{u"granted"_s, false},
                           {u"retry_after_ms"_s, answer.retryAfterMs},
                           {u"refused_by"_s, answer.refusedBy},
                           {u"degraded"_s, answer.degraded},
                           {u"cost"_s, answer.cost}});
}

/// The fields of draft-ietf-httpapi-ratelimit-headers: what the buckets hold at most, what the one that refused has
/// left now, and when it suffices for this request. A day, a freeze and places have nothing left.
void addRateLimitHeaders(const QuotaAnswer &answer, Response *response)
{
    const QString scope = answer.refusedBy.section(u'_', 0, 0);
    const bool isLate = answer.refusedBy == "late"_L1;
    qint64 left = 0;
    if (answer.refusedBy == "account"_L1 || isLate)
        left = wholeUnits(answer.accountLevel);
    else if (answer.refusedBy == "project"_L1)
        left = wholeUnits(answer.projectLevel);
    const QString policy = u"\"account\";q=%1, \"project\";q=%2"_s;
    const QString limit = u"\"%1\";r=%2;t=%3"_s;
    response->headers.emplaceBack(
        "RateLimit-Policy",
        policy.arg(wholeUnits(answer.accountCapacity)).arg(wholeUnits(answer.projectCapacity)).toLatin1());
    response->headers.emplaceBack("RateLimit",
                                  limit.arg(isLate ? u"account"_s : scope)
                                      .arg(std::max(qint64(0), left))
                                      .arg((answer.retryAfterMs + 999) / 1000)
                                      .toLatin1());
}

} // namespace

Response quotaResponse(const Result<QuotaAnswer> &answer)
{
    if (!answer)
        return Response::problem(answer.error());
    if (answer->granted)
        return Response::json(grantBody(*answer));
    Response response = Response::problem(refusal(*answer));
    if (answer->refusedBy != "never"_L1)
        addRateLimitHeaders(*answer, &response);
    return response;
}

QJsonObject quotaResult(const Result<QuotaAnswer> &answer)
{
    if (!answer || !answer->granted)
        return problemDocument(answer ? refusal(*answer) : answer.error());
    QJsonObject body = grantBody(*answer);
    body[u"status"_s] = 200;
    return body;
}

} // namespace tidekeeper::http
