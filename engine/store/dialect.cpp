// SPDX-License-Identifier: Apache-2.0
#include "store/dialect.h"

#include "store/lockholder.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QThread>
#include <QtCore/QUrl>
#include <QtCore/QUrlQuery>
#include <QtSql/QSqlQuery>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

constexpr auto sqlitePrefix = "sqlite:"_L1;
constexpr std::chrono::milliseconds longestLock(5000); // what one statement waits for another process
constexpr auto sqliteBusy = "5"_L1;
constexpr auto sqlState = "sqlstate"_L1; // of an Error's details

// Any number, the same in every engine: PostgreSQL's advisory locks are named by numbers.
constexpr auto migrationLock = "SELECT pg_advisory_xact_lock(7163843907)"_L1;

bool isPostgres(const QSqlDatabase &db)
{
    return db.driverName() == "QPSQL"_L1;
}

// PostgreSQL appends DETAIL lines with the values of the row; only the first line is safe to show.
QString firstLine(const QSqlError &error)
{
    const QString text = error.databaseText().isEmpty() ? error.driverText() : error.databaseText();
    return text.section(u'\n', 0, 0).trimmed();
}

Error unavailable(const QString &text)
{
    return Error::failure(u"database_unavailable"_s, text);
}

Error sqliteFailure(const QSqlError &error, const QString &path)
{
    const int code = error.nativeErrorCode().toInt() & 0xff; // the rest tells kinds of it apart
    const QString folder = QFileInfo(path).path();
    switch (code) {
    case 5: // SQLITE_BUSY
    case 6: { // SQLITE_LOCKED
        const QString holder = lockHolder(path);
        return unavailable(
            u"The database file is locked by %1. Engines on several machines or a tool that writes for "
            u"long need PostgreSQL; end what holds the file, or wait for it."_s.arg(
                holder.isEmpty() ? u"another process"_s : holder));
    }
    case 8: // SQLITE_READONLY
        return unavailable(
            u"The database file may not be written. Check the permissions of %1 and whether its "
            u"file system is mounted read-only."_s.arg(path));
    case 13: // SQLITE_FULL
        return unavailable(u"The disk with the database is full. Make room in %1; the engine then goes on by "
                           u"itself."_s.arg(folder));
    case 10: // SQLITE_IOERR
        return unavailable(u"The database file cannot be read or written: %1. Check the disk with %2."_s.arg(
            firstLine(error), folder));
    default:
        return unavailable(u"The database did not carry out a statement: %1."_s.arg(firstLine(error)));
    }
}

Result<> execute(QSqlDatabase &db, const QString &sql)
{
    QSqlQuery query(db);
    if (!query.exec(sql))
        return fail(statementFailure(db, query.lastError()));
    return {};
}

void setPostgres(QSqlDatabase &db, const QUrl &url)
{
    QUrlQuery options(url);
    const QString socketFolder = options.queryItemValue(u"host"_s, QUrl::FullyDecoded);
    options.removeQueryItem(u"host"_s);
    db.setHostName(socketFolder.isEmpty() ? url.host() : socketFolder);
    if (url.port() > 0)
        db.setPort(url.port());
    db.setDatabaseName(url.path(QUrl::FullyDecoded).mid(1));
    db.setUserName(url.userName(QUrl::FullyDecoded));
    db.setPassword(url.password(QUrl::FullyDecoded));
    QStringList settings{u"connect_timeout=5"_s, u"application_name=tidekeeper"_s};
    for (const auto &[name, value] : options.queryItems(QUrl::FullyDecoded))
        settings.append(name + u'=' + value);
    db.setConnectOptions(settings.join(u';'));
}

// Made before SQLite makes it, because it holds addresses and sealed grants: nobody else may read it. The -wal and
// -shm files beside it get the same permissions from SQLite.
Result<> makePrivateFile(const QString &path)
{
    QFile file(path);
    if (file.exists())
        return {};
    if (!file.open(QIODevice::ReadWrite | QIODevice::NewOnly, QFile::ReadOwner | QFile::WriteOwner)) {
        return fail(
            unavailable(u"The database file cannot be made: %1. Check that its folder exists and that the "
                        u"engine may write there."_s.arg(file.errorString())));
    }
    return {};
}

// Engines that open a new file at the same moment: the change to WAL does not wait for busy_timeout.
Result<> setWal(QSqlDatabase &db, std::chrono::milliseconds lockTime)
{
    const QDeadlineTimer deadline(lockTime);
    QSqlQuery query(db);
    while (!query.exec(u"PRAGMA journal_mode = WAL"_s)) {
        if (query.lastError().nativeErrorCode() != sqliteBusy || deadline.hasExpired())
            return fail(statementFailure(db, query.lastError()));
        QThread::msleep(20);
    }
    return {};
}

