// SPDX-License-Identifier: Apache-2.0
#include "oauth/tokenendpoint.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>

#include <initializer_list>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

QByteArray form(std::initializer_list<std::pair<const char *, QString>> fields)
{
    // Every reserved character is escaped: tokens contain "/" and "+", and QUrlQuery would leave the latter alone.
    QByteArray body;
    for (const auto &[name, value] : fields) {
        if (!body.isEmpty())
            body += '&';
        body += QByteArray(name) + '=' + QUrl::toPercentEncoding(value);
    }
    return body;
}

QUrl tokenUrl(QString base)
{
    while (base.endsWith(u'/'))
        base.chop(1);
    return QUrl(base + u"/token"_s);
}

} // namespace

TokenEndpoint::TokenEndpoint(net::HttpClient &http, const QString &oauthUrl, int requestDeadlineMs)
    : m_http(http), m_tokenUrl(tokenUrl(oauthUrl)), m_deadlineMs(requestDeadlineMs)
{ }

QCoro::Task<GrantResult> TokenEndpoint::refresh(ClientSecret client, QString refreshToken)
{
    return post(m_tokenUrl, "application/x-www-form-urlencoded",
                form({{"client_id", client.clientId},
                      {"client_secret", client.clientSecret},
                      {"refresh_token", refreshToken},
                      {"grant_type", u"refresh_token"_s}}),
                core::GrantKind::Stored);
}

QCoro::Task<GrantResult> TokenEndpoint::exchangeAssertion(QByteArray assertion)
{
    return post(m_tokenUrl, "application/x-www-form-urlencoded",
                form({{"grant_type", u"urn:ietf:params:oauth:grant-type:jwt-bearer"_s},
                      {"assertion", QString::fromLatin1(assertion)}}),
                core::GrantKind::Delegated);
}

QCoro::Task<GrantResult> TokenEndpoint::ask(QUrl service, QString accountId, QString email, QString project)
{
    const QJsonObject body{{u"account"_s, accountId}, {u"email"_s, email}, {u"project"_s, project}};
    return post(std::move(service), "application/json", QJsonDocument(body).toJson(QJsonDocument::Compact),
                core::GrantKind::Http);
}

QCoro::Task<GrantResult> TokenEndpoint::post(QUrl url, QByteArray contentType, QByteArray body,
                                             core::GrantKind kind)
{
    net::HttpRequest request{"POST", std::move(url)};
    request.headers = {{"Content-Type", contentType}, {"Accept", "application/json"}};
    request.body = std::move(body);
    request.deadlineMs = m_deadlineMs;
    const Result<net::HttpResponse> response = co_await m_http.send(std::move(request));
    core::TokenAnswer answer;
    if (response) {
        answer.status = response->status;
        answer.body = response->body;
    } else {
        answer.transportCode = response.error().code;
        answer.transportText = response.error().text;
    }
    std::optional<core::TokenGrant> grant = core::tokenGrantFrom(answer);
    if (grant)
        co_return *std::move(grant);
    co_return tl::unexpected(core::tokenFailure(answer, kind));
}

} // namespace tidekeeper::oauth
