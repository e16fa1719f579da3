// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/httpclient.h"
#include "oauth/rs256.h"

#include <tidekeeper/services.h>

#include <QtCore/QFuture>

namespace tidekeeper::oauth {

using KeysById = QHash<QString, RsaPublicKey>;

/// The usable RSA keys of a JWKS document, by "kid"; empty when there are none. Others are passed over.
KeysById keysFrom(const QByteArray &jwks);

/// How long a JWKS answer holds by its Cache-Control header: max-age, within 5 minutes and 24 hours.
qint64 lifetimeMs(const QByteArray &cacheControl);

/// The public keys that somebody signs with, fetched from an address when they are needed. Whoever sends made-up key
/// ids causes at most one request each 10 s. Main thread.
class SigningKeys {
public:
    static constexpr qint64 leastBetweenMs = 10'000;
    static constexpr qint64 longestUseMs = 24 * 3'600'000; ///< of keys that cannot be fetched anew

    SigningKeys(net::HttpClient &http, QUrl url, const Clock &clock);

    /// Nothing when the signer has no such key. Failure: keys_unavailable.
    QCoro::Task<Result<std::optional<RsaPublicKey>>> find(QString id);

private:
    bool isFresh() const;
    bool isUsable() const;
    QCoro::Task<Result<>> refresh();
    QCoro::Task<Result<>> fetch();

    net::HttpClient &m_http;
    const QUrl m_url;
    const Clock &m_clock;
    KeysById m_keys;
    qint64 m_fetchedAtMs = 0; ///< monotonic, as the next two
    qint64 m_freshUntilMs = 0;
    std::optional<qint64> m_askedAtMs;
    Result<> m_lastAnswer;
    QFuture<Result<>> m_inFlight;
};

} // namespace tidekeeper::oauth
