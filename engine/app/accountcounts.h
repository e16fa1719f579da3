// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/accountstore.h"

#include <QtCore/QElapsedTimer>

#include <optional>

namespace tidekeeper::app {

/// AccountStore::summary() for all who look at once and often: probes, scrapes, people. It walks an index over every
/// account, so an answer that took long is shown again for a while: counting never takes more than a fiftieth of the
/// database's time. An answer that took a millisecond is never older than a twentieth of a second. Main thread.
class AccountCounts {
public:
    static constexpr qint64 shareOfTime = 50;
    static constexpr qint64 oldestMs = 60'000;

    explicit AccountCounts(store::AccountStore &accounts) : m_accounts(accounts) { }

    /// A failure is never kept: whoever asks next asks the database.
    QCoro::Task<Result<QJsonObject>> read(qint64 nowMs, qint64 windowMs);

private:
    store::AccountStore &m_accounts;
    std::optional<QJsonObject> m_kept;
    QElapsedTimer m_age;
    qint64 m_keptForMs = 0;
};

} // namespace tidekeeper::app
