// SPDX-License-Identifier: Apache-2.0
#include "price.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;
using tidekeeper::QuotaRequest;
using tidekeeper::Status;

namespace gmailquota {

namespace {

constexpr qint64 largestCount = 1000;

Status invalid(const QString &field, const QString &text)
{
    return Status::failure(u"invalid_request"_s, text, {{u"field"_s, field}});
}

Status unknownMethod(const CostTable &costs, const QString &method)
{
    const QStringList near = costs.nearest(method);
    QString text =
        u"There is no Gmail API method of this name; names look like \"gmail.users.threads.get\"."_s;
    if (!near.isEmpty())
        text += u" Did you mean \"%1\"?"_s.arg(near.first());
    return Status::failure(u"unknown_method"_s, text,
                           {{u"field"_s, u"method"_s}, {u"near"_s, QJsonArray::fromStringList(near)}});
}

} // namespace

Status price(const CostTable &costs, const QuotaRequest &request, qint64 *cost)
{
    const bool plain = request.cost >= 0;
    if (plain && !request.method.isEmpty())
        return invalid(u"cost"_s, u"Give \"method\" or \"cost\", not both."_s);
    if (!plain && request.method.isEmpty())
        return invalid(u"method"_s,
                       u"Give the API method that will be called in \"method\", or units in \"cost\"."_s);
    if (request.count < 1 || request.count > largestCount)
        return invalid(u"count"_s, u"\"count\" must be a whole number from 1 to 1000."_s);
    if (plain) {
        if (request.count != 1)
            return invalid(u"count"_s,
                           u"\"count\" multiplies the cost of a \"method\"; with \"cost\" leave it out."_s);
        *cost = request.cost;
        return Status::success();
    }
    const std::optional<qint64> single = costs.cost(request.method);
    if (!single)
        return unknownMethod(costs, request.method);
    *cost = *single * request.count;
    return Status::success();
}

} // namespace gmailquota
