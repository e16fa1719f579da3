// SPDX-License-Identifier: Apache-2.0
#include "http/schedulescontroller.h"

#include "http/listquery.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

constexpr int usualPage = 100;

QString idOf(const Request &request)
{
    return request.parameters.value(u"id"_s);
}

Response answer(const Result<QJsonObject> &result)
{
    return result ? Response::json(*result) : Response::problem(result.error());
}

} // namespace

SchedulesController::SchedulesController(Router &router, scheduler::Scheduler &scheduler, Audit &audit)
    : m_scheduler(scheduler), m_audit(audit)
{
    const auto route = [&](Method method, const QString &path, Role role, auto member) {
        router.add(method, u"/api/v1/schedules"_s + path, role,
                   [this, member](Request request) { return (this->*member)(std::move(request)); });
    };
    route(Method::Get, {}, Role::Viewer, &SchedulesController::list);
    route(Method::Get, u"/{id}"_s, Role::Viewer, &SchedulesController::get);
    route(Method::Patch, u"/{id}"_s, Role::Operator, &SchedulesController::patch);
    route(Method::Delete, u"/{id}"_s, Role::Operator, &SchedulesController::forget);
    route(Method::Get, u"/{id}/runs"_s, Role::Viewer, &SchedulesController::runs);
    route(Method::Get, u"/{id}/next"_s, Role::Viewer, &SchedulesController::next);
    route(Method::Post, u"/{id}/run"_s, Role::Operator, &SchedulesController::run);
    route(Method::Post, u"/{id}/pause"_s, Role::Operator, &SchedulesController::pause);
    route(Method::Post, u"/{id}/resume"_s, Role::Operator, &SchedulesController::resume);
}

QCoro::Task<Response> SchedulesController::list(Request request)
{
    if (const Result<> sound = checkParameters(request, {}); !sound)
        co_return Response::problem(sound.error());
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

/// Kept with its entry in the audit by whoever keeps the changes.
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

QCoro::Task<Response> SchedulesController::forget(Request request)
{
    const QString actor = request.principal.name;
    const Result<> done = co_await m_scheduler.forget(idOf(request), actor);
    co_return done ? Response::json({}) : Response::problem(done.error());
}

QCoro::Task<Response> SchedulesController::run(Request request)
{
    const QString id = idOf(request);
    const Result<QJsonObject> started = co_await m_scheduler.run(id);
    if (started) {
        const QString target = u"schedule."_s + id;
        co_await m_audit.note(request.principal, u"schedule.run"_s, target, *started);
    }
    co_return answer(started);
}

QCoro::Task<Response> SchedulesController::runs(Request request)
{
    if (const Result<> sound = checkParameters(request, {u"limit"_s, u"cursor"_s}); !sound)
        co_return Response::problem(sound.error());
    const Result<int> limit = limitOf(request, usualPage);
    if (!limit)
        co_return Response::problem(limit.error());
    const QString cursor = queryValue(request, u"cursor"_s);
    const Result<QJsonObject> page = co_await m_scheduler.runs(idOf(request), *limit, cursor);
    co_return answer(page);
}

QCoro::Task<Response> SchedulesController::next(Request request)
{
    if (const Result<> sound = checkParameters(request, {u"n"_s}); !sound)
        co_return Response::problem(sound.error());
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
