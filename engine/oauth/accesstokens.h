// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "oauth/rotatedtokens.h"
#include "oauth/sharedtokens.h"
#include "oauth/tokenpace.h"

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
/// whoever asks, and few in flight per client. Main thread.
class AccessTokens {
public:
    /// shared: what makes it one request in flight across engines; null = this engine is the only one.
    AccessTokens(TokenEndpoint &endpoint, GrantSource &grants, ClientDirectory clients, const Clock &clock,
                 SharedTokens *shared = nullptr);

    /// rejected: a token that the API did not accept; anything but that one is handed out.
    QCoro::Task<TokenResult> forAccount(core::Account account, QString rejected = {});
    QCoro::Task<TokenResult> forServiceAccount(QString keyFile, QString scope);

private:
    struct Kept {
        AccessToken token;
        qint64 usableUntilMs = 0; ///< monotonic
    };
    struct Wanted {
        QString key; ///< everything that decides which token is right
        QString rejected;
        QString projectId;
        bool isShared = false; ///< among engines
        std::function<QCoro::Task<GrantResult>()> fetch;
    };

    QCoro::Task<TokenResult> get(Wanted wanted);
    QCoro::Task<TokenResult> obtain(Wanted wanted);
    AccessToken keep(const Wanted &wanted, const SharedToken &token);
    QCoro::Task<GrantResult> fetch(core::Account account);
    QCoro::Task<GrantResult> fetchStored(core::Account account);
    QCoro::Task<GrantResult> refresh(QString lane, ClientSecret client, QString refreshToken);
    QCoro::Task<GrantResult> fetchAssertion(QString keyFile, QString scope, QString subject);
    tl::expected<ClientSecret, core::Outcome> credentials(const core::Account &account) const;

    TokenEndpoint &m_endpoint;
    GrantSource &m_grants;
    ClientDirectory m_clients;
    const Clock &m_clock;
    SharedTokens *m_shared = nullptr;
    TokenPace m_pace;
    RotatedTokens m_rotated;
    QCache<QString, Kept> m_kept;
    QHash<QString, QFuture<TokenResult>> m_inFlight;
};

} // namespace tidekeeper::oauth
