// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "oauth/pushtoken.h"

#include <QtCore/QMap>
#include <QtCore/QSet>

namespace tidekeeper::http {

/// Pub/Sub pushes straight to the engine, with a token that Google signed in place of one of the API's. Main thread.
///   POST /pubsub/push  → 204, also for stale, repeated and unknown mailboxes and for what is no push of Gmail: sending
///   that again would not make it one. 401 without a token, 403 with a wrong one, 503 while it cannot be checked or
///   stored, so that Pub/Sub sends it again.
class PubsubController {
public:
    struct Ports {
        /// Checks a bearer token (oauth::PushTokens::check). Null = the endpoint is off: 404.
        std::function<QCoro::Task<Result<>>(QByteArray token)> check;
        /// Stores what was pushed and gives the addresses nobody has (renewal::PushProof::report).
        std::function<QCoro::Task<Result<QSet<QString>>>(QMap<QString, QString> historyIdByEmail)> report;
        /// One push was answered: "taken", "unknown", "unreadable", "no_token", "keys_unavailable",
        /// "database_unavailable" or the reason of a refused token.
        std::function<void(const QString &result)> count;
        /// A sentence for the operator's log, at most once a minute: anyone may knock here, the log is not theirs.
        std::function<void(const QString &sentence)> warn;
        std::function<qint64()> monotonicMs;
    };

    PubsubController(Router &router, Ports ports);

private:
    QCoro::Task<Response> push(Request request);
    Response noToken();
    Response refused(const Error &error);
    void warn(const QString &sentence);

    Ports m_ports;
    std::optional<qint64> m_warnedAtMs; ///< monotonic
};

} // namespace tidekeeper::http
