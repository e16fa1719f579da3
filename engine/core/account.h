// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>
#include <QtCore/QStringList>

#include <optional>

namespace tidekeeper::core {

enum class AccountState : quint8 { Active, Paused, NeedsReauth, Parked, Leaving };
enum class GrantKind : quint8 { None, Stored, Http, Delegated };

QString toString(AccountState state); ///< "active", "paused", "needs_reauth", "parked", "leaving"
QString toString(GrantKind kind); ///< "none", "stored", "http", "delegated"
std::optional<AccountState> accountStateFrom(const QString &text);
QStringList accountStateNames();
std::optional<GrantKind> grantKindFrom(const QString &text);

/// Trimmed, A–Z lower-cased and nothing else, so that every language builds the same key.
QString normalizedEmail(const QString &email);

/// One mailbox as its owner registered it. Secrets are not part of it (see store::GrantStore).
struct Account {
    QString id; ///< the caller's own
    QString email; ///< normalized
    QString project = QStringLiteral("default");
    QString client = QStringLiteral("default");
    QString language; ///< BCP 47, may be empty
    AccountState state = AccountState::Active;
    QString stateReason; ///< code for parked and needs_reauth
    GrantKind grantKind = GrantKind::None;
    bool hasRefreshToken = false;
    QJsonObject grant; ///< without secrets: {"token_url"} for http, {"key_file", "sub"} for delegated
    qint64 createdAt = 0; ///< epoch ms
    qint64 updatedAt = 0;
    qint64 generation = 0; ///< compare-and-set
};

} // namespace tidekeeper::core
