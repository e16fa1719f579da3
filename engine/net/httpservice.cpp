// SPDX-License-Identifier: Apache-2.0
#include "net/httpservice.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::net {

namespace {

constexpr int longestDeadlineMs = 60'000;
constexpr int defaultDeadlineMs = 10'000;

QJsonObject jsonOf(const HttpResponse &response)
{
    QJsonObject headers;
    for (auto it = response.headers.begin(); it != response.headers.end(); ++it)
        headers.insert(QString::fromLatin1(it.key()), QString::fromLatin1(it.value()));
    return {{u"status"_s, response.status},
            {u"headers"_s, headers},
            {u"body"_s, QString::fromUtf8(response.body)}};
}

QCoro::Task<> answer(HttpClient &client, HttpRequest request, Reply *reply)
{
    const Result<HttpResponse> response = co_await client.send(std::move(request));
    if (response)
        reply->finish(Status::success(), jsonOf(*response));
    else
        reply->finish(response.error(), {});
}

tl::unexpected<Error> invalid(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, text, {{u"field"_s, field}});
}

} // namespace

HttpService::HttpService(HttpClient &client, QMap<QString, QString> bases, QObject *parent)
    : QObject(parent), m_client(client), m_bases(std::move(bases))
{ }

void HttpService::send(const QJsonObject &request, Reply *reply)
{
    Result<HttpRequest> parsed = parse(request);
    if (!parsed) {
        reply->finish(parsed.error(), {});
        return;
    }
    answer(m_client, *std::move(parsed), reply);
}

Result<HttpRequest> HttpService::parse(const QJsonObject &request) const
{
    HttpRequest result;
    result.method = request.value("method"_L1).toString(u"GET"_s).toLatin1();
    const QString base = request.value("base"_L1).toString();
    if (base.isEmpty()) {
        result.url = QUrl(request.value("url"_L1).toString(), QUrl::StrictMode);
    } else {
        if (!m_bases.contains(base))
            return invalid(u"base"_s,
                           u"There is no base address \"%1\"; known are %2."_s.arg(
                               base, QStringList(m_bases.keys()).join(u", "_s)));
        const QString path = request.value("path"_L1).toString();
        if (!path.startsWith(u'/'))
            return invalid(u"path"_s, u"The path has to begin with \"/\"."_s);
        QString address = m_bases.value(base);
        while (address.endsWith(u'/'))
            address.chop(1);
        result.url = QUrl(address + path, QUrl::StrictMode);
    }

    const QJsonObject headers = request.value("headers"_L1).toObject();
    for (auto it = headers.begin(); it != headers.end(); ++it)
        result.headers.append({it.key().toLatin1(), it.value().toString().toUtf8()});
    const QString bearer = request.value("bearer"_L1).toString();
    if (!bearer.isEmpty())
        result.headers.append({"Authorization", "Bearer " + bearer.toUtf8()});
    result.body = request.value("body"_L1).toString().toUtf8();
    result.deadlineMs =
        std::clamp(request.value("deadline_ms"_L1).toInt(defaultDeadlineMs), 1, longestDeadlineMs);
    return result;
}

} // namespace tidekeeper::net
