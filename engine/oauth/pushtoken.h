// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/signingkeys.h"

#include <QtCore/QJsonObject>

namespace tidekeeper::oauth {

/// A JSON web token in its compact form, taken apart and not yet believed.
struct PushToken {
    QString keyId;
    QJsonObject claims;
    QByteArray signedText; ///< "<header>.<claims>"
    QByteArray signature;
};

/// Failure: push_token_refused, as below, with "malformed" or "algorithm": anything but RS256 is refused unread.
Result<PushToken> parsePushToken(const QByteArray &compact);

/// Whom Pub/Sub's pushes must come from, as its push subscription says.
struct PushSender {
    QString audience;
    QString serviceAccount;
};

/// Failure: push_token_refused with "issuer", "audience", "account", "expired" or "not_yet". A minute of leeway.
Result<> checkClaims(const QJsonObject &claims, const PushSender &sender, qint64 nowMs);

/// Believes the bearer tokens of authenticated Pub/Sub pushes, or not. Main thread.
class PushTokens {
public:
    PushTokens(SigningKeys &keys, PushSender sender, const Clock &clock);

    /// Failures: push_token_refused, details "reason": one of the above, "unknown_key" or "signature";
    /// keys_unavailable, when nothing can be said of it now.
    QCoro::Task<Result<>> check(QByteArray token);

private:
    SigningKeys &m_keys;
    const PushSender m_sender;
    const Clock &m_clock;
};

} // namespace tidekeeper::oauth
