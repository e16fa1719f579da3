// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"

#include <QCoro/QCoroTask>

#include <functional>
#include <vector>

namespace tidekeeper::http {

using Handler = std::function<QCoro::Task<Response>(Request)>;

/// Routes by method and path template. All routes are added before the server listens. Main thread.
class Router {
public:
    /// add(Method::Get, u"/api/v1/accounts/{id}"_s, Role::Viewer, handler). Role::None = open to all.
    /// A written-out segment goes before a parameter, whatever the order of the calls.
    void add(Method method, const QString &path, Role role, Handler handler);

    struct Match {
        const Handler *handler = nullptr;
        Role role = Role::Admin;
        QHash<QString, QString> parameters;
    };
    /// path: as sent, still percent-encoded. Failures: not_found (404), method_not_allowed (405, details "allow").
    Result<Match> match(Method method, const QString &path) const;
    /// The Allow header for the path, "GET, HEAD, PUT, OPTIONS"; empty when there is no such path.
    QString allowed(const QString &path) const;

    struct Route {
        Method method;
        QString path;
        Role role;
    };
    std::vector<Route> routes() const; ///< for tests that compare with the API description

private:
    struct Entry {
        Method method;
        QStringList segments;
        Role role;
        Handler handler;
    };
    std::vector<Entry> m_entries; ///< written-out segments first
};

QString toString(Method method); ///< "GET"

} // namespace tidekeeper::http
