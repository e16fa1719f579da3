// SPDX-License-Identifier: Apache-2.0
#include "http/quotarequest.h"

#include "core/nearestname.h"

#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr qsizetype mostRequests = 100;
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

} // namespace

Result<QuotaRequest> quotaRequestFrom(const QJsonValue &body)
{
    if (!body.isObject())
        return fail(invalid(u"requests"_s, u"must be a list of objects, one for each request."_s));
    QuotaRequest request;
    const QJsonObject object = body.toObject();
    Fields fields(object);
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

Result<QJsonArray> batchFrom(const QJsonObject &body)
{
    const QJsonArray requests = body["requests"_L1].toArray();
    if (requests.isEmpty() || requests.size() > mostRequests)
        return fail(invalid(u"requests"_s, u"must be a list of 1 to 100 requests."_s));
    if (body.size() > 1)
        return fail(invalid(u"requests"_s, u"stands alone: each request of the list has its own fields."_s));
    return requests;
}

Result<QString> onlyText(const QJsonObject &body, const QString &field)
{
    QString text;
    Fields fields(body);
    fields.text(field, &text);
    if (!body.contains(field))
        fields.fault(invalid(field, u"is missing: pass on what acquire answered."_s));
    if (const Status status = fields.end(); !status.ok())
        return fail(status);
    return text;
}

} // namespace tidekeeper::http
