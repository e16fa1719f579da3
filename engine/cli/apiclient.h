// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QUrl>
#include <QtCore/QUrlQuery>
#include <QtNetwork/QNetworkAccessManager>
#include <QtNetwork/QSslConfiguration>

namespace tidekeeper::cli {

/// Calls the engine's API and waits for the answer.
class ApiClient {
public:
    /// caFile: certificates to trust instead of the system's; may be empty.
    ApiClient(QUrl base, QByteArray token, const QString &caFile);

    /// path is percent-encoded and begins with "/api/v1". Failures: unreachable, or the code of the engine's problem
    /// document with its details.
    Result<QJsonObject> call(const QByteArray &method, const QString &path, const QUrlQuery &query = {},
                             const QByteArray &body = {}, const QByteArray &contentType = "application/json");

private:
    Error unreachable(const QNetworkReply &reply) const;

    QUrl m_base;
    QByteArray m_token;
    QSslConfiguration m_tls;
    QNetworkAccessManager m_network;
};

} // namespace tidekeeper::cli
