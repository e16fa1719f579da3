// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include "store/dialect.h"
#include "store/migrations.h"
#include "store/stallguard.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QThread>
#include <QtCore/QUuid>

#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

constexpr std::chrono::milliseconds pauseBetweenTries(500);
constexpr std::chrono::minutes migrationTime(30); // an index over a million rows takes as long as it takes

} // namespace

class Database::Private {
public:
    explicit Private(QString databaseUrl, std::chrono::milliseconds workMs)
        : url(std::move(databaseUrl)), workTime(workMs)
    {
        if (isPostgresUrl(url))
            guard.emplace();
        thread.setObjectName(u"database"_s);
        worker.moveToThread(&thread);
        thread.start();
    }

    ~Private()
    {
        // Queued last, so it runs after all work that was handed over before.
        QMetaObject::invokeMethod(
            &worker,
            [this] {
                QSqlDatabase::removeDatabase(connection);
                QThread::currentThread()->quit();
            },
            Qt::QueuedConnection);
        thread.wait();
    }

    // Database thread. After a lost connection the next work tries again, but not each of a thousand that wait: a
    // server that does not answer takes its time to fail.
    Result<QSqlDatabase> connected()
    {
        QSqlDatabase db = QSqlDatabase::database(connection, false);
        if (db.isOpen())
            return db;
        if (!nextTry.hasExpired())
            return fail(lastFailure);
        if (Result<> ready = connect(db); !ready) {
            lastFailure = ready.error();
            nextTry.setRemainingTime(pauseBetweenTries);
            return fail(lastFailure);
        }
        return db;
    }

    // Database thread.
    Result<> connect(QSqlDatabase &db)
    {
        if (Result<> ready = openConnection(db); !ready)
            return ready;
        const Guarded guarded(guard, db, workTime);
        return setUpSession(db, workTime);
    }

    // Database thread.
    Result<> open()
    {
        if (!QSqlDatabase::contains(connection)) {
            if (Result<> added = addConnection(connection, url); !added)
                return added;
        }
        QSqlDatabase db = QSqlDatabase::database(connection, false);
        if (Result<> ready = connect(db); !ready)
            return ready;
        const Guarded guarded(guard, db, migrationTime);
        return migrate(db);
    }

    // While it lives, a server that does not answer is cut off after the time.
    class Guarded {
    public:
        Guarded(std::optional<StallGuard> &guard, const QSqlDatabase &db, std::chrono::milliseconds time)
            : m_guard(guard)
        {
            if (m_guard)
                m_guard->begin(db, time);
        }
        ~Guarded()
        {
            if (m_guard)
                m_guard->end();
        }
        Q_DISABLE_COPY_MOVE(Guarded)

    private:
        std::optional<StallGuard> &m_guard;
    };

    const QString url;
    const std::chrono::milliseconds workTime;
    const QString connection = QUuid::createUuid().toString(QUuid::Id128);
    QDeadlineTimer nextTry; // database thread, as all below
    Error lastFailure;
    std::optional<StallGuard> guard; // of PostgreSQL; SQLite has its own deadlines
    QThread thread;
    QObject worker;
};

Database::Database(QString url, std::chrono::milliseconds workMs)
    : d(std::make_unique<Private>(std::move(url), workMs))
{ }

Database::~Database() = default;

QCoro::Task<Result<>> Database::open()
{
    auto promise = std::make_shared<QPromise<Result<>>>();
    QFuture<Result<>> future = promise->future();
    promise->start();
    QMetaObject::invokeMethod(
        &d->worker,
        [this, promise] {
            promise->addResult(d->open());
            promise->finish();
        },
        Qt::QueuedConnection);
    co_return co_await future;
}

bool Database::isPostgres() const
{
    return isPostgresUrl(d->url);
}

void Database::post(std::function<void(Result<QSqlDatabase>)> work)
{
    QMetaObject::invokeMethod(
        &d->worker,
        [this, work = std::move(work)] {
            Result<QSqlDatabase> db = d->connected();
            if (!db) {
                work(fail(db.error()));
                return;
            }
            const Private::Guarded guarded(d->guard, *db, d->workTime);
            work(std::move(db));
        },
        Qt::QueuedConnection);
}

Result<> Database::begin(QSqlDatabase &db)
{
    return beginTransaction(db);
}

Result<> Database::end(QSqlDatabase &db, bool commit)
{
    if (!commit) {
        db.rollback();
        return {};
    }
    if (!db.commit()) {
        const Error error = statementFailure(db, db.lastError());
        db.rollback();
        return fail(error);
    }
    return {};
}

} // namespace tidekeeper::store
