// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "store/dialect.h"

#include <QCoro/QCoroFuture>
#include <QCoro/QCoroTask>
#include <QtCore/QFuture>
#include <QtCore/QObject>
#include <QtCore/QPromise>
#include <QtSql/QSqlDatabase>

#include <chrono>
#include <functional>
#include <memory>
#include <type_traits>

namespace tidekeeper::store {

/// The SQL database on a thread of its own: SQLite (WAL) by default, PostgreSQL with a postgres:// URL; one set
/// of statements. Work is handed over as a function that runs there, in order. A database that is away fails work
/// with database_unavailable, within workMs; the first work after it is back connects again.
class Database {
public:
    /// url: "sqlite:/path/file.db" or "postgres://…".
    explicit Database(QString url, std::chrono::milliseconds workMs = std::chrono::seconds(15));
    ~Database(); ///< waits for what is queued, then closes

    /// Connects and migrates. Failures: database_unavailable, database_too_new.
    QCoro::Task<Result<>> open();

    /// Runs function(QSqlDatabase &) → Result<T> on the database thread; the caller goes on in its own thread.
    /// Without a connection it is not called and the answer is database_unavailable.
    template<typename Function, typename R = std::invoke_result_t<Function, QSqlDatabase &>>
    QCoro::Task<R> run(Function function)
    {
        auto promise = std::make_shared<QPromise<R>>();
        QFuture<R> future = promise->future();
        promise->start();
        post([promise, function = std::move(function)](Result<QSqlDatabase> db) mutable {
            promise->addResult(db ? function(*db) : R(fail(db.error())));
            promise->finish();
        });
        co_return co_await future;
    }

    /// As run(), inside one transaction: committed when the result has a value, rolled back otherwise. It runs anew
    /// when other engines stood in its way (deadlock), so it changes nothing but the database. After
    /// database_unavailable it may have been committed all the same, when the answer was lost: callers that repeat
    /// it compare and set.
    template<typename Function, typename R = std::invoke_result_t<Function, QSqlDatabase &>>
    QCoro::Task<R> transaction(Function function)
    {
        return run([function = std::move(function)](QSqlDatabase &db) -> R {
            R result = once<R>(db, function);
            for (int tries = 1; tries < mostTries && isInTheWay(result); ++tries)
                result = once<R>(db, function);
            return result;
        });
    }

    bool isPostgres() const;

private:
    static constexpr int mostTries = 5;

    template<typename R, typename Function>
    static R once(QSqlDatabase &db, Function function)
    {
        if (Result<> begun = begin(db); !begun)
            return fail(begun.error());
        R result = function(db);
        if (Result<> ended = end(db, result.has_value()); !ended)
            return fail(ended.error());
        return result;
    }
    template<typename R>
    static bool isInTheWay(const R &result)
    {
        return !result && isConcurrencyFailure(result.error());
    }

    void post(std::function<void(Result<QSqlDatabase>)> work);
    static Result<> begin(QSqlDatabase &db);
    static Result<> end(QSqlDatabase &db, bool commit);

    class Private;
    std::unique_ptr<Private> d;
};

} // namespace tidekeeper::store
