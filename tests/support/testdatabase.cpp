// SPDX-License-Identifier: Apache-2.0
#include "support/testdatabase.h"

#include "store/statement.h"

#include <QCoro/QCoroTask>
#include <QtCore/QProcess>
#include <QtCore/QUuid>

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

} // namespace

TestDatabase::TestDatabase() : m_server(qEnvironmentVariable("TIDEKEEPER_TEST_POSTGRES"))
{
    if (m_server.isEmpty()) {
        m_url = u"sqlite:"_s + m_folder.filePath(u"tidekeeper.db"_s);
        open();
        return;
    }
    m_schema = u"test_"_s + QUuid::createUuid().toString(QUuid::Id128);
    const QString options = u"options=-csearch_path%3D"_s + m_schema;
    m_url = m_server + (m_server.contains(u'?') ? u'&' : u'?') + options;
    QProcess::execute(u"psql"_s, {u"-q"_s, m_server, u"-c"_s, u"CREATE SCHEMA "_s + m_schema});
    open();
}

TestDatabase::~TestDatabase()
{
    m_database.reset();
    if (!m_schema.isEmpty()) {
        QProcess::execute(u"psql"_s,
                          {u"-q"_s, m_server, u"-c"_s,
                           u"SET client_min_messages = warning; DROP SCHEMA %1 CASCADE"_s.arg(m_schema)});
    }
}

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
