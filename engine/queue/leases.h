// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/functionlibrary.h"

#include <QCoro/QCoroTask>

namespace tidekeeper::queue {

struct LeaseState {
    bool held = false;
    qint64 term = 0; ///< of the holder, whoever it is; grows with each holder
    qint64 remainingMs = 0; ///< of the holder's lease
};

/// Named leases on lua/lease.lua: one holder at a time, known by a token of its own, compare-and-delete.
/// Names travel into Redis keys: no address in them. Thread of the library's connection. Failures: redis_*,
/// functions_refused.
class Leases {
public:
    /// library: FunctionLibrary(connection, "tidekeeper_lease", FunctionLibrary::embedded("lease.lua")).
    explicit Leases(redis::FunctionLibrary &library) : m_library(library) { }

    /// Takes a free lease, or renews one that this owner holds. The term is greater than seenTerm.
    QCoro::Task<Result<LeaseState>> acquire(QString name, QByteArray owner, qint64 ttlMs,
                                            qint64 seenTerm = 0);
    /// False when it is no longer this owner's.
    QCoro::Task<Result<bool>> renew(QString name, QByteArray owner, qint64 ttlMs);
    QCoro::Task<Result<bool>> release(QString name, QByteArray owner);

private:
    redis::FunctionLibrary &m_library;
};

} // namespace tidekeeper::queue
