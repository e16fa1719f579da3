// SPDX-License-Identifier: Apache-2.0
#include "http/limitercontroller.h"

#include "http/quotajson.h"
#include "pluginhost/pendingreply.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int answerGraceMs = 1'000; // beyond the decision's own deadline, before a limiter counts as stuck
constexpr int defaultLimit = 100;
constexpr int largestLimit = 1'000;

Error unknownLimiter(const QString &name, const QStringList &known)
{
    const QString others = known.isEmpty() ? u"none is running"_s : u"running: "_s + known.join(u", "_s);
    return Error::failure(u"unknown_limiter"_s, u"There is no limiter \"%1\"; %2."_s.arg(name, others));
}

} // namespace

LimiterController::LimiterController(Router &router, limits::LimiterRegistry &limiters,
                                     limits::BucketService &buckets)
    : m_limiters(limiters), m_buckets(buckets)
{
    const QString one = u"/api/v1/limiters/{name}"_s;
    router.add(Method::Post, one + u"/acquire"_s, Role::Consumer,
               [this](Request r) { return acquire(std::move(r)); });
    router.add(Method::Get, u"/api/v1/limiters"_s, Role::Viewer,
               [this](Request r) { return list(std::move(r)); });
    router.add(Method::Get, one, Role::Viewer, [this](Request r) { return show(std::move(r)); });
    router.add(Method::Get, one + u"/buckets"_s, Role::Viewer,
               [this](Request r) { return levels(std::move(r)); });
}

QCoro::Task<Response> LimiterController::acquire(Request request)
{
    const QString limiter = request.parameters.value(u"name"_s);
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<QuotaRequest> quota = quotaRequestFrom(*body);
    if (!quota)
        co_return Response::problem(quota.error());

    const Result<QuotaAnswer> answer = co_await pluginhost::callQuota(
        int(quota->deadlineMs) + answerGraceMs,
        [this, &limiter, &quota](QuotaReply *reply) { m_limiters.acquire(limiter, *quota, reply); });
    if (answer)
        co_return quotaResponse(*answer);
    if (answer.error().code == "timeout"_L1 || answer.error().code == "plugin_exception"_L1)
        co_return Response::problem(Error::failure(u"limiter_unavailable"_s, answer.error().text));
    co_return Response::problem(answer.error());
}

QCoro::Task<Response> LimiterController::list(Request)
{
    QJsonArray limiters;
    for (const QString &name : m_limiters.names())
        limiters.append(m_limiters.describe(name));
    co_return Response::json({{u"limiters"_s, limiters}});
}

QCoro::Task<Response> LimiterController::show(Request request)
{
    const QString name = request.parameters.value(u"name"_s);
    if (!m_limiters.names().contains(name))
        co_return Response::problem(unknownLimiter(name, m_limiters.names()));
    co_return Response::json(m_limiters.describe(name));
}

QCoro::Task<Response> LimiterController::levels(Request request)
{
    int limit = defaultLimit;
    if (const QString text = queryValue(request, u"limit"_s); !text.isEmpty()) {
        bool isNumber = false;
        limit = text.toInt(&isNumber);
        if (!isNumber || limit < 1 || limit > largestLimit) {
            co_return Response::problem(Error::failure(u"invalid_request"_s,
                                                       u"\"limit\" must be a whole number from 1 to 1000."_s,
                                                       {{u"field"_s, u"limit"_s}}));
        }
    }
    const QString name = request.parameters.value(u"name"_s);
    const Result<QJsonObject> levels = co_await m_buckets.levels(name, queryValue(request, u"q"_s), limit);
    if (!levels)
        co_return Response::problem(levels.error());
    co_return Response::json(*levels);
}

} // namespace tidekeeper::http
