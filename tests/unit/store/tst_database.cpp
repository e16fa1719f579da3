// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"
#include "store/migrations.h"
#include "store/statement.h"
#include "support/testdatabase.h"

#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QThread>
#include <QtTest/QTest>

#include <array>
#include <atomic>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using store::Database;

class DatabaseTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void migratesOnceAndKeepsData();
    void twoEnginesMigrateTheSameFile();
    void refusesANewerDatabase();
    void failedMigrationLeavesNothing();
    void refusedPlaces_data();
    void refusedPlaces();
    void fileIsPrivate();
    void runsOnItsOwnThreadInOrder();
    void answersOnTheCallersThread();
    void rollsBackWhatFailed();
    void destructorDoesWhatWasHandedOver();
    void failedStatementIsAValue();

private:
    static Result<> open(Database &database) { return QCoro::waitFor(database.open()); }
    static Result<qint64> change(Database &database, const QString &sql)
    {
        return QCoro::waitFor(database.run([sql](QSqlDatabase &db) { return store::change(db, sql); }));
    }
    QTemporaryDir m_folder;
    QString fresh(const QString &name) const { return u"sqlite:"_s + m_folder.filePath(name); }
};

void DatabaseTest::migratesOnceAndKeepsData()
{
    test::TestDatabase database;
    QCOMPARE(database.sql(u"SELECT MAX(version) FROM schema_versions"_s).toInt(), store::schemaVersion());
    QVERIFY(change(database.database(), u"INSERT INTO settings VALUES ('a', '{}', 1, 'me')"_s).has_value());
    database.reopen();
    database.reopen();
    QCOMPARE(database.sql(u"SELECT COUNT(*) FROM settings"_s).toInt(), 1);
    QCOMPARE(database.sql(u"SELECT COUNT(*) FROM schema_versions"_s).toInt(), store::schemaVersion());
}

void DatabaseTest::twoEnginesMigrateTheSameFile()
{
    const QString url = fresh(u"shared.db"_s);
    std::array<std::unique_ptr<Database>, 4> engines;
    std::vector<QCoro::Task<Result<>>> opening;
    for (auto &engine : engines) {
        engine = std::make_unique<Database>(url);
        opening.push_back(engine->open());
    }
    for (auto &task : opening) {
        const Result<> opened = QCoro::waitFor(task);
        QVERIFY2(opened.has_value(), opened ? "" : qPrintable(opened.error().text));
    }
}

void DatabaseTest::refusesANewerDatabase()
{
    const QString url = fresh(u"newer.db"_s);
    const int newer = store::schemaVersion() + 1;
    {
        Database database(url);
        QVERIFY(open(database).has_value());
        QVERIFY(change(database, u"INSERT INTO schema_versions VALUES (%1, 1)"_s.arg(newer)).has_value());
    }
    Database database(url);
    const Result<> opened = open(database);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"database_too_new"_s);
    QCOMPARE(opened.error().details.value(u"database_version"_s).toInt(), newer);
}

void DatabaseTest::failedMigrationLeavesNothing()
{
    const QString url = fresh(u"foreign.db"_s);
    {
        // A file of somebody else's that happens to have a table in our way.
        QSqlDatabase db = QSqlDatabase::addDatabase(u"QSQLITE"_s, u"foreign"_s);
        db.setDatabaseName(url.mid(7));
        QVERIFY(db.open());
        QSqlQuery(db).exec(u"CREATE TABLE timeline (x INTEGER)"_s);
        db.close();
    }
    QSqlDatabase::removeDatabase(u"foreign"_s);
    Database database(url);
    const Result<> opened = open(database);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"database_unavailable"_s);
    const Result<qint64> accounts = change(database, u"DELETE FROM accounts"_s);
    QVERIFY2(!accounts.has_value(), "half of the schema was made");
}

void DatabaseTest::refusedPlaces_data()
{
    QTest::addColumn<QString>("url");
    QTest::addColumn<QString>("text");
    QTest::newRow("unknown kind") << u"mysql://host/db"_s << u"database.url"_s;
    QTest::newRow("no url") << QString() << u"database.url"_s;
    QTest::newRow("port is no number") << u"postgres://nobody:s3cret@host:port/none"_s << u"database.url"_s;
    QTest::newRow("folder does not exist") << u"sqlite:/no/such/folder/file.db"_s << u"cannot be made"_s;
    QTest::newRow("a folder") << u"sqlite:/tmp"_s << u"cannot be opened"_s;
    QTest::newRow("not a database") << fresh(u"text.db"_s) << u"not a database"_s;
    QTest::newRow("nobody listens") << u"postgres://nobody:s3cret@127.0.0.1:9/none"_s
                                    << u"cannot be opened"_s;
    QFile file(m_folder.filePath(u"text.db"_s));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(5000, 'x'));
}

