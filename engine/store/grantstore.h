// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/accountchange.h"
#include "store/database.h"

namespace tidekeeper::store {

/// The end of a stored refresh token, and its way back. Any thread may call.
/// Failures: not_found, conflict, database_unavailable.
class GrantStore {
public:
    explicit GrantStore(Database &database);

    /// The provider rotated the token: stores the new one, sealed, if the one with fromFingerprint is still in use.
    /// Neither state nor due time change. conflict when someone stored another meanwhile.
    QCoro::Task<Result<>> rotate(QString account, QString fromFingerprint, GrantChange to, qint64 nowMs);

    /// Google says that the grant is gone: the account needs re-authorisation, the token is no longer used
    /// (has_refresh_token is false at once) but kept, sealed, so that it can be restored. Compare-and-set on the
    /// account's generation: a token that arrived in between wins.
    QCoro::Task<Result<>> retire(QString account, QString reason, qint64 generation, qint64 nowMs);

    /// The retired token is used again and the account active and due; not_found when it was shredded or replaced.
    QCoro::Task<Result<>> restore(QString account, qint64 nowMs);

    /// Forgets tokens that were retired at or before this instant; how many.
    QCoro::Task<Result<qint64>> shred(qint64 retiredUpToMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
