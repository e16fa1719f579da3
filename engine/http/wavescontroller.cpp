// SPDX-License-Identifier: Apache-2.0
#include "http/wavescontroller.h"

#include "http/listquery.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int usualPage = 100;

QJsonObject view(const store::Wave &wave)
{
    return {{u"id"_s, wave.id},
            {u"project"_s, wave.project},
            {u"client"_s, wave.client},
            {u"code"_s, wave.code},
            {u"text"_s, wave.text},
            {u"state"_s, wave.state},
            {u"members"_s, wave.members},
            {u"since"_s, wave.sinceMs},
            {u"opened_at"_s, wave.openedAt},
            {u"ended_at"_s, wave.endedAt},
            {u"ended_by"_s, wave.endedBy}};
}

} // namespace

WavesController::WavesController(Router &router, renewal::Incidents &incidents) : m_incidents(incidents)
{
    router.add(Method::Get, u"/api/v1/accounts/waves"_s, Role::Viewer,
               [this](Request request) { return list(std::move(request)); });
    router.add(Method::Post, u"/api/v1/accounts/waves/{id}/confirm"_s, Role::Operator,
               [this](Request request) { return confirm(std::move(request)); });
}

QCoro::Task<Response> WavesController::list(Request request)
{
    if (const Result<> sound = checkParameters(request, {u"limit"_s}); !sound)
        co_return Response::problem(sound.error());
    const Result<int> limit = limitOf(request, usualPage);
    if (!limit)
        co_return Response::problem(limit.error());
    const Result<QList<store::Wave>> waves = co_await m_incidents.waves(*limit);
    if (!waves)
        co_return Response::problem(waves.error());
    QJsonArray views;
    for (const store::Wave &wave : *waves)
        views.append(view(wave));
    co_return Response::json({{u"waves"_s, views}});
}

QCoro::Task<Response> WavesController::confirm(Request request)
{
    bool isNumber = false;
    const qint64 id = request.parameters.value(u"id"_s).toLongLong(&isNumber);
    if (!isNumber)
        co_return Response::problem(
            {u"not_found"_s, u"There is no such wave. See tidekeeper accounts wave list."_s, {}});
    const QString actor = request.principal.name;
    const Result<store::Wave> confirmed = co_await m_incidents.confirm(id, actor);
    if (!confirmed)
        co_return Response::problem(confirmed.error());
    co_return Response::json(view(*confirmed));
}

} // namespace tidekeeper::http