void DatabaseTest::refusedPlaces()
{
    QFETCH(QString, url);
    QFETCH(QString, text);
    Database database(url);
    const Result<> opened = open(database);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"database_unavailable"_s);
    QVERIFY2(opened.error().text.contains(text), qPrintable(opened.error().text));
    QVERIFY(!opened.error().text.contains(u"s3cret"_s));
}

void DatabaseTest::fileIsPrivate()
{
    const QString url = fresh(u"private.db"_s);
    Database database(url);
    QVERIFY(open(database).has_value());
    QVERIFY(change(database, u"INSERT INTO settings VALUES ('a', '{}', 1, 'me')"_s).has_value());
    constexpr auto ofOthers = QFile::ReadGroup | QFile::WriteGroup | QFile::ReadOther | QFile::WriteOther;
    for (const QString &suffix : {u""_s, u"-wal"_s, u"-shm"_s}) {
        const QFileInfo file(url.mid(7) + suffix);
        QVERIFY2(file.exists(), qPrintable(suffix));
        QVERIFY2(!(file.permissions() & ofOthers), qPrintable(suffix));
    }
}

void DatabaseTest::runsOnItsOwnThreadInOrder()
{
    test::TestDatabase database;
    QList<int> order;
    std::vector<QCoro::Task<Result<QThread *>>> tasks;
    for (int i = 0; i < 100; ++i) {
        tasks.push_back(database.database().run([i, &order](QSqlDatabase &) -> Result<QThread *> {
            order.append(i);
            return QThread::currentThread();
        }));
    }
    for (auto &task : tasks)
        QVERIFY(*QCoro::waitFor(task) != thread());
    QCOMPARE(order.size(), 100);
    QVERIFY(std::is_sorted(order.begin(), order.end()));
}

namespace {
QCoro::Task<QThread *> threadAfterAnswer(Database &database)
{
    co_await database.run([](QSqlDatabase &) -> Result<> { return {}; });
    co_return QThread::currentThread();
}
} // namespace

void DatabaseTest::answersOnTheCallersThread()
{
    test::TestDatabase database;
    QCOMPARE(QCoro::waitFor(threadAfterAnswer(database.database())), thread());
}

void DatabaseTest::rollsBackWhatFailed()
{
    test::TestDatabase database;
    const auto insertThen = [&](bool good) {
        return QCoro::waitFor(database.database().transaction([good](QSqlDatabase &db) -> Result<> {
            const auto done = store::change(db, u"INSERT INTO settings VALUES ('a', '{}', 1, 'me')"_s);
            return good && done ? Result<>() : fail(u"refused"_s, u"No."_s);
        }));
    };
    QCOMPARE(insertThen(false).error().code, u"refused"_s);
    QCOMPARE(database.sql(u"SELECT COUNT(*) FROM settings"_s).toInt(), 0);
    QVERIFY(insertThen(true).has_value());
    database.reopen();
    QCOMPARE(database.sql(u"SELECT COUNT(*) FROM settings"_s).toInt(), 1);
}

void DatabaseTest::destructorDoesWhatWasHandedOver()
{
    std::atomic_int done = 0;
    std::vector<QCoro::Task<Result<>>> tasks;
    {
        test::TestDatabase database;
        for (int i = 0; i < 50; ++i) {
            tasks.push_back(database.database().run([&done](QSqlDatabase &) -> Result<> {
                QThread::msleep(1);
                ++done;
                return {};
            }));
        }
    }
    QCOMPARE(done.load(), 50);
    for (auto &task : tasks)
        QVERIFY(QCoro::waitFor(task).has_value());
}

void DatabaseTest::failedStatementIsAValue()
{
    test::TestDatabase database;
    const Result<qint64> result = change(database.database(), u"UPDATE nothing SET a = 1"_s);
    QVERIFY(!result.has_value());
    QCOMPARE(result.error().code, u"database_unavailable"_s);
    QVERIFY2(result.error().text.contains(u"nothing"_s), qPrintable(result.error().text));
    QVERIFY(change(database.database(), u"DELETE FROM settings"_s).has_value());
}

QTEST_GUILESS_MAIN(DatabaseTest)
#include "tst_database.moc"
