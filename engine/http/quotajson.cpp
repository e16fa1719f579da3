// SPDX-License-Identifier: Apache-2.0
#include "http/quotajson.h"

#include "core/nearestname.h"

#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr double largestExact = 9007199254740991; // 2^53 − 1: beyond it JSON numbers lose digits

Status invalid(const QString &field, const QString &what)
{
    return Status::failure(u"invalid_request"_s, u"\"%1\" %2"_s.arg(field, what), {{u"field"_s, field}});
}

/// Takes known fields out of the body and keeps the first fault.
class Fields {
public:
    explicit Fields(const QJsonObject &body) : m_body(body) { }

    void text(const QString &field, QString *into)
    {
        const QJsonValue value = take(field);
        if (value.isUndefined())
            return;
        if (!value.isString() || value.toString().isEmpty())
            fault(invalid(field, u"must be a text that is not empty."_s));
        *into = value.toString();
    }

    void wholeNumber(const QString &field, qint64 *into)
    {
        const QJsonValue value = take(field);
        if (value.isUndefined())
            return;
        const double number = value.toDouble(NAN);
        if (!(number >= 0 && number <= largestExact && number == std::floor(number))) {
            fault(invalid(field, u"must be a whole number that is not negative."_s));
            return;
        }
        *into = qint64(number);
    }

    void flag(const QString &field, bool *into)
    {
        const QJsonValue value = take(field);
        if (value.isUndefined())
            return;
        if (!value.isBool())
            fault(invalid(field, u"must be true or false."_s));
        *into = value.toBool();
    }

    /// The first fault, or an unknown field, or ok.
    Status end() const
    {
        if (!m_fault.ok())
            return m_fault;
        for (const QString &field : m_body.keys()) {
            if (field == "requests"_L1)
                return invalid(field, u"is not supported: ask for one grant per call."_s);
            if (!m_known.contains(field))
                return invalid(field,
                               u"is not a field of this request."_s + core::didYouMean(field, m_known));
        }
        return Status::success();
    }

    void fault(const Status &status)
    {
        if (m_fault.ok())
            m_fault = status;
    }

private:
    QJsonValue take(const QString &field)
    {
        m_known.append(field);
        return m_body.value(field);
    }

    const QJsonObject &m_body;
    QStringList m_known;
    Status m_fault;
};

qint64 units(qint64 milli)
{
    return qint64(std::floor(double(milli) / 1000));
}

QJsonObject bucket(qint64 levelMilli, qint64 capacityMilli)
{
    return {{u"level"_s, units(levelMilli)}, {u"capacity"_s, units(capacityMilli)}};
}

Response granted(const QuotaAnswer &answer)
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
    return Response::json(body);
}

Response tooLarge(const QuotaAnswer &answer)
{
    const QString text = u"%1 units can never be granted at once; at most %2 can. Split the request."_s;
    return Response::problem(Error::failure(u"cost_exceeds_capacity"_s,
                                            text.arg(answer.cost).arg(answer.largestCost),
                                            {{u"granted"_s, false},
                                             {u"refused_by"_s, answer.refusedBy},
                                             {u"cost"_s, answer.cost},
                                             {u"largest_cost"_s, answer.largestCost}}));
}

/// The fields of draft-ietf-httpapi-ratelimit-headers: what the buckets hold at most, what the one that refused holds
/// now, and when it suffices for this request.
void addRateLimitHeaders(const QuotaAnswer &answer, Response *response)
{
    const bool project = answer.refusedBy.startsWith("project"_L1);
    const qint64 left = units(project ? answer.projectLevel : answer.accountLevel);
    const QString policy = u"\"account\";q=%1, \"project\";q=%2"_s;
    const QString limit = u"\"%1\";r=%2;t=%3"_s;
    response->headers.emplaceBack(
        "RateLimit-Policy",
        policy.arg(units(answer.accountCapacity)).arg(units(answer.projectCapacity)).toLatin1());
    response->headers.emplaceBack("RateLimit",
                                  limit.arg(project ? u"project"_s : u"account"_s)
                                      .arg(std::max(qint64(0), left))
                                      .arg((answer.retryAfterMs + 999) / 1000)
                                      .toLatin1());
}

Response refused(const QuotaAnswer &answer)
{
    const QString text = answer.refusedBy == "late"_L1
        ? u"The decision would have come after its deadline, so nothing was charged; ask again."_s
        : u"%1 units are refused by \"%2\"; the same request is granted after %3 ms if nobody else asks."_s
              .arg(answer.cost)
              .arg(answer.refusedBy)
              .arg(answer.retryAfterMs);
    Response response = Response::problem(Error::failure(u"quota_refused"_s, text,
                                                         {{u"granted"_s, false},
                                                          {u"retry_after_ms"_s, answer.retryAfterMs},
                                                          {u"refused_by"_s, answer.refusedBy},
                                                          {u"cost"_s, answer.cost}}));
    addRateLimitHeaders(answer, &response);
    return response;
}

} // namespace

Result<QuotaRequest> quotaRequestFrom(const QJsonObject &body)
{
    QuotaRequest request;
    Fields fields(body);
    fields.text(u"account"_s, &request.account);
    fields.text(u"project"_s, &request.project);
    fields.text(u"method"_s, &request.method);
    fields.wholeNumber(u"cost"_s, &request.cost);
    fields.wholeNumber(u"count"_s, &request.count);
    fields.text(u"lane"_s, &request.lane);
    fields.wholeNumber(u"max_wait_ms"_s, &request.maxWaitMs);
    fields.flag(u"hold"_s, &request.hold);
    fields.text(u"id"_s, &request.id);
    fields.text(u"caller"_s, &request.caller);
    if (request.lane == "renewal"_L1)
        fields.fault(invalid(u"lane"_s, u"must be realtime or bulk; \"renewal\" is the engine's own."_s));
    if (const Status status = fields.end(); !status.ok())
        return fail(status);
    return request;
}

Response quotaResponse(const QuotaAnswer &answer)
{
    if (answer.granted)
        return granted(answer);
    return answer.refusedBy == "never"_L1 ? tooLarge(answer) : refused(answer);
}

} // namespace tidekeeper::http
