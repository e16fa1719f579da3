// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/breaker.h"
#include "store/database.h"

#include <QtCore/QJsonObject>
#include <QtCore/QList>

namespace tidekeeper::store {

struct BreakerRow {
    QString scope; ///< whom it stops, as renewal::Breakers names it
    QJsonObject fault; ///< what to show of it
    qint64 openedAt = 0; ///< epoch ms
    core::Breaker::State state; ///< instants are epoch ms
    qint64 generation = 0;
};

/// The open breakers, shared by all engines. Every change is a compare-and-set, so that of several engines one opens,
/// one probes and one closes. Any thread may call. Failure: database_unavailable.
class BreakerStore {
public:
    explicit BreakerStore(Database &database) : m_database(database) { }

    QCoro::Task<Result<QList<BreakerRow>>> all();
    /// False when it is open already.
    QCoro::Task<Result<bool>> open(BreakerRow row);
    /// Its state, if it is still of row.generation, which then moves by one; false when somebody else was quicker.
    QCoro::Task<Result<bool>> replace(BreakerRow row);
    /// False when it is closed already or has another generation.
    QCoro::Task<Result<bool>> close(QString scope, qint64 generation);

private:
    Database &m_database;
};

/// For a breaker that opens or closes in the transaction of something else. Database thread.
Result<bool> insertBreaker(QSqlDatabase &db, const BreakerRow &row);
Result<> deleteBreaker(QSqlDatabase &db, const QString &scope);

} // namespace tidekeeper::store
