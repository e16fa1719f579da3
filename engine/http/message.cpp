// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

#include <QtCore/QJsonDocument>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

// curl -d sends its JSON as a form unless told otherwise; the bearer token, not the type, keeps browsers out.
bool maybeJson(const QByteArray &contentType)
{
    const QByteArray type = contentType.split(';').first().trimmed().toLower();
    return type.isEmpty() || type == "application/json" || type.endsWith("+json")
        || type == "application/x-www-form-urlencoded";
}

Error malformedJson(const QByteArray &body, const QJsonParseError &error)
{
    const qsizetype offset = qMin<qsizetype>(error.offset, body.size());
    const qsizetype line = body.left(offset).count('\n') + 1;
    const qsizetype column = offset - body.lastIndexOf('\n', offset - body.size() - 1);
    return Error::failure(
        u"malformed_json"_s,
        u"The body is not JSON: %1 at line %2, column %3."_s.arg(error.errorString()).arg(line).arg(column),
        {{u"line"_s, line}, {u"column"_s, column}, {u"offset"_s, offset}});
}

} // namespace

bool mayUse(Role has, Role needed)
{
    if (needed == Role::Consumer)
        return has == Role::Consumer || has >= Role::Operator;
    return has >= needed;
}

QString toString(Role role)
{
    switch (role) {
    case Role::Consumer:
        return u"consumer"_s;
    case Role::Viewer:
        return u"viewer"_s;
    case Role::Operator:
        return u"operator"_s;
    case Role::Admin:
        return u"admin"_s;
    case Role::None:
        break;
    }
    return u"none"_s;
}

Response Response::json(const QJsonObject &object, int status)
{
    Response response;
    response.status = status;
    response.body = QJsonDocument(object).toJson(QJsonDocument::Compact);
    return response;
}

Result<QJsonObject> jsonObject(const Request &request)
{
    if (const QByteArray type = request.headers.value("content-type"); !maybeJson(type)) {
        return fail(u"unsupported_media_type"_s,
                    u"The body is sent as %1. Send JSON with Content-Type: application/json."_s.arg(
                        QString::fromLatin1(type)));
    }
    if (request.body.isEmpty())
        return fail(u"malformed_json"_s, u"The body is empty. Send a JSON object."_s);
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(request.body, &error);
    if (error.error != QJsonParseError::NoError)
        return fail(malformedJson(request.body, error));
    if (!document.isObject())
        return fail(u"malformed_json"_s, u"The body is a JSON array. Send a JSON object: { … }."_s);
    return document.object();
}

QByteArray bearerToken(const QHash<QByteArray, QByteArray> &headers)
{
    const QByteArray authorization = headers.value("authorization");
    return authorization.left(7).toLower() == "bearer " ? authorization.mid(7).trimmed() : QByteArray();
}

QString queryValue(const Request &request, const QString &name)
{
    return request.query.queryItemValue(name, QUrl::FullyDecoded);
}

} // namespace tidekeeper::http
