// SPDX-License-Identifier: Apache-2.0
#include "net/httpclient.h"

#include <QCoro/QCoroNetworkReply>
#include <QtCore/QElapsedTimer>
#include <QtCore/QTimer>
#include <QtNetwork/QNetworkReply>

#include <algorithm>
#include <memory>

using namespace Qt::StringLiterals;

namespace tidekeeper::net {

namespace {

enum class Abort : quint8 { No, Deadline, TooLarge, ShutDown };

constexpr auto abortProperty = "tidekeeperAbort";

void abort(QNetworkReply *reply, Abort why)
{
    if (reply->isFinished())
        return;
    reply->setProperty(abortProperty, static_cast<int>(why));
    reply->abort();
}

QNetworkRequest requestOf(const HttpRequest &request)
{
    QNetworkRequest result(request.url);
    for (const auto &[name, value] : request.headers)
        result.setRawHeader(name, value);
    result.setAttribute(QNetworkRequest::RedirectPolicyAttribute, QNetworkRequest::ManualRedirectPolicy);
    result.setAttribute(QNetworkRequest::CookieLoadControlAttribute, QNetworkRequest::Manual);
    result.setAttribute(QNetworkRequest::CookieSaveControlAttribute, QNetworkRequest::Manual);
    result.setAttribute(QNetworkRequest::AuthenticationReuseAttribute, QNetworkRequest::Manual);
    result.setAttribute(QNetworkRequest::CacheLoadControlAttribute, QNetworkRequest::AlwaysNetwork);
    return result;
}

/// Qt reports a 4xx or 5xx as an error too; these here mean that no whole answer came.
bool isTransportFailure(const QNetworkReply &reply)
{
    const QNetworkReply::NetworkError error = reply.error();
    const bool belowHttp = error > QNetworkReply::NoError && error <= QNetworkReply::UnknownProxyError
        && error != QNetworkReply::ProxyAuthenticationRequiredError; // a 407
    return belowHttp || error == QNetworkReply::ProtocolFailure
        || !reply.attribute(QNetworkRequest::HttpStatusCodeAttribute).isValid();
}

tl::unexpected<Error> network(const QString &reason, const QString &text)
{
    return fail(u"network"_s, text, {{u"reason"_s, reason}});
}

Result<HttpResponse> resultOf(QNetworkReply &reply, const HttpRequest &request, qint64 maxBodyBytes)
{
    const QString host = request.url.host();
    switch (static_cast<Abort>(reply.property(abortProperty).toInt())) {
    case Abort::Deadline:
        return fail(u"timeout"_s, u"%1 did not answer within %2 ms."_s.arg(host).arg(request.deadlineMs));
    case Abort::TooLarge:
        return network(u"too_large"_s,
                       u"The answer of %1 is larger than %2 bytes."_s.arg(host).arg(maxBodyBytes));
    case Abort::ShutDown:
        return network(u"shut_down"_s, u"The request was given up because the engine stops."_s);
    case Abort::No:
        break;
    }
    if (isTransportFailure(reply))
        return network(u"connection"_s, u"No whole answer from %1: %2."_s.arg(host, reply.errorString()));

    HttpResponse response;
    response.status = reply.attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    for (const auto &[name, value] : reply.rawHeaderPairs())
        response.headers.insert(name.toLower(), value);
    response.body = reply.readAll();
    if (response.body.size() > maxBodyBytes)
        return network(u"too_large"_s,
                       u"The answer of %1 is larger than %2 bytes."_s.arg(host).arg(maxBodyBytes));
    return response;
}

} // namespace

HttpClient::HttpClient(qint64 maxBodyBytes, QObject *parent) : QObject(parent), m_maxBodyBytes(maxBodyBytes)
{ }

HttpClient::~HttpClient()
{
    abortAll();
}

void HttpClient::abortAll()
{
    m_shutDown = true;
    for (const Manager &manager : m_managers) {
        const auto replies = manager.network->findChildren<QNetworkReply *>();
        for (QNetworkReply *reply : replies)
            abort(reply, Abort::ShutDown);
    }
}

/// The first with a connection to spare, so that a quiet engine keeps one manager and its connections warm.
HttpClient::Manager &HttpClient::leastBusy(const QString &host)
{
    const auto load = [&host](const Manager &manager) { return manager.underWay.value(host); };
    const auto free = std::find_if(m_managers.begin(), m_managers.end(), [&load](const Manager &manager) {
        return load(manager) < connectionsPerManager;
    });
    if (free != m_managers.end())
        return *free;
    if (m_managers.size() < mostConnectionsPerHost / connectionsPerManager)
        return m_managers.emplace_back();
    return *std::min_element(m_managers.begin(), m_managers.end(),
                             [&load](const Manager &a, const Manager &b) { return load(a) < load(b); });
}

QNetworkReply *HttpClient::start(const HttpRequest &request)
{
    const qint64 maxBodyBytes = m_maxBodyBytes;
    const QString host = request.url.authority(QUrl::FullyEncoded);
    Manager &manager = leastBusy(host);
    const qsizetype index = &manager - m_managers.data();
    QNetworkReply *reply =
        manager.network->sendCustomRequest(requestOf(request), request.method, request.body);
    ++manager.underWay[host];
    QElapsedTimer took;
    took.start();
    connect(reply, &QNetworkReply::finished, this, [this, reply, index, host, took] {
        if (const QByteArray date = reply->rawHeader("Date"); !date.isEmpty())
            Q_EMIT dated(host, date, took.elapsed());
        QHash<QString, int> &underWay = m_managers[static_cast<size_t>(index)].underWay;
        if (--underWay[host] == 0)
            underWay.remove(host);
    });
    connect(reply, &QNetworkReply::readyRead, reply, [reply, maxBodyBytes] {
        if (reply->bytesAvailable() > maxBodyBytes)
            abort(reply, Abort::TooLarge);
    });
    // setTransferTimeout would start anew with every byte: a trickling peer could hold us for ever.
    QTimer::singleShot(request.deadlineMs, reply, [reply] { abort(reply, Abort::Deadline); });
    return reply;
}

QCoro::Task<Result<HttpResponse>> HttpClient::send(HttpRequest request)
{
    if (m_shutDown)
        co_return network(u"shut_down"_s, u"The request was not sent because the engine stops."_s);
    const QString scheme = request.url.scheme();
    if (!request.url.isValid() || request.url.host().isEmpty()
        || (scheme != "http"_L1 && scheme != "https"_L1))
        co_return network(u"bad_url"_s, u"Only http and https addresses with a host can be called."_s);

    const qint64 maxBodyBytes = m_maxBodyBytes;
    // Deleted later: this runs inside the reply's own signal. Nothing below touches this object, which may be gone.
    const std::unique_ptr<QNetworkReply, QScopedPointerDeleteLater> reply(start(request));
    co_await reply.get();
    co_return resultOf(*reply, request, maxBodyBytes);
}

} // namespace tidekeeper::net
