// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QByteArray>
#include <QtCore/QHash>
#include <QtCore/QJsonObject>
#include <QtCore/QList>
#include <QtCore/QUrlQuery>

namespace tidekeeper::http {

enum class Method : quint8 { Get, Post, Put, Patch, Delete };

/// What a caller may do; each includes the ones before it, except consumer, which may only ask the limiters and
/// report pushes.
enum class Role : quint8 { None, Consumer, Viewer, Operator, Admin };

struct Principal {
    QString name; ///< for the audit
    Role role = Role::None;
};

struct Request {
    Method method = Method::Get;
    QString path;
    QHash<QString, QString> parameters; ///< of the route: "/accounts/{id}" → {"id": …}, percent-decoded
    QUrlQuery query;
    QHash<QByteArray, QByteArray> headers; ///< lower-case names
    QByteArray body;                       ///< ≤ 1 MiB
    Principal principal;
    QString remoteAddress;
};

struct Response {
    int status = 200;
    QByteArray contentType = QByteArrayLiteral("application/json");
    QByteArray body;
    QList<std::pair<QByteArray, QByteArray>> headers;

    static Response json(const QJsonObject &object, int status = 200);
    /// RFC 9457 problem document: {"type", "title", "status", "code", "detail", …details}. The status is that of
    /// the code's row in problem.cpp.
    static Response problem(const Error &error);
    static Response problem(int status, const Error &error);
};

/// The body as a JSON object; invalid_request otherwise, with the place of the fault.
Result<QJsonObject> jsonObject(const Request &request);

} // namespace tidekeeper::http
