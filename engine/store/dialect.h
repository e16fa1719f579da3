// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtSql/QSqlDatabase>
#include <QtSql/QSqlError>

// Everything in which SQLite and PostgreSQL differ. The rest of this folder is one set of statements for both.
// Database thread, except isPostgresUrl().
namespace tidekeeper::store {

bool isPostgresUrl(const QString &url);

/// Makes the connection object of this thread (not open yet). Failure: database_unavailable (unknown URL, driver
/// missing).
Result<> addConnection(const QString &name, const QString &url);

/// Opens it and sets what a session needs. Failure: database_unavailable.
Result<> openConnection(QSqlDatabase &db);

/// Begins a transaction that may write: SQLite takes its write lock at once instead of failing half-way.
Result<> beginTransaction(QSqlDatabase &db);

/// Inside a transaction: keeps other engines from migrating until it ends.
Result<> lockMigrations(QSqlDatabase &db);

/// A CREATE statement with {key} (text that is compared and sorted by bytes) and {serial} (a growing primary key).
QString adapted(const QSqlDatabase &db, QString ddl);

/// What a SELECT … FROM accounts a ends with when its row is going to be changed in this transaction.
QString lockOf(const QSqlDatabase &db);

/// What a failed statement becomes. Closes the connection when the server is gone, so that the next use
/// reopens it. The text never carries values of rows.
Error statementFailure(QSqlDatabase &db, const QSqlError &error);

} // namespace tidekeeper::store