Result<> setUpPostgres(QSqlDatabase &db, std::chrono::milliseconds statementTime)
{
    return execute(
        db, u"SET statement_timeout = %1; SET client_min_messages = warning"_s.arg(statementTime.count()));
}

Result<> setUpSqlite(QSqlDatabase &db, std::chrono::milliseconds lockTime)
{
    if (Result<> done = execute(db, u"PRAGMA busy_timeout = %1"_s.arg(lockTime.count())); !done)
        return done;
    if (Result<> done = setWal(db, lockTime); !done)
        return done;
    // FULL: an answered PUT of a grant survives a power cut. secure_delete: a purged grant is overwritten.
    for (const auto pragma :
         {"PRAGMA synchronous = FULL"_L1, "PRAGMA foreign_keys = ON"_L1, "PRAGMA secure_delete = ON"_L1,
          "PRAGMA temp_store = MEMORY"_L1, "PRAGMA cache_size = -16000"_L1}) {
        if (Result<> done = execute(db, pragma); !done)
            return done;
    }
    return {};
}

} // namespace

bool isPostgresUrl(const QString &url)
{
    return url.startsWith("postgres://"_L1) || url.startsWith("postgresql://"_L1);
}

Result<> addConnection(const QString &name, const QString &url)
{
    const bool postgres = isPostgresUrl(url);
    const bool good = postgres ? QUrl(url).isValid() : url.startsWith(sqlitePrefix);
    if (!good) {
        return fail(unavailable(u"\"database.url\" is not understood: write sqlite:/path/to/file.db, "
                                u"postgres://user:password@host/database or, for a Unix socket, "
                                u"postgres:///database?host=/folder/of/the/socket&user=name."_s));
    }
    QSqlDatabase db = QSqlDatabase::addDatabase(postgres ? u"QPSQL"_s : u"QSQLITE"_s, name);
    if (!db.isValid()) {
        return fail(unavailable(
            u"The Qt SQL driver for this database is not installed: install the package %1."_s.arg(
                postgres ? u"libqt6sql6-psql"_s : u"libqt6sql6-sqlite"_s)));
    }
    if (postgres)
        setPostgres(db, QUrl(url));
    else
        db.setDatabaseName(url.mid(sqlitePrefix.size()));
    return {};
}

Result<> openConnection(QSqlDatabase &db)
{
    if (!isPostgres(db)) {
        if (Result<> made = makePrivateFile(db.databaseName()); !made)
            return made;
    }
    if (!db.open())
        return fail(unavailable(u"The database cannot be opened: %1."_s.arg(firstLine(db.lastError()))));
    return {};
}

Result<> setUpSession(QSqlDatabase &db, std::chrono::milliseconds statementTime)
{
    Result<> ready = isPostgres(db) ? setUpPostgres(db, statementTime)
                                    : setUpSqlite(db, std::min(statementTime, longestLock));
    if (!ready)
        db.close();
    return ready;
}

Result<> beginTransaction(QSqlDatabase &db)
{
    return execute(db, isPostgres(db) ? u"BEGIN"_s : u"BEGIN IMMEDIATE"_s);
}

Result<> lockMigrations(QSqlDatabase &db)
{
    if (!isPostgres(db))
        return {}; // BEGIN IMMEDIATE is SQLite's lock
    if (Result<> patient = execute(db, u"SET LOCAL statement_timeout = 0"_s); !patient)
        return patient;
    return execute(db, migrationLock);
}

QString lockOf(const QSqlDatabase &db)
{
    return isPostgres(db) ? u" FOR UPDATE OF a"_s : QString(); // SQLite has one writer at a time
}

QString adapted(const QSqlDatabase &db, QString ddl)
{
    const bool postgres = isPostgres(db);
    ddl.replace("{key}"_L1, postgres ? "TEXT COLLATE \"C\""_L1 : "TEXT"_L1);
    ddl.replace("{serial}"_L1,
                postgres ? "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"_L1
                         : "INTEGER PRIMARY KEY AUTOINCREMENT"_L1);
    return ddl;
}

Error statementFailure(QSqlDatabase &db, const QSqlError &error)
{
    if (!isPostgres(db))
        return sqliteFailure(error, db.databaseName());
    const QString state = error.nativeErrorCode();
    const bool serverGone = state.isEmpty() || state.startsWith("08"_L1) || state.startsWith("57P"_L1)
        || error.type() == QSqlError::ConnectionError;
    if (serverGone) {
        db.close();
        return unavailable(
            u"The database server cannot be reached or does not answer: %1."_s.arg(firstLine(error)));
    }
    Error failure = unavailable(u"The database did not carry out a statement: %1."_s.arg(firstLine(error)));
    failure.details.insert(sqlState, state);
    return failure;
}

bool isConcurrencyFailure(const Error &error)
{
    const QString state = error.details[sqlState].toString();
    return state == "40001"_L1 || state == "40P01"_L1; // serialization failure, deadlock
}

} // namespace tidekeeper::store
