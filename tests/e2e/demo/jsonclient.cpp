// SPDX-License-Identifier: Apache-2.0
#include "demo/jsonclient.h"

#include <QtCore/QJsonDocument>

using namespace Qt::StringLiterals;

namespace tidekeeper::demo {

QString JsonAnswer::sentence() const
{
    if (status == 0)
        return problem;
    // A problem document has "detail"; the simulator and Google say it in "error".
    const QJsonValue error = body.value(u"error"_s);
    const QString text = body.contains(u"detail"_s) ? body.value(u"detail"_s).toString()
        : error.isObject()                          ? error[u"message"].toString()
                                                    : error.toString();
    return u"HTTP %1: %2"_s.arg(QString::number(status), text);
}

QCoro::Task<JsonAnswer> JsonClient::get(QString path)
{
    net::HttpRequest request;
    request.url = QUrl(m_base + path);
    JsonAnswer answer = co_await send(std::move(request));
    co_return answer;
}

QCoro::Task<JsonAnswer> JsonClient::post(QString path, QJsonObject body)
{
    JsonAnswer answer = co_await post(std::move(path), QJsonDocument(body).toJson(QJsonDocument::Compact),
                                      "application/json");
    co_return answer;
}

QCoro::Task<JsonAnswer> JsonClient::post(QString path, QByteArray body, QByteArray contentType)
{
    net::HttpRequest request;
    request.method = "POST";
    request.url = QUrl(m_base + path);
    request.headers.emplaceBack("Content-Type", contentType);
    request.body = std::move(body);
    JsonAnswer answer = co_await send(std::move(request));
    co_return answer;
}

QCoro::Task<JsonAnswer> JsonClient::send(net::HttpRequest request)
{
    if (!m_bearer.isEmpty())
        request.headers.emplaceBack("Authorization", "Bearer " + m_bearer);
    auto response = co_await m_http.send(std::move(request));
    JsonAnswer answer;
    if (response) {
        answer.status = response->status;
        answer.body = QJsonDocument::fromJson(response->body).object();
    } else {
        answer.problem = response.error().text;
    }
    co_return answer;
}

} // namespace tidekeeper::demo
