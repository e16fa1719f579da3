// SPDX-License-Identifier: Apache-2.0
#include "cli/apiclient.h"

#include <QtCore/QEventLoop>
#include <QtCore/QJsonDocument>
#include <QtCore/QTimer>
#include <QtNetwork/QNetworkReply>
#include <QtNetwork/QSslCertificate>

#include <memory>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr int deadlineMs = 30'000;

Error refusal(int status, const QJsonObject &document)
{
    const QString code = document["code"_L1].toString(u"http_%1"_s.arg(status));
    const QString text = document["detail"_L1].toString(u"The engine answered HTTP %1."_s.arg(status));
    return Error::failure(code, text, document);
}

} // namespace

ApiClient::ApiClient(QUrl base, QByteArray token, const QString &caFile)
    : m_base(std::move(base)), m_token(std::move(token)), m_tls(QSslConfiguration::defaultConfiguration())
{
    if (!caFile.isEmpty())
        m_tls.setCaCertificates(QSslCertificate::fromPath(caFile));
}

Result<QJsonObject> ApiClient::call(const QByteArray &method, const QString &path, const QUrlQuery &query,
                                    const QByteArray &body, const QByteArray &contentType)
{
    QUrl url(m_base.toString(QUrl::RemovePath | QUrl::RemoveQuery) + path);
    url.setQuery(query);
    QNetworkRequest request(url);
    request.setSslConfiguration(m_tls);
    // The token goes to the engine and nowhere else.
    request.setAttribute(QNetworkRequest::RedirectPolicyAttribute, QNetworkRequest::ManualRedirectPolicy);
    if (!m_token.isEmpty())
        request.setRawHeader("Authorization", "Bearer " + m_token);
    if (!body.isEmpty())
        request.setRawHeader("Content-Type", contentType);

    const std::unique_ptr<QNetworkReply> reply(m_network.sendCustomRequest(request, method, body));
    QEventLoop loop;
    QObject::connect(reply.get(), &QNetworkReply::finished, &loop, &QEventLoop::quit);
    QTimer::singleShot(deadlineMs, reply.get(), &QNetworkReply::abort);
    if (!reply->isFinished())
        loop.exec();

    const int status = reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (status == 0)
        return fail(unreachable(*reply));
    const QJsonObject document = QJsonDocument::fromJson(reply->readAll()).object();
    if (status >= 300)
        return fail(refusal(status, document));
    return document;
}

Error ApiClient::unreachable(const QNetworkReply &reply) const
{
    const QString why = reply.error() == QNetworkReply::OperationCanceledError
        ? u"no answer within %1 seconds"_s.arg(deadlineMs / 1000)
        : reply.errorString();
    return Error::failure(
        u"unreachable"_s,
        u"No engine answers at %1: %2. Start tidekeeperd, or name the right one with --url."_s.arg(
            m_base.toString(), why));
}

} // namespace tidekeeper::cli
