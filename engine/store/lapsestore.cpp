// SPDX-License-Identifier: Apache-2.0
#include "store/lapsestore.h"

#include "core/account.h"
#include "store/statement.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

Result<QList<Lapse>> untold(QSqlDatabase &db, qint64 expiredBeforeMs, int limit)
{
    Statement select(db,
                     u"SELECT a.id, a.nearest_expires_at FROM accounts a"
                     " LEFT JOIN lapses l ON l.account = a.id AND l.expires_at = a.nearest_expires_at"
                     " WHERE a.state = ? AND a.nearest_expires_at > 0 AND a.nearest_expires_at <= ?"
                     " AND a.nearest_expires_at > a.created_at AND l.account IS NULL"
                     " ORDER BY a.nearest_expires_at, a.id LIMIT ?"_s);
    if (Result<> read = select.run({core::toString(core::AccountState::Active), expiredBeforeMs, limit});
        !read)
        return fail(read.error());
    QList<Lapse> lapses;
    while (select.next())
        lapses.append({select.text(0), select.integer(1)});
    return lapses;
}

Result<QList<Lapse>> taken(QSqlDatabase &db, qint64 expiredBeforeMs, qint64 nowMs, int limit)
{
    const Result<QList<Lapse>> found = untold(db, expiredBeforeMs, limit);
    if (!found || found->isEmpty())
        return found;
    Statement mark(db,
                   u"INSERT INTO lapses (account, expires_at, noticed_at) VALUES (?, ?, ?)"
                   " ON CONFLICT (account) DO UPDATE SET expires_at = excluded.expires_at,"
                   " noticed_at = excluded.noticed_at WHERE lapses.expires_at <> excluded.expires_at"_s);
    QList<Lapse> ours;
    for (const Lapse &lapse : *found) {
        const Result<qint64> marked = mark.change({lapse.account, lapse.expiredAt, nowMs});
        if (!marked)
            return fail(marked.error());
        if (*marked == 1) // 0: another engine was here meanwhile
            ours.append(lapse);
    }
    return ours;
}

} // namespace

QCoro::Task<Result<QList<Lapse>>> LapseStore::take(qint64 expiredBeforeMs, qint64 nowMs, int limit)
{
    return m_database.transaction([expiredBeforeMs, nowMs, limit](QSqlDatabase &db) {
        return taken(db, expiredBeforeMs, nowMs, limit);
    });
}

} // namespace tidekeeper::store
