// SPDX-License-Identifier: Apache-2.0
#include "http/bucketscontroller.h"

#include "http/listquery.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int defaultLimit = 100;
constexpr qsizetype longestFilter = 320; // an address has no more

Response responseOf(const Result<QJsonObject> &answer)
{
    return answer ? Response::json(*answer) : Response::problem(answer.error());
}

} // namespace

BucketsController::BucketsController(Router &router, limits::LevelReader &levels) : m_levels(levels)
{
    const QString all = u"/api/v1/limiters/{name}/buckets"_s;
    router.add(Method::Get, all, Role::Viewer, [this](Request r) { return list(std::move(r)); });
    router.add(Method::Get, all + u"/{account}"_s, Role::Viewer,
               [this](Request r) { return show(std::move(r)); });
}

QCoro::Task<Response> BucketsController::list(Request request)
{
    const Result<int> limit = limitOf(request, defaultLimit);
    if (!limit)
        co_return Response::problem(limit.error());
    const QString filter = queryValue(request, u"q"_s);
    if (filter.size() > longestFilter) {
        co_return Response::problem(Error::failure(
            u"invalid_request"_s, u"\"q\" must be at most 320 characters."_s, {{u"field"_s, u"q"_s}}));
    }
    const Result<QJsonObject> answer =
        co_await m_levels.list(request.parameters.value(u"name"_s), filter, *limit);
    co_return responseOf(answer);
}

QCoro::Task<Response> BucketsController::show(Request request)
{
    const Result<QJsonObject> answer =
        co_await m_levels.account(request.parameters.value(u"name"_s), queryValue(request, u"project"_s),
                                  request.parameters.value(u"account"_s));
    co_return responseOf(answer);
}

} // namespace tidekeeper::http
