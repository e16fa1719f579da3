// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "oauth/grantsource.h"
#include "oauth/tokenendpoint.h"

#include <tidekeeper/services.h>

#include <QtCore/QCache>
#include <QtCore/QFuture>
#include <QtCore/QHash>
#include <QtCore/QMap>

#include <functional>

namespace tidekeeper::oauth {

struct AccessToken {
    QString token;
    qint64 expiresAt = 0; ///< epoch ms
    QString projectId; ///< of a service account
    bool kept = false; ///< handed out again: the endpoint was not asked now
};

/// A token, or what its absence means for the account.
using TokenResult = tl::expected<AccessToken, core::Outcome>;

/// The OAuth client of one project. The secret is read from its file each time, so a corrected file needs no restart.
struct ClientCredentials {
    QString clientId;
    QString clientSecretFile;
};
using ClientDirectory = QMap<QString, QMap<QString, ClientCredentials>>; ///< project → client

/// Access tokens for accounts and service accounts: kept until 90 % of their life, one request in flight per account
/// whoever asks. Main thread.
class AccessTokens {
public:
    AccessTokens(TokenEndpoint &endpoint, GrantSource &grants, ClientDirectory clients, const Clock &clock);

    /// rejected: a token that the API did not accept; anything but that one is handed out.
    QCoro::Task<TokenResult> forAccount(core::Account account, QString rejected = {});
    QCoro::Task<TokenResult> forServiceAccount(QString keyFile, QString scope);

private:
    struct Kept {
        AccessToken token;
        qint64 usableUntilMs = 0; ///< monotonic
    };
    using Fetch = std::function<QCoro::Task<GrantResult>()>;

    QCoro::Task<TokenResult> get(QString key, QString rejected, QString projectId, Fetch fetch);
    QCoro::Task<GrantResult> fetch(core::Account account);
    QCoro::Task<GrantResult> fetchStored(core::Account account);
    QCoro::Task<GrantResult> fetchAssertion(QString keyFile, QString scope, QString subject);
    tl::expected<ClientSecret, core::Outcome> credentials(const core::Account &account) const;

    TokenEndpoint &m_endpoint;
    GrantSource &m_grants;
    ClientDirectory m_clients;
    const Clock &m_clock;
    QCache<QString, Kept> m_kept;
    QHash<QString, QFuture<TokenResult>> m_inFlight;
};

} // namespace tidekeeper::oauth
