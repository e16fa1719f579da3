// SPDX-License-Identifier: Apache-2.0
// A database that goes away: work fails within its time and says why, nothing is half done, and what comes next works.
#include "store/accountstore.h"
#include "store/statement.h"
#include "support/testdatabase.h"
#include "support/testpostgres.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QElapsedTimer>
#include <QtCore/QProcess>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using store::Database;

namespace {

constexpr std::chrono::milliseconds workTime(700);

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

Result<qint64> insertSetting(QSqlDatabase &db, const QString &name)
{
    return store::change(db, u"INSERT INTO settings VALUES (?, '{}', 1, 'me')"_s, {name});
}

Result<qint64> countOf(Database &database)
{
    return wait(database.run([](QSqlDatabase &db) -> Result<qint64> {
        store::Statement count(db, u"SELECT COUNT(*) FROM settings"_s);
        if (Result<> read = count.run(); !read)
            return fail(read.error());
        count.next();
        return count.integer(0);
    }));
}

QCoro::Task<Result<qint64>> inserted(Database &database, QString name)
{
    return database.transaction([name](QSqlDatabase &db) { return insertSetting(db, name); });
}

// A server that comes back is found within seconds.
bool eventuallyInserted(Database &database, const QString &name)
{
    for (QDeadlineTimer deadline(5'000); !deadline.hasExpired(); QThread::msleep(50)) {
        if (wait(inserted(database, name)))
            return true;
    }
    return false;
}

} // namespace

class OutagesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void connectionCutInATransaction();
    void stoppedServerIsCutOff();
    void manyWaitingFailTogether();
    void restartedServer();
    void deadlockIsRunAgain();
    void sqliteLockedByAnotherProcess();
    void sqliteDiskFull();

private:
    bool onPostgres() const { return test::TestDatabase::onPostgres(); }
    test::TestPostgres &server() { return test::TestDatabase::server(); }
    std::unique_ptr<Database> opened()
    {
        auto database = std::make_unique<Database>(m_scene->url(), workTime);
        return wait(database->open()) ? std::move(database) : nullptr;
    }
    std::unique_ptr<test::TestDatabase> m_scene;
};

void OutagesTest::init()
{
    m_scene = std::make_unique<test::TestDatabase>();
}

