// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include "store/dialect.h"
#include "store/migrations.h"

#include <QtCore/QThread>
#include <QtCore/QUuid>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

class Database::Private {
public:
    explicit Private(QString databaseUrl) : url(std::move(databaseUrl))
    {
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

    // Database thread. After a lost connection the next work tries again; what then fails says so itself.
    QSqlDatabase connected()
    {
        QSqlDatabase db = QSqlDatabase::database(connection, false);
        if (opened && !db.isOpen())
            static_cast<void>(openConnection(db));
        return db;
    }

    // Database thread.
    Result<> open()
    {
        if (!QSqlDatabase::contains(connection)) {
            if (Result<> added = addConnection(connection, url); !added)
                return added;
        }
        QSqlDatabase db = QSqlDatabase::database(connection, false);
        if (Result<> ready = openConnection(db); !ready)
            return ready;
        opened = true;
        return migrate(db);
    }

    const QString url;
    const QString connection = QUuid::createUuid().toString(QUuid::Id128);
    bool opened = false; // database thread
    QThread thread;
    QObject worker;
};

Database::Database(QString url) : d(std::make_unique<Private>(std::move(url))) { }

Database::~Database() = default;

QCoro::Task<Result<>> Database::open()
{
    auto opened = co_await run([this](QSqlDatabase &) { return d->open(); });
    co_return opened;
}

bool Database::isPostgres() const
{
    return isPostgresUrl(d->url);
}

void Database::post(std::function<void(QSqlDatabase &)> work)
{
    QMetaObject::invokeMethod(
        &d->worker,
        [this, work = std::move(work)] {
            QSqlDatabase db = d->connected();
            work(db);
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
