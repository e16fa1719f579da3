// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

namespace tidekeeper::store {

/// A secret as the database has it.
struct SealedValue {
    QString id; ///< of its row
    QString account; ///< to which it is bound
    QString keyId;
    QByteArray sealed;
    QString fingerprint; ///< keyed hash
};

/// All secrets of the database, for the change of the sealing key. Any thread may call.
/// Failure: database_unavailable.
class SealedValues {
public:
    enum class Table : quint8 {
        Grants, ///< retired ones too: they may be restored
        Devices
    };

    explicit SealedValues(Database &database) : m_database(database) { }

    /// How many there are that another key than this one sealed.
    QCoro::Task<Result<qint64>> count(QString otherThanKeyId);
    /// The next of them after this row, in the order of their rows.
    QCoro::Task<Result<QList<SealedValue>>> next(Table table, QString afterId, QString otherThanKeyId,
                                                 int limit);
    /// In one transaction; a row that somebody changed since it was read (`before`, its sealed bytes) stays as it is.
    struct Replacement {
        QByteArray before;
        SealedValue after;
    };
    QCoro::Task<Result<>> replace(Table table, QList<Replacement> replacements);

private:
    Database &m_database;
};

} // namespace tidekeeper::store
