// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

#include <QtCore/QList>

namespace tidekeeper::store {

/// Account-time of one hour: every active account, and those of it that had no live watch.
struct CoverageHour {
    qint64 hour = 0; ///< hours since the epoch
    qint64 activeMs = 0;
    qint64 lapsedMs = 0;
};

/// How much of the time that accounts were active they had a live watch. Counted once for all engines that share the
/// database, and also over the time in which none of them ran: what lapsed then is known from the expiries.
/// An account that never had a watch counts as lapsed once it has been active, or was last changed, for
/// firstWatchGraceMs. Who became active between two samples counts from the first of them. Any thread may call;
/// failure: database_unavailable.
class CoverageStore {
public:
    static constexpr qint64 firstWatchGraceMs = 60 * 60'000;
    static constexpr qint64 leastSampleMs = 30'000; ///< a sample sooner after the last one adds nothing

    explicit CoverageStore(Database &database) : m_database(database) { }

    /// Adds the time since the last sample, whichever engine took it. The first one ever only marks where to begin.
    QCoro::Task<Result<>> sample(qint64 nowMs);
    /// A watch that had lapsed at fromMs was renewed at toMs: adds what no sample has seen of it.
    QCoro::Task<Result<>> addGap(qint64 fromMs, qint64 toMs);
    /// From the hour of this instant on, oldest first.
    QCoro::Task<Result<QList<CoverageHour>>> since(qint64 fromMs);
    QCoro::Task<Result<>> prune(qint64 beforeMs);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
