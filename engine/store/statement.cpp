// SPDX-License-Identifier: Apache-2.0
#include "store/statement.h"

#include "store/dialect.h"

#include <QtSql/QSqlError>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

Statement::Statement(QSqlDatabase &db, const QString &sql) : m_db(db), m_query(db), m_sql(sql)
{
    m_query.setForwardOnly(true);
}

Result<> Statement::run(const QVariantList &values)
{
    if (values.isEmpty()) { // also because PostgreSQL prepares no CREATE
        if (!m_query.exec(m_sql))
            return fail(statementFailure(m_db, m_query.lastError()));
        return {};
    }
    if (!m_prepared) {
        if (!m_query.prepare(m_sql))
            return fail(statementFailure(m_db, m_query.lastError()));
        m_prepared = true;
    }
    for (int i = 0; i < values.size(); ++i) {
        const QVariant &value = values.at(i);
        const bool nullText = value.metaType() == QMetaType::fromType<QString>() && value.toString().isNull();
        m_query.bindValue(i, nullText ? QVariant(u""_s) : value);
    }
    if (!m_query.exec())
        return fail(statementFailure(m_db, m_query.lastError()));
    return {};
}

Result<qint64> Statement::change(const QVariantList &values)
{
    if (Result<> done = run(values); !done)
        return fail(done.error());
    return m_query.numRowsAffected();
}

Result<qint64> change(QSqlDatabase &db, const QString &sql, const QVariantList &values)
{
    return Statement(db, sql).change(values);
}

} // namespace tidekeeper::store
