// SPDX-License-Identifier: Apache-2.0
#include "http/limitercontroller.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

LimiterController::LimiterController(Router &router, limits::LimiterRegistry &limiters,
                                     limits::LevelReader &levels)
    : m_limiters(limiters), m_levels(levels)
{
    const QString one = u"/api/v1/limiters/{name}"_s;
    router.add(Method::Get, u"/api/v1/limiters"_s, Role::Viewer,
               [this](Request r) { return list(std::move(r)); });
    router.add(Method::Get, one, Role::Viewer, [this](Request r) { return show(std::move(r)); });
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
    const QString name = request.parameters.value(u"name"_s);
    if (!m_limiters.names().contains(name))
        co_return Response::problem(m_limiters.unknown(name));
    const QJsonObject limiter = co_await describe(name);
    co_return Response::json(limiter);
}

/// What the limiter says of itself, and what is booked ahead in each of its projects as far as Redis can be asked.
QCoro::Task<QJsonObject> LimiterController::describe(QString name)
{
    const QJsonObject booked = co_await m_levels.booked(name);
    QJsonObject limiter = m_limiters.describe(name);
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
