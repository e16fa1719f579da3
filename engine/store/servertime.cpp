// SPDX-License-Identifier: Apache-2.0
#include "store/servertime.h"

#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

QCoro::Task<Result<qint64>> serverTimeMs(Database &database)
{
    const QString sql = database.isPostgres()
        ? u"SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"_s
        : u"SELECT COUNT(*) * 0 FROM schema_versions"_s;
    return database.run([sql](QSqlDatabase &db) -> Result<qint64> {
        Statement select(db, sql);
        if (Result<> read = select.run(); !read)
            return fail(read.error());
        select.next();
        return select.integer(0);
    });
}

} // namespace tidekeeper::store
