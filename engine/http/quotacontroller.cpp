// SPDX-License-Identifier: Apache-2.0
#include "http/quotacontroller.h"

#include "http/quotaanswer.h"
#include "http/quotarequest.h"
#include "pluginhost/pendingreply.h"

#include <vector>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int answerGraceMs = 1'000; // beyond the decision's own deadline, before a limiter counts as stuck
constexpr int reportMs = 2'000;

/// A limiter that is stuck or throws is one that is not there, whatever the plugin host says of it.
Error seenFromOutside(const Error &error)
{
    return pluginhost::isUnanswered(error) ? Error::failure(u"limiter_unavailable"_s, error.text) : error;
}

Response responseOf(const Result<QJsonObject> &result)
{
    return result ? Response::json(*result) : Response::problem(seenFromOutside(result.error()));
}

QString limiterOf(const Request &request)
{
    return request.parameters.value(u"name"_s);
}

} // namespace

QuotaController::QuotaController(Router &router, limits::LimiterRegistry &limiters,
                                 limits::BucketService &buckets)
    : m_limiters(limiters), m_buckets(buckets)
{
    const QString one = u"/api/v1/limiters/{name}"_s;
    router.add(Method::Post, one + u"/acquire"_s, Role::Consumer,
               [this](Request r) { return acquire(std::move(r)); });
    router.add(Method::Post, one + u"/report"_s, Role::Consumer,
               [this](Request r) { return report(std::move(r)); });
    router.add(Method::Post, one + u"/refund"_s, Role::Consumer,
               [this](Request r) { return refund(std::move(r)); });
    router.add(Method::Post, one + u"/release"_s, Role::Consumer,
               [this](Request r) { return release(std::move(r)); });
}

QCoro::Task<Response> QuotaController::acquire(Request request)
{
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    if (body->contains("requests"_L1)) {
        Response results = co_await acquireAll(limiterOf(request), *body);
        co_return results;
    }
    const Result<QuotaAnswer> answer = co_await decide(limiterOf(request), *body);
    co_return quotaResponse(answer);
}

/// All are asked before the first is waited for, so that they share one round trip to Redis.
QCoro::Task<Response> QuotaController::acquireAll(QString limiter, QJsonObject body)
{
    const Result<QJsonArray> requests = batchFrom(body);
    if (!requests)
        co_return Response::problem(requests.error());
    if (!m_limiters.names().contains(limiter))
        co_return Response::problem(m_limiters.unknown(limiter));
    std::vector<QCoro::Task<Result<QuotaAnswer>>> asked;
    for (const QJsonValue request : *requests)
        asked.push_back(decide(limiter, request));
    QJsonArray results;
    for (const auto &task : asked) {
        const Result<QuotaAnswer> answer = co_await task;
        results.append(quotaResult(answer));
    }
    co_return Response::json({{u"results"_s, results}});
}

QCoro::Task<Result<QuotaAnswer>> QuotaController::decide(QString limiter, QJsonValue request)
{
    const Result<QuotaRequest> quota = quotaRequestFrom(request);
    if (!quota)
        co_return fail(quota.error());
    const Result<QuotaAnswer> answer = co_await pluginhost::callQuota(
        int(quota->deadlineMs) + answerGraceMs,
        [this, &limiter, &quota](QuotaReply *reply) { m_limiters.acquire(limiter, *quota, reply); });
    if (answer)
        co_return answer;
    co_return fail(seenFromOutside(answer.error()));
}

QCoro::Task<Response> QuotaController::report(Request request)
{
    const QString limiter = limiterOf(request);
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<QJsonObject> learned = co_await pluginhost::call(
        reportMs, [this, &limiter, &body](Reply *reply) { m_limiters.report(limiter, *body, reply); });
    co_return responseOf(learned);
}

QCoro::Task<Response> QuotaController::refund(Request request)
{
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<QString> grantId = onlyText(*body, u"grant_id"_s);
    if (!grantId)
        co_return Response::problem(grantId.error());
    const Result<QJsonObject> refunded = co_await m_buckets.refund(limiterOf(request), *grantId);
    co_return responseOf(refunded);
}

QCoro::Task<Response> QuotaController::release(Request request)
{
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<QString> hold = onlyText(*body, u"hold"_s);
    if (!hold)
        co_return Response::problem(hold.error());
    const Result<QJsonObject> released = co_await m_buckets.release(limiterOf(request), *hold);
    co_return responseOf(released);
}

} // namespace tidekeeper::http
