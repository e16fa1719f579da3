// SPDX-License-Identifier: Apache-2.0
#include "store/grantdeathstore.h"

#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

Result<QList<core::GrantDeath>> read(QSqlDatabase &db, qint64 afterMs)
{
    Statement select(db,
                     u"SELECT project, client, issued_at, last_success_at, died_at FROM grant_deaths"
                     " WHERE died_at > ? ORDER BY died_at DESC LIMIT ?"_s);
    if (Result<> done = select.run({afterMs, GrantDeathStore::mostRead}); !done)
        return fail(done.error());
    QList<core::GrantDeath> deaths;
    while (select.next())
        deaths.append(
            {select.text(0), select.text(1), select.integer(2), select.integer(3), select.integer(4)});
    return deaths;
}

} // namespace

QCoro::Task<Result<QList<core::GrantDeath>>> GrantDeathStore::since(qint64 afterMs)
{
    return m_database.run([afterMs](QSqlDatabase &db) { return read(db, afterMs); });
}

QCoro::Task<Result<bool>> GrantDeathStore::tell(QString project, QString client, qint64 nowMs,
                                                qint64 toldBeforeMs)
{
    return m_database.run([project, client, nowMs, toldBeforeMs](QSqlDatabase &db) -> Result<bool> {
        const Result<qint64> noted =
            change(db,
                   u"INSERT INTO grant_hints (project, client, told_at) VALUES (?, ?, ?)"
                   " ON CONFLICT (project, client) DO UPDATE SET told_at = excluded.told_at"
                   " WHERE grant_hints.told_at < ?"_s,
                   {project, client, nowMs, toldBeforeMs});
        return noted ? Result<bool>(*noted > 0) : fail(noted.error());
    });
}

QCoro::Task<Result<>> GrantDeathStore::prune(qint64 diedUpToMs)
{
    return m_database.run([diedUpToMs](QSqlDatabase &db) -> Result<> {
        const Result<qint64> gone =
            change(db, u"DELETE FROM grant_deaths WHERE died_at <= ?"_s, {diedUpToMs});
        return gone ? Result<>() : fail(gone.error());
    });
}

} // namespace tidekeeper::store