void OutagesTest::connectionCutInATransaction()
{
    if (!onPostgres())
        QSKIP("SQLite has no connection");
    const auto database = opened();
    QVERIFY(database);
    const Result<qint64> cut = wait(database->transaction([&](QSqlDatabase &db) -> Result<qint64> {
        if (const auto first = insertSetting(db, u"a"_s); !first)
            return first;
        server().sql(u"SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                     " WHERE state = 'idle in transaction'"_s);
        return insertSetting(db, u"b"_s);
    }));
    QVERIFY(!cut);
    QCOMPARE(cut.error().code, u"database_unavailable"_s);
    QVERIFY2(cut.error().text.contains(u"server"_s), qPrintable(cut.error().text));
    const Result<qint64> kept = countOf(*database);
    QVERIFY2(kept.has_value(), "it does not connect again");
    QCOMPARE(*kept, 0);
    QVERIFY(wait(inserted(*database, u"a"_s)));
}

void OutagesTest::stoppedServerIsCutOff()
{
    if (!onPostgres())
        QSKIP("SQLite has no server");
    const auto database = opened();
    QVERIFY(database);
    server().pause();
    QElapsedTimer timer;
    timer.start();
    const Result<qint64> stuck = wait(inserted(*database, u"a"_s));
    const qint64 elapsed = timer.elapsed();
    server().resume();
    QVERIFY(!stuck);
    QCOMPARE(stuck.error().code, u"database_unavailable"_s);
    QVERIFY2(elapsed >= 600 && elapsed < 2'500, qPrintable(QString::number(elapsed)));
    QVERIFY(eventuallyInserted(*database, u"b"_s));
}

// One that fails after its time is enough: the others do not wait as long one after the other.
void OutagesTest::manyWaitingFailTogether()
{
    if (!onPostgres())
        QSKIP("SQLite has no server");
    const auto database = opened();
    QVERIFY(database);
    server().stop();
    std::vector<QCoro::Task<Result<qint64>>> tasks;
    for (int i = 0; i < 2'000; ++i)
        tasks.push_back(inserted(*database, QString::number(i)));
    QElapsedTimer timer;
    timer.start();
    for (auto &task : tasks)
        QCOMPARE(QCoro::waitFor(task).error().code, u"database_unavailable"_s);
    QVERIFY2(timer.elapsed() < 2'000, qPrintable(QString::number(timer.elapsed())));
    QVERIFY(server().start());
}

void OutagesTest::restartedServer()
{
    if (!onPostgres())
        QSKIP("SQLite has no server");
    const auto database = opened();
    QVERIFY(database);
    QVERIFY(wait(inserted(*database, u"a"_s)));
    server().kill();
    QVERIFY(!wait(inserted(*database, u"b"_s)));
    QVERIFY(server().start());
    QVERIFY(eventuallyInserted(*database, u"c"_s));
    QCOMPARE(countOf(*database).value_or(-1), 2);
}

// Two transactions that take the same two rows in opposite order: PostgreSQL ends one, which runs again.
void OutagesTest::deadlockIsRunAgain()
{
    if (!onPostgres())
        QSKIP("SQLite has one writer at a time");
    const auto first = opened();
    const auto second = opened();
    QVERIFY(first && second);
    QVERIFY(wait(inserted(*first, u"a"_s)) && wait(inserted(*first, u"b"_s)));
    const auto touch = [](Database &database, QString one, QString other) {
        return database.transaction([one, other](QSqlDatabase &db) -> Result<qint64> {
            const QString sql = u"UPDATE settings SET updated_at = updated_at + 1 WHERE name = ?"_s;
            if (auto done = store::change(db, sql, {one}); !done)
                return done;
            QThread::msleep(100); // so that both hold their first row
            return store::change(db, sql, {other});
        });
    };
    auto forth = touch(*first, u"a"_s, u"b"_s);
    auto back = touch(*second, u"b"_s, u"a"_s);
    const Result<qint64> results[] = {QCoro::waitFor(forth), QCoro::waitFor(back)};
    for (const Result<qint64> &result : results)
        QVERIFY2(result.has_value(), result ? "" : qPrintable(result.error().text));
    QCOMPARE(m_scene->sql(u"SELECT SUM(updated_at) FROM settings"_s).toInt(), 2 + 4);
}

void OutagesTest::sqliteLockedByAnotherProcess()
{
    if (onPostgres())
        QSKIP("SQLite only");
    const auto database = opened();
    QVERIFY(database);
    QProcess holder;
    holder.start(u"python3"_s,
                 {u"-c"_s,
                  u"import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('BEGIN IMMEDIATE');"
                  " print('held', flush=True); sys.stdin.read()"_s,
                  m_scene->url().mid(7)});
    QVERIFY(holder.waitForReadyRead());
    const Result<qint64> locked = wait(inserted(*database, u"a"_s));
    QVERIFY(!locked);
    QCOMPARE(locked.error().code, u"database_unavailable"_s);
    const QString process = u"process %1 (python3)"_s.arg(holder.processId());
    QVERIFY2(locked.error().text.contains(process), qPrintable(locked.error().text));
    holder.closeWriteChannel();
    QVERIFY(holder.waitForFinished());
    QVERIFY(wait(inserted(*database, u"a"_s)));
}

void OutagesTest::sqliteDiskFull()
{
    if (onPostgres())
        QSKIP("SQLite only");
    Database &database = m_scene->database();
    m_scene->sql(u"PRAGMA max_page_count = 1"_s); // becomes the size that the file has
    const QString large(1'000'000, u'x');
    const Result<qint64> full = wait(database.transaction([large](QSqlDatabase &db) {
        return store::change(db, u"INSERT INTO settings VALUES ('a', ?, 1, 'me')"_s, {large});
    }));
    QVERIFY(!full);
    QVERIFY2(full.error().text.contains(u"disk"_s) && full.error().text.contains(m_scene->folder()),
             qPrintable(full.error().text));
    m_scene->sql(u"PRAGMA max_page_count = 1000000"_s);
    QVERIFY(wait(inserted(database, u"a"_s)));
}

QTEST_GUILESS_MAIN(OutagesTest)
#include "tst_outages.moc"
