// SPDX-License-Identifier: Apache-2.0
#include "store/breakerstore.h"

#include "store/accountrows.h"
#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

Result<bool> changedOne(const Result<qint64> &changed)
{
    return changed ? Result<bool>(*changed > 0) : fail(changed.error());
}

Result<QList<BreakerRow>> readAll(QSqlDatabase &db)
{
    Statement select(db,
                     u"SELECT scope, fault, opened_at, delay_ms, probe_at, probing, generation FROM breakers"
                     " ORDER BY scope"_s);
    if (Result<> done = select.run(); !done)
        return fail(done.error());
    QList<BreakerRow> rows;
    while (select.next()) {
        const core::Breaker::State state{select.integer(3), select.integer(4), select.integer(5) != 0};
        rows.append({select.text(0), jsonOf(select.text(1)), select.integer(2), state, select.integer(6)});
    }
    return rows;
}

} // namespace

Result<bool> insertBreaker(QSqlDatabase &db, const BreakerRow &row)
{
    return changedOne(
        change(db,
               u"INSERT INTO breakers (scope, fault, opened_at, delay_ms, probe_at, probing, generation)"
               " VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (scope) DO NOTHING"_s,
               {row.scope, compactJson(row.fault), row.openedAt, row.state.delayMs, row.state.probeAt,
                row.state.probing ? 1 : 0}));
}

Result<> deleteBreaker(QSqlDatabase &db, const QString &scope)
{
    const Result<qint64> deleted = change(db, u"DELETE FROM breakers WHERE scope = ?"_s, {scope});
    return deleted ? Result<>() : fail(deleted.error());
}

QCoro::Task<Result<QList<BreakerRow>>> BreakerStore::all()
{
    return m_database.run([](QSqlDatabase &db) { return readAll(db); });
}

QCoro::Task<Result<bool>> BreakerStore::open(BreakerRow row)
{
    return m_database.run([row](QSqlDatabase &db) { return insertBreaker(db, row); });
}

QCoro::Task<Result<bool>> BreakerStore::replace(BreakerRow row)
{
    return m_database.run([row](QSqlDatabase &db) {
        return changedOne(change(db,
                                 u"UPDATE breakers SET fault = ?, delay_ms = ?, probe_at = ?, probing = ?,"
                                 " generation = generation + 1 WHERE scope = ? AND generation = ?"_s,
                                 {compactJson(row.fault), row.state.delayMs, row.state.probeAt,
                                  row.state.probing ? 1 : 0, row.scope, row.generation}));
    });
}

QCoro::Task<Result<bool>> BreakerStore::close(QString scope, qint64 generation)
{
    return m_database.run([scope, generation](QSqlDatabase &db) {
        return changedOne(
            change(db, u"DELETE FROM breakers WHERE scope = ? AND generation = ?"_s, {scope, generation}));
    });
}

} // namespace tidekeeper::store
