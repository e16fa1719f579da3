// SPDX-License-Identifier: Apache-2.0
#include "http/limitercontroller.h"

#include "settings/limiterview.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

QString nameOf(const Request &request)
{
    return request.parameters.value(u"name"_s);
}

settings::OverrideName overrideOf(const Request &request)
{
    const QString project = queryValue(request, u"project"_s);
    return {project.isEmpty() ? u"default"_s : project, request.parameters.value(u"account"_s)};
}

} // namespace

LimiterController::LimiterController(Router &router, const limits::LimiterRegistry &limiters,
                                     limits::LevelReader &levels, settings::LimiterSettings &settings)
    : m_limiters(limiters), m_levels(levels), m_settings(settings)
{
    const auto route = [&](Method method, const QString &path, Role role, auto member) {
        router.add(method, u"/api/v1/limiters"_s + path, role,
                   [this, member](Request request) { return (this->*member)(std::move(request)); });
    };
    const QString one = u"/{name}"_s;
    const QString own = one + u"/overrides/{account}"_s;
    route(Method::Get, {}, Role::Viewer, &LimiterController::list);
    route(Method::Get, one, Role::Viewer, &LimiterController::show);
    route(Method::Patch, one, Role::Operator, &LimiterController::change);
    route(Method::Put, own, Role::Operator, &LimiterController::putOverride);
    route(Method::Delete, own, Role::Operator, &LimiterController::removeOverride);
}

QCoro::Task<Response> LimiterController::list(Request)
{
    QJsonArray limiters;
    for (const QString &name : m_limiters.names()) {
        const QJsonObject limiter = co_await describe(name);
        limiters.append(limiter);
    }
    co_return Response::json({{u"limiters"_s, limiters}});
}

QCoro::Task<Response> LimiterController::show(Request request)
{
    return shown(nameOf(request));
}

QCoro::Task<Response> LimiterController::change(Request request)
{
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<> changed = co_await m_settings.change(nameOf(request), *body, request.principal.name);
    if (!changed)
        co_return Response::problem(changed.error());
    Response response = co_await shown(nameOf(request));
    co_return response;
}

QCoro::Task<Response> LimiterController::putOverride(Request request)
{
    const Result<QJsonObject> body = jsonObject(request);
    if (!body)
        co_return Response::problem(body.error());
    const Result<> changed =
        co_await m_settings.putOverride(nameOf(request), overrideOf(request), *body, request.principal.name);
    if (!changed)
        co_return Response::problem(changed.error());
    Response response = co_await shown(nameOf(request));
    co_return response;
}

QCoro::Task<Response> LimiterController::removeOverride(Request request)
{
    const settings::OverrideName own = overrideOf(request);
    const Result<> changed = co_await m_settings.removeOverride(nameOf(request), own, request.principal.name);
    if (!changed)
        co_return Response::problem(changed.error());
    Response response = co_await shown(nameOf(request));
    co_return response;
}

QCoro::Task<Response> LimiterController::shown(QString limiter)
{
    if (!m_limiters.names().contains(limiter))
        co_return Response::problem(m_limiters.unknown(limiter));
    const QJsonObject described = co_await describe(limiter);
    co_return Response::json(described);
}

/// How it is set, and what is booked ahead in each of its projects as far as Redis can be asked.
QCoro::Task<QJsonObject> LimiterController::describe(QString name)
{
    const QJsonObject booked = co_await m_levels.booked(name);
    const Result<const settings::LimiterState *> state = m_settings.find(name);
    QJsonObject limiter =
        state ? settings::limiterView(**state, m_settings.readProblem()) : m_limiters.describe(name);
    QJsonObject projects = limiter[u"projects"_s].toObject();
    for (auto project = projects.begin(); project != projects.end(); ++project) {
        QJsonObject described = project->toObject();
        described[u"booked"_s] = booked.value(project.key()).isObject() ? booked.value(project.key())
                                                                        : QJsonValue(QJsonValue::Null);
        *project = described;
    }
    limiter[u"projects"_s] = projects;
    co_return limiter;
}

} // namespace tidekeeper::http
