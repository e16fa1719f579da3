// SPDX-License-Identifier: Apache-2.0
// What went wrong, as HTTP says it: the one table from error code to status.
#include "http/message.h"

#include <QtCore/QJsonDocument>

#include <algorithm>
#include <iterator>

namespace tidekeeper::http {

using namespace Qt::StringLiterals;

namespace {

struct Row {
    const char *code;
    int status;
};

constexpr Row table[] = {
    {"malformed_json", 400},
    {"unauthorized", 401},
    {"forbidden", 403},
    {"push_token_refused", 403},
    {"not_found", 404},
    {"unknown_limiter", 404},
    {"unknown_queue", 404},
    {"method_not_allowed", 405},
    {"conflict", 409},
    {"stale_term", 409},
    {"schedule_declared", 409},
    {"schedule_orphaned", 409},
    {"body_too_large", 413},
    {"unsupported_media_type", 415},
    {"invalid_request", 422},
    {"invalid_cron", 422},
    {"invalid_duration", 422},
    {"invalid_policy", 422},
    {"invalid_settings", 422},
    {"not_supported", 422},
    {"invalid_value", 422},
    {"unknown_zone", 422},
    {"unknown_project", 422},
    {"unknown_client", 422},
    {"unknown_method", 422},
    {"cost_exceeds_capacity", 422},
    {"quota_refused", 429},
    {"internal_error", 500},
    {"limiter_unavailable", 503},
    {"database_unavailable", 503},
    {"keys_unavailable", 503},
    {"redis_unavailable", 503},
    {"redis_timeout", 503},
    {"redis_closed", 503},
    {"functions_refused", 503},
    {"functions_missing", 503},
    {"queue_unavailable", 503},
    {"not_replicated", 503},
    {"stopping", 503},
    {"timeout", 504},
};

// A code without a row is a fault of the engine, not of the caller.
int statusOf(const QString &code)
{
    const auto *row = std::find_if(std::begin(table), std::end(table),
                                   [&](const Row &r) { return code == QLatin1String(r.code); });
    return row == std::end(table) ? 500 : row->status;
}

QString titleOf(int status)
{
    switch (status) {
    case 400:
        return u"Bad request"_s;
    case 401:
        return u"Not authenticated"_s;
    case 403:
        return u"Not allowed"_s;
    case 404:
        return u"Not found"_s;
    case 405:
        return u"Method not allowed"_s;
    case 409:
        return u"Conflict"_s;
    case 413:
        return u"Body too large"_s;
    case 415:
        return u"Unsupported media type"_s;
    case 422:
        return u"Invalid request"_s;
    case 429:
        return u"Quota refused"_s;
    case 503:
        return u"Unavailable"_s;
    case 504:
        return u"Timed out"_s;
    default:
        return u"Internal error"_s;
    }
}

QJsonObject documentOf(int status, const Error &error)
{
    QJsonObject document = error.details;
    document[u"type"_s] = QString(u"urn:tidekeeper:problem:"_s + error.code);
    document[u"title"_s] = titleOf(status);
    document[u"status"_s] = status;
    document[u"code"_s] = error.code;
    document[u"detail"_s] = error.text;
    return document;
}

} // namespace

QJsonObject problemDocument(const Error &error)
{
    return documentOf(statusOf(error.code), error);
}

Response Response::problem(const Error &error)
{
    return problem(statusOf(error.code), error);
}

Response Response::problem(int status, const Error &error)
{
    Response response;
    response.status = status;
    response.contentType = "application/problem+json";
    response.body = QJsonDocument(documentOf(status, error)).toJson(QJsonDocument::Compact);
    const double retryAfterMs = error.details[u"retry_after_ms"_s].toDouble(-1);
    if ((status == 429 || status == 503) && retryAfterMs >= 0)
        response.headers.emplaceBack("Retry-After", QByteArray::number(qint64(retryAfterMs + 999) / 1000));
    return response;
}

} // namespace tidekeeper::http
