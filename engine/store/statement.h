// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtSql/QSqlDatabase>
#include <QtSql/QSqlQuery>

namespace tidekeeper::store {

/// One prepared statement with ? placeholders, to be run any number of times on the thread of its database. A null
/// string is bound as an empty one: the schema knows no NULL. Failures: database_unavailable.
class Statement {
public:
    Statement(QSqlDatabase &db, const QString &sql);

    /// Runs it; rows are then read with next() and value().
    Result<> run(const QVariantList &values = {});
    bool next() { return m_query.next(); }
    QVariant value(int column) const { return m_query.value(column); }
    QString text(int column) const { return m_query.value(column).toString(); }
    qint64 integer(int column) const { return m_query.value(column).toLongLong(); }

    /// Runs it and counts the rows that it changed.
    Result<qint64> change(const QVariantList &values = {});

private:
    QSqlDatabase &m_db;
    QSqlQuery m_query;
    QString m_sql;
    bool m_prepared = false;
};

/// A statement that is needed once.
Result<qint64> change(QSqlDatabase &db, const QString &sql, const QVariantList &values = {});

} // namespace tidekeeper::store
