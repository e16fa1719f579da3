// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtSql/QSqlDatabase>
#include <QtSql/QSqlError>

#include <chrono>

// Everything in which SQLite and PostgreSQL differ. The rest of this folder is one set of statements for both.
// Database thread, except isPostgresUrl().
namespace tidekeeper::store {

bool isPostgresUrl(const QString &url);

/// Makes the connection object of this thread (not open yet). Failure: database_unavailable (unknown URL, driver
/// missing).
Result<> addConnection(const QString &name, const QString &url);

/// Failure: database_unavailable, within 5 s.
Result<> openConnection(QSqlDatabase &db);

/// Sets what a session needs, on an open connection, which is closed when that fails. statementTime: the
/// most that a PostgreSQL server takes for one statement, or that SQLite waits for the lock of another process (5 s). Failure: database_unavailable.
Result<> setUpSession(QSqlDatabase &db, std::chrono::milliseconds statementTime);

/// Begins a transaction that may write: SQLite takes its write lock at once instead of failing half-way.
Result<> beginTransaction(QSqlDatabase &db);

/// Inside a transaction: keeps other engines from migrating until it ends.
Result<> lockMigrations(QSqlDatabase &db);

/// A CREATE statement with {key} (text that is compared and sorted by bytes) and {serial} (a growing primary key).
QString adapted(const QSqlDatabase &db, QString ddl);

/// What a SELECT … FROM accounts a ends with when its row is going to be changed in this transaction.
QString lockOf(const QSqlDatabase &db);

/// What a failed statement becomes: database_unavailable with a remedy where there is one. Closes the connection when
/// the server is gone, so that the next use reopens it. The text never carries values of rows.
Error statementFailure(QSqlDatabase &db, const QSqlError &error);

/// True for a failure of a transaction that only other transactions stood in the way of: the same one may succeed.
bool isConcurrencyFailure(const Error &error);

} // namespace tidekeeper::store
