// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QCoro/QCoroFuture>
#include <QCoro/QCoroTask>
#include <QtCore/QFuture>
#include <QtCore/QObject>
#include <QtCore/QPromise>
#include <QtSql/QSqlDatabase>

#include <functional>
#include <memory>
#include <type_traits>

namespace tidekeeper::store {

/// The SQL database on a thread of its own: SQLite (WAL) by default, PostgreSQL with a postgres:// URL; one set
/// of statements. Work is handed over as a function that runs there, in order.
class Database {
public:
    /// url: "sqlite:/path/file.db" or "postgres://…".
    explicit Database(QString url);
    ~Database(); ///< waits for what is queued, then closes

    /// Connects and migrates. Failures: database_unavailable, database_too_new.
    QCoro::Task<Result<>> open();

    /// Runs function(QSqlDatabase &) → Result<T> on the database thread; the caller goes on in its own thread.
    template<typename Function, typename R = std::invoke_result_t<Function, QSqlDatabase &>>
    QCoro::Task<R> run(Function function)
    {
        auto promise = std::make_shared<QPromise<R>>();
        QFuture<R> future = promise->future();
        promise->start();
        post([promise, function = std::move(function)](QSqlDatabase &db) mutable {
            promise->addResult(function(db));
            promise->finish();
        });
        co_return co_await future;
    }

    /// As run(), inside one transaction: committed when the result has a value, rolled back otherwise.
    template<typename Function, typename R = std::invoke_result_t<Function, QSqlDatabase &>>
    QCoro::Task<R> transaction(Function function)
    {
        return run([function = std::move(function)](QSqlDatabase &db) mutable -> R {
            if (Result<> begun = begin(db); !begun)
                return fail(begun.error());
            R result = function(db);
            if (Result<> ended = end(db, result.has_value()); !ended)
                return fail(ended.error());
            return result;
        });
    }

    bool isPostgres() const;

private:
    void post(std::function<void(QSqlDatabase &)> work);
    static Result<> begin(QSqlDatabase &db);
    static Result<> end(QSqlDatabase &db, bool commit);

    class Private;
    std::unique_ptr<Private> d;
};

} // namespace tidekeeper::store
