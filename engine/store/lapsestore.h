// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

#include <QtCore/QList>

namespace tidekeeper::store {

struct Lapse {
    QString account;
    qint64 expiredAt = 0; ///< epoch ms
};

/// Finds watches of active accounts that lapsed and were not told yet. Any thread may call.
class LapseStore {
public:
    explicit LapseStore(Database &database) : m_database(database) { }

    /// Those that had expired by expiredBeforeMs, at most limit, the oldest first. Each lapse is handed out once, to
    /// one engine, also over restarts; the next one of the same account has another expiry. What had lapsed before
    /// the account came here is none of ours. Failure: database_unavailable.
    QCoro::Task<Result<QList<Lapse>>> take(qint64 expiredBeforeMs, qint64 nowMs, int limit);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
