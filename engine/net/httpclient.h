// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QCoro/QCoroTask>
#include <QtCore/QByteArray>
#include <QtCore/QHash>
#include <QtCore/QList>
#include <QtCore/QObject>
#include <QtCore/QUrl>
#include <QtNetwork/QNetworkAccessManager>

#include <memory>
#include <utility>
#include <vector>

class QNetworkReply;

namespace tidekeeper::net {

struct HttpRequest {
    QByteArray method = QByteArrayLiteral("GET");
    QUrl url;
    QList<std::pair<QByteArray, QByteArray>> headers = {};
    QByteArray body = {};
    int deadlineMs = 10'000; ///< overall: connect, TLS, request and the whole answer
};

struct HttpResponse {
    int status = 0;
    QHash<QByteArray, QByteArray> headers; ///< lower-case names
    QByteArray body;
};

/// Outbound HTTP. Every HTTP status is an answer; a failure means that there was none: `timeout`, or `network`
/// (details "reason": "bad_url", "connection", "too_large", "shut_down"). A body shorter than its Content-Length
/// is a failure; one cut inside a chunked encoding goes unnoticed by Qt 6.4, so whoever reads a body must not trust
/// half a document. Redirects are handed back as they came and never followed, cookies are ignored, nothing is
/// cached.
///
/// One QNetworkAccessManager keeps at most six connections to one host (HTTP/1.1) and lets further requests wait in
/// line. Requests beyond six go to a next manager, up to mostConnectionsPerHost in all; only then they wait, and their
/// waiting counts against their deadline. Over HTTP/2 a manager needs one connection.
///
/// Main thread.
class HttpClient : public QObject {
    Q_OBJECT

public:
    static constexpr int connectionsPerManager = 6;
    static constexpr int mostConnectionsPerHost = 96;

    /// maxBodyBytes: the most that is read of an answer, after decompression.
    explicit HttpClient(qint64 maxBodyBytes = 4 * 1024 * 1024, QObject *parent = nullptr);
    ~HttpClient() override; ///< as abortAll()

    QCoro::Task<Result<HttpResponse>> send(HttpRequest request);

    /// Ends every request that is under way with `network`; later ones end at once.
    void abortAll();

Q_SIGNALS:
    /// An answer carried the other side's time, as in its Date header, tookMs after the question was asked.
    void dated(const QString &host, const QByteArray &date, qint64 tookMs);

private:
    /// Qt's own accounting of one host's connections, and how many requests of ours are on them.
    struct Manager {
        std::unique_ptr<QNetworkAccessManager> network = std::make_unique<QNetworkAccessManager>();
        QHash<QString, int> underWay; ///< by host and port
    };

    QNetworkReply *start(const HttpRequest &request);
    Manager &leastBusy(const QString &host);

    std::vector<Manager> m_managers;
    const qint64 m_maxBodyBytes;
    bool m_shutDown = false;
};

} // namespace tidekeeper::net
