// SPDX-License-Identifier: Apache-2.0
#include "support/testdatabase.h"

#include "store/statement.h"
#include "support/testpostgres.h"

#include <QCoro/QCoroTask>
#include <QtCore/QCoreApplication>

#include <cstdio>
#include <cstdlib>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

namespace {

Result<QVariant> runSql(store::Database &database, const QString &statement)
{
    return QCoro::waitFor(database.run([statement](QSqlDatabase &db) -> Result<QVariant> {
        store::Statement query(db, statement);
        if (Result<> done = query.run(); !done)
            return fail(done.error());
        return query.next() ? query.value(0) : QVariant();
    }));
}

// Stopped when the application object goes, while processes can still be waited for.
std::unique_ptr<TestPostgres> &sharedServer()
{
    static std::unique_ptr<TestPostgres> server;
    return server;
}

} // namespace

bool TestDatabase::onPostgres()
{
    return qEnvironmentVariable("TIDEKEEPER_TEST_DATABASE") == "postgres"_L1;
}

TestPostgres &TestDatabase::server()
{
    std::unique_ptr<TestPostgres> &server = sharedServer();
    if (server)
        return *server;
    if (const auto reason = TestPostgres::missing()) {
        std::fprintf(stderr, "SKIP: %s\n", qPrintable(*reason));
        std::exit(77);
    }
    server = std::make_unique<TestPostgres>();
    if (!server->start())
        qFatal("the PostgreSQL server of the tests does not start");
    qAddPostRoutine([] { sharedServer().reset(); });
    return *server;
}

TestDatabase::TestDatabase()
{
    if (onPostgres()) {
        m_url = server().freshUrl();
        if (m_url.isEmpty())
            qFatal("the test database cannot be made");
    } else {
        m_url = u"sqlite:"_s + m_folder.filePath(u"tidekeeper.db"_s);
    }
    open();
}

TestDatabase::~TestDatabase() = default;

void TestDatabase::open()
{
    m_database = std::make_unique<store::Database>(m_url);
    const Result<> opened = QCoro::waitFor(m_database->open());
    if (!opened)
        qFatal("the test database does not open: %s", qPrintable(opened.error().text));
}

void TestDatabase::reopen()
{
    m_database.reset();
    open();
}

QVariant TestDatabase::sql(const QString &statement)
{
    const Result<QVariant> value = runSql(*m_database, statement);
    if (!value)
        qFatal("%s", qPrintable(value.error().text));
    return *value;
}

} // namespace tidekeeper::test
