// SPDX-License-Identifier: Apache-2.0
#include "accountsfixture.h"

#include <QCoro/QCoroTask>
#include <QtCore/QUrl>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

AccountsFixture::Answer AccountsFixture::call(http::Method method, const QString &path,
                                              const QByteArray &body)
{
    const QUrl url(u"http://engine/api/v1/accounts"_s + path);
    http::Request request;
    request.method = method;
    request.path = url.path(QUrl::FullyEncoded);
    request.query = QUrlQuery(url);
    request.body = body;
    const auto match = m_router.match(method, request.path);
    if (!match)
        qFatal("no such route");
    request.parameters = match->parameters;
    const http::Response response = QCoro::waitFor((*match->handler)(request));
    return {response.status, QJsonDocument::fromJson(response.body).object(), response.body};
}

} // namespace tidekeeper::test
