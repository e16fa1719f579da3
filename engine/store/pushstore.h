// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pushproof.h"
#include "store/database.h"

#include <QtCore/QMap>
#include <QtCore/QSet>

namespace tidekeeper::store {

struct PushSeen {
    qint64 at = 0; ///< epoch ms
    QString historyId; ///< digits; may be empty
};

/// Subscriptions of active accounts by push state, and what tells whether the path is broken. Epoch ms, 0 = never.
struct PushCounts {
    qint64 provenSince = 0; ///< when the first push was ever reported
    qint64 proven = 0;
    qint64 unproven = 0;
    qint64 silent = 0;
    qint64 lastPushAt = 0; ///< of anybody
    qint64 firstUnansweredAt = 0; ///< the oldest renewal since then
};

struct SilentWatch {
    QString account;
    QString subscription;
    qint64 renewedAt = 0;
    core::SilenceStep step = core::SilenceStep::None;
};

/// Which watches were seen to deliver. Shared by all engines. Any thread may call. Failure: database_unavailable.
class PushStore {
public:
    explicit PushStore(Database &database) : m_database(database) { }

    /// Notes the newest push of each address, in one transaction, for every account that has it. An id older than the
    /// known one proves nothing and is passed over. Gives the addresses that no account has.
    QCoro::Task<Result<QSet<QString>>> note(QMap<QString, PushSeen> byEmail);
    QCoro::Task<Result<PushCounts>> count(core::PushLimits limits, qint64 nowMs);
    /// Silent watches about which something is to be done, handed out once, to one engine; at most limit.
    QCoro::Task<Result<QList<SilentWatch>>> takeSilent(core::PushLimits limits, qint64 nowMs, int limit);
    /// Marks the path as broken (since nowMs) or sound; true for the one who changed it.
    QCoro::Task<Result<bool>> markPath(bool broken, qint64 nowMs);
    QCoro::Task<Result<qint64>> pathBrokenSince(); ///< 0 = sound

private:
    Database &m_database;
};

} // namespace tidekeeper::store
