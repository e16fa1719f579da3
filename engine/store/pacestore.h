// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pacing.h"
#include "store/accountchange.h"
#include "store/database.h"

namespace tidekeeper::store {

/// How much of a backlog may be begun, counted for all engines together, and what was pulled forward out of turn. Any
/// thread may call. Failure: database_unavailable.
class PaceStore {
public:
    explicit PaceStore(Database &database) : m_database(database) { }

    /// How many of `wanted` may be begun now, at this pace and at that of what was pulled forward.
    QCoro::Task<Result<int>> take(core::Pace pace, int wanted, qint64 nowMs);
    /// What was taken and not begun.
    QCoro::Task<Result<>> giveBack(core::Pace pace, int unused);

    QCoro::Task<Result<qint64>> activeSubscriptions();

    /// The active ones of these become due within spreadMs, each at a moment of its own; one that is due sooner stays.
    /// Those that moved are begun at that rate beside the usual pace. How many moved.
    QCoro::Task<Result<int>> pullForward(QList<AccountRow> rows, qint64 spreadMs, qint64 nowMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
