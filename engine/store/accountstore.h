// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/accountchange.h"
#include "store/database.h"

#include <QtCore/QList>

namespace tidekeeper::store {

struct AccountFilter {
    QString band; ///< healthy … none; empty = any
    qint64 expiringWithinMs = -1; ///< at most this much left, lapsed and unknown included; −1 = any
    QString state;
    QString project;
    bool due = false; ///< only those with something that the next scan would take
    QString text; ///< part of an id; with an @ in it a whole address or id
    QString sort = QStringLiteral("expires_at"); ///< one of accountSortNames(), "-" in front = descending
    int limit = 100; ///< 1 … 1,000
    QString cursor;
    QStringList ids; ///< these and no others, at most 1,000; empty = any
    bool counted = true; ///< false: no total and no facets, which cost more than the rows of a page
};

QStringList accountSortNames();

struct AccountPage {
    QList<AccountRow> rows;
    qint64 total = 0;
    QString nextCursor; ///< empty on the last page
    QJsonObject facets; ///< {"band": {…: count}, "state": {…: count}}, each counted under the other filters
};

struct PutResult {
    bool created = false;
    bool changed = false; ///< false: everything given was there already
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
/// Failures: not_found, conflict (generation, or the state does not allow it), invalid_request (field),
/// database_unavailable. No text repeats an id or an address.
class AccountStore {
public:
    explicit AccountStore(Database &database);

    QCoro::Task<Result<AccountRow>> find(QString id);
    QCoro::Task<Result<AccountPage>> list(AccountFilter filter, qint64 nowMs, qint64 windowMs);
    /// Creates or updates; a new account gets its provider's subscription and a first target (core planner). One that
    /// is leaving comes back.
    QCoro::Task<Result<PutResult>> put(QString id, AccountChange change, qint64 nowMs);
    QCoro::Task<Result<AccountRow>> patch(QString id, AccountChange change, qint64 nowMs);
    /// patch() for each in one transaction, as far as it is there and may; how many changed.
    QCoro::Task<Result<int>> patchAll(QStringList ids, AccountChange change, qint64 nowMs);
    /// As put(), in this order and in one transaction. A row that is refused (invalid_request) leaves nothing and does
    /// not stop the others; on any other failure none is stored. dryRun: what would come of it, and nothing stored.
    QCoro::Task<Result<QList<Result<PutResult>>>> putAll(QList<std::pair<QString, AccountChange>> rows,
                                                         qint64 nowMs, bool dryRun = false);
    /// Shreds the grant and forgets an account that is leaving; conflict in any other state (it came back).
    QCoro::Task<Result<>> purge(QString id);

    QCoro::Task<Result<QList<DueRow>>> due(qint64 nowMs, int limit);
    QCoro::Task<Result<core::Subscription>> subscription(QString id);
    /// Saves when the stored generation is still subscription.generation, then increments it; conflict otherwise.
    /// dueAt is computed here, an expiry < 0 is stored as 0 (unknown).
    QCoro::Task<Result<core::Subscription>> compareAndSet(core::Subscription subscription);
    /// As patch of the state alone, compare-and-set on the account's generation.
    QCoro::Task<Result<>> setState(QString id, core::AccountState state, QString reason, qint64 generation,
                                   qint64 nowMs);

    /// The sealed refresh token in use and the key id that sealed it; not_found.
    QCoro::Task<Result<GrantChange>> sealedGrant(QString id);

    /// Counts by state and band, nearest expiry, overdue: for status, metrics and the console. {"total", "state": {…},
    /// "band": {…}, "state_band": {state: {band: …}}, "active_band": {…}, "nearest_expiry": {"account", "expires_at"} or
    /// null, "due", "oldest_due_at": 0 when nobody is due, "without_watch": active ones that for
    /// CoverageStore::firstWatchGraceMs have never had one}.
    QCoro::Task<Result<QJsonObject>> summary(qint64 nowMs, qint64 windowMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
