// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/grantage.h"
#include "store/database.h"

namespace tidekeeper::store {

/// What is remembered of grants that Google ended, longer than the grants themselves. GrantStore::retire() notes a
/// death; restoring the grant takes it back. Any thread may call. Failure: database_unavailable.
class GrantDeathStore {
public:
    static constexpr int mostRead = 10'000;

    explicit GrantDeathStore(Database &database) : m_database(database) { }

    /// Those after this instant, the newest first, at most mostRead.
    QCoro::Task<Result<QList<core::GrantDeath>>> since(qint64 afterMs);

    /// Whether the caller is to tell of this client: the first to ask is, and again once what was told is older than
    /// toldBeforeMs.
    QCoro::Task<Result<bool>> tell(QString project, QString client, qint64 nowMs, qint64 toldBeforeMs);

    /// Forgets what died at or before this instant.
    QCoro::Task<Result<>> prune(qint64 diedUpToMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
