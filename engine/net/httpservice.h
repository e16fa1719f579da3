// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/httpclient.h"

#include <tidekeeper/services.h>

#include <QtCore/QMap>

namespace tidekeeper::net {

/// Http for plugins, on the HttpClient. bases: "gmail", "oauth" and "fcm" to the configured addresses, to which a
/// request's path is appended. Main thread.
class HttpService : public QObject, public Http {
    Q_OBJECT
    Q_INTERFACES(tidekeeper::Http)

public:
    HttpService(HttpClient &client, QMap<QString, QString> bases, QObject *parent = nullptr);

    void send(const QJsonObject &request, Reply *reply) override;

private:
    Result<HttpRequest> parse(const QJsonObject &request) const;

    HttpClient &m_client;
    QMap<QString, QString> m_bases;
};

} // namespace tidekeeper::net
