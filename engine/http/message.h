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

/// What a caller may do. Viewer, operator and admin each include the one before. A consumer may only ask the
/// limiters and report pushes; so may operators and admins, but not viewers, who change nothing.
enum class Role : quint8 { None, Consumer, Viewer, Operator, Admin };

bool mayUse(Role has, Role needed);
QString toString(Role role); ///< "viewer"

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
    QByteArray body; ///< ≤ 1 MiB
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
    /// the code's row in problem.cpp. With "retry_after_ms" ≥ 0 in the details a 429 or 503 gets Retry-After.
    static Response problem(const Error &error);
    static Response problem(int status, const Error &error);
};

/// The body of Response::problem(error).
QJsonObject problemDocument(const Error &error);

/// The body as a JSON object. Failures: malformed_json (400, with line, column and offset),
/// unsupported_media_type (415). What is wrong inside the object is invalid_request (422).
Result<QJsonObject> jsonObject(const Request &request);

/// The token of "Authorization: Bearer …"; empty when there is none. headers: lower-case names.
QByteArray bearerToken(const QHash<QByteArray, QByteArray> &headers);

/// A value of the query, fully decoded; empty when it is not there.
QString queryValue(const Request &request, const QString &name);

} // namespace tidekeeper::http
