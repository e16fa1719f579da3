// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/httpclient.h"

#include <QtCore/QJsonObject>

namespace tidekeeper::demo {

struct JsonAnswer {
    int status = 0; ///< 0 = there was none
    QJsonObject body;
    QString problem; ///< why there was none

    bool good() const { return status >= 200 && status < 300; }
    /// What went wrong, in one line for people.
    QString sentence() const;
};

/// JSON to and from one server. Main thread.
class JsonClient {
public:
    explicit JsonClient(QString base, QByteArray bearer = {})
        : m_base(std::move(base)), m_bearer(std::move(bearer))
    { }

    QCoro::Task<JsonAnswer> get(QString path);
    QCoro::Task<JsonAnswer> post(QString path, QJsonObject body);
    QCoro::Task<JsonAnswer> post(QString path, QByteArray body, QByteArray contentType);

private:
    QCoro::Task<JsonAnswer> send(net::HttpRequest request);

    QString m_base;
    QByteArray m_bearer;
    net::HttpClient m_http;
};

} // namespace tidekeeper::demo
