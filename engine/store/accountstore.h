// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "core/subscription.h"
#include "store/database.h"

#include <QtCore/QList>

#include <optional>

namespace tidekeeper::store {

/// A secret value that travels from the API to the seal and nowhere else.
struct GrantChange {
    enum class Kind : quint8 { Keep, Remove, Set };
    Kind kind = Kind::Keep;
    core::GrantKind grantKind = core::GrantKind::Stored;
    QByteArray sealedRefreshToken; ///< already sealed; the store never sees the plain text
    QString keyId;
    QJsonObject grant; ///< for http and delegated
};

/// What a PUT or PATCH may carry; what is left out keeps its value.
struct AccountChange {
    std::optional<QString> email;
    std::optional<QString> project;
    std::optional<QString> client;
    std::optional<QString> language;
    std::optional<core::AccountState> state;
    std::optional<QString> stateReason;
    std::optional<qint64> watchExpiresAt;
    std::optional<QString> historyId;
    GrantChange grant;
};

struct AccountFilter {
    QString band;               ///< healthy … none; empty = any
    qint64 expiringWithinMs = -1; ///< −1 = any
    QString state;
    QString project;
    QString text; ///< part of id, or a whole address
    QString sort = QStringLiteral("expires_at");
    int limit = 100; ///< 1 … 1,000
    QString cursor;
};

struct AccountRow {
    core::Account account;
    QList<core::Subscription> subscriptions;
};

struct AccountPage {
    QList<AccountRow> rows;
    qint64 total = 0;
    QString nextCursor;
    QJsonObject facets; ///< {"band": {…: count}, "state": {…: count}}
};

struct PutResult {
    bool created = false;
    AccountRow row;
};

/// Due = active account, dueAt ≤ now; earliest expiry first, unknown expiry before all.
struct DueRow {
    QString subscription;
    QString account;
    QString email;
    QString project;
    QString client;
    qint64 expiresAt = 0;
    qint64 lastSuccessAt = 0;
};

/// Accounts, their grants (sealed) and subscriptions. Any thread may call; answers come to the caller's thread.
/// Failures: not_found, conflict (generation), invalid_request (field), database_unavailable.
class AccountStore {
public:
    explicit AccountStore(Database &database);

    QCoro::Task<Result<AccountRow>> find(QString id);
    QCoro::Task<Result<AccountPage>> list(AccountFilter filter, qint64 nowMs, qint64 windowMs);
    /// Creates or updates; a new account gets its provider's subscription and a first target (core planner).
    QCoro::Task<Result<PutResult>> put(QString id, AccountChange change, qint64 nowMs, qint64 windowMs);
    QCoro::Task<Result<AccountRow>> patch(QString id, AccountChange change, qint64 nowMs, qint64 windowMs);
    QCoro::Task<Result<>> purge(QString id);

    QCoro::Task<Result<QList<DueRow>>> due(qint64 nowMs, int limit);
    QCoro::Task<Result<core::Subscription>> subscription(QString id);
    /// Saves when the stored generation is still subscription.generation, then increments it; conflict otherwise.
    QCoro::Task<Result<core::Subscription>> compareAndSet(core::Subscription subscription);
    /// As patch of the state alone, compare-and-set on the account's generation.
    QCoro::Task<Result<>> setState(QString id, core::AccountState state, QString reason, qint64 generation, qint64 nowMs);

    /// The sealed refresh token and the key id that sealed it; not_found.
    QCoro::Task<Result<GrantChange>> sealedGrant(QString id);

    /// Counts by state and band, nearest expiry, overdue: for status, metrics and the console.
    QCoro::Task<Result<QJsonObject>> summary(qint64 nowMs, qint64 windowMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
