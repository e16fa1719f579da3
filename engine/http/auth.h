// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.h"

namespace tidekeeper::http {

/// Knows bearer tokens by their SHA-256 only and compares in constant time. Main thread.
class TokenAuthority {
public:
    void add(const QString &name, Role role, const QByteArray &token);
    Principal authenticate(const QByteArray &bearerToken) const; ///< an http::Authenticator

private:
    struct Entry {
        Principal principal;
        QByteArray hash;
    };
    QList<Entry> m_entries;
};

/// The token in DIR/admin.token (0600), which is made at the first start: 32 random bytes in base64url.
/// Failures: admin_token (not readable, not writable, too short), with the remedy.
Result<QByteArray> adminToken(const QString &stateDir);

} // namespace tidekeeper::http
