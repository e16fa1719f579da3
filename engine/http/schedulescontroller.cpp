// SPDX-License-Identifier: Apache-2.0
#include "http/schedulescontroller.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

QString idOf(const Request &request)
{
    return request.parameters.value(u"id"_s);
}

Response answer(const Result<QJsonObject> &result)
{
    return result ? Response::json(*result) : Response::problem(result.error());
}

} // namespace

SchedulesController::SchedulesController(Router &router, scheduler::Scheduler &scheduler)
    : m_scheduler(scheduler)
{
    const auto route = [&](Method method, const QString &path, Role role, auto member) {
        router.add(method, u"/api/v1/schedules"_s + path, role,
                   [this, member](Request request) { return (this->*member)(std::move(request)); });
    };
    route(Method::Get, {}, Role::Viewer, &SchedulesController::list);
    route(Method::Get, u"/{id}"_s, Role::Viewer, &SchedulesController::get);
    route(Method::Patch, u"/{id}"_s, Role::Operator, &SchedulesController::patch);
    route(Method::Get, u"/{id}/next"_s, Role::Viewer, &SchedulesController::next);
    route(Method::Post, u"/{id}/run"_s, Role::Operator, &SchedulesController::run);
    route(Method::Post, u"/{id}/pause"_s, Role::Operator, &SchedulesController::pause);
    route(Method::Post, u"/{id}/resume"_s, Role::Operator, &SchedulesController::resume);
}

QCoro::Task<Response> SchedulesController::list(Request)
{
    const QJsonObject schedules = co_await m_scheduler.list();
    co_return Response::json(schedules);
}

QCoro::Task<Response> SchedulesController::get(Request request)
{
    const Result<QJsonObject> schedule = co_await m_scheduler.find(idOf(request));
    co_return answer(schedule);
}

QCoro::Task<Response> SchedulesController::patch(Request request)
{
    const Result<QJsonObject> change = jsonObject(request);
    if (!change)
        co_return Response::problem(change.error());
    Response response = co_await changed(request, *change);
    co_return response;
}

QCoro::Task<Response> SchedulesController::pause(Request request)
{
    QJsonObject change{{u"paused"_s, true}};
    return changed(std::move(request), std::move(change));
}

QCoro::Task<Response> SchedulesController::resume(Request request)
{
    QJsonObject change{{u"paused"_s, false}};
    return changed(std::move(request), std::move(change));
}

QCoro::Task<Response> SchedulesController::changed(Request request, QJsonObject change)
{
    const QString id = idOf(request);
    const QString actor = request.principal.name;
    const Result<> done = co_await m_scheduler.change(id, change, actor);
    if (!done)
        co_return Response::problem(done.error());
    const Result<QJsonObject> schedule = co_await m_scheduler.find(id);
    co_return answer(schedule);
}

QCoro::Task<Response> SchedulesController::run(Request request)
{
    const Result<QJsonObject> started = co_await m_scheduler.run(idOf(request));
    co_return answer(started);
}

QCoro::Task<Response> SchedulesController::next(Request request)
{
    const QString wanted = queryValue(request, u"n"_s);
    bool isNumber = true;
    const int n = wanted.isEmpty() ? 5 : wanted.toInt(&isNumber);
    const Result<QList<qint64>> fires = m_scheduler.next(idOf(request), isNumber ? n : 0);
    if (!fires)
        co_return Response::problem(fires.error());
    QJsonArray next;
    for (const qint64 at : *fires)
        next.append(at);
    co_return Response::json({{u"next"_s, next}});
}

} // namespace tidekeeper::http
