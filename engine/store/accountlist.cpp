// SPDX-License-Identifier: Apache-2.0
// AccountStore::list() and summary().
#include "core/account.h"
#include "core/band.h"
#include "store/accountquery.h"
#include "store/accountrows.h"
#include "store/coveragestore.h"

#include <QtCore/QHash>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

Result<> loadSubscriptions(QSqlDatabase &db, QList<AccountRow> &rows)
{
    if (rows.isEmpty())
        return {};
    QVariantList ids;
    QHash<QString, qsizetype> places;
    for (qsizetype i = 0; i < rows.size(); ++i) {
        ids.append(rows[i].account.id);
        places.insert(rows[i].account.id, i);
    }
    Statement select(
        db, selectSubscriptions + u" WHERE s.account IN (%1) ORDER BY s.id"_s.arg(placeholders(ids.size())));
    if (Result<> read = select.run(ids); !read)
        return read;
    while (select.next()) {
        const core::Subscription subscription = subscriptionOf(select);
        rows[places.value(subscription.account)].subscriptions.append(subscription);
    }
    return {};
}
// The rows of one page and the cursor of the next; one row more than asked for tells whether there is one.
Result<AccountPage> pageOf(QSqlDatabase &db, const AccountFilter &filter, const Order &order, Where where)
{
    const QString column = order.key.column;
    if (!filter.cursor.isEmpty()) {
        const Result<Cursor> cursor = decodedCursor(filter.cursor, filter.sort, order.key);
        if (!cursor)
            return fail(cursor.error());
        where.add(u"(%1, a.id) %2 (?, ?)"_s.arg(column, order.descending ? u"<"_s : u">"_s),
                  {cursor->key, cursor->id});
    }
    const QString join = order.key.ofGmail
        ? u" LEFT JOIN subscriptions s ON s.account = a.id AND s.provider = '%1'"_s.arg(gmailProvider)
        : QString();
    const QString direction = order.descending ? u" DESC"_s : QString();
    // Ids first, so that only the rows of the page are read whole.
    const QString ids = u"SELECT a.id AS id, %1 AS place FROM accounts a"_s.arg(column) + join + where.sql()
        + u" ORDER BY %1%2, a.id%2 LIMIT ?"_s.arg(column, direction);
    Statement select(db,
                     u"SELECT "_s + accountColumns + u", d.place FROM ("_s + ids
                         + u") d JOIN accounts a ON a.id = d.id"_s + accountJoins
                         + u" ORDER BY d.place%1, d.id%1"_s.arg(direction));
    if (Result<> read = select.run(where.values + QVariantList{filter.limit + 1}); !read)
        return fail(read.error());
    AccountPage page;
    Cursor last;
    while (select.next()) {
        if (page.rows.size() == filter.limit) {
            page.nextCursor = encodedCursor(filter.sort, last);
            break;
        }
        page.rows.append(accountRow(select));
        last = {select.value(accountColumnCount), page.rows.constLast().account.id};
    }
    if (Result<> loaded = loadSubscriptions(db, page.rows); !loaded)
        return fail(loaded.error());
    return page;
}

struct Count {
    QString state;
    QString band;
    qint64 accounts;
};

Result<QList<Count>> counts(QSqlDatabase &db, const Where &where, qint64 nowMs, qint64 windowMs)
{
    QString band = u"CASE"_s;
    for (const core::Band b : core::allBands) {
        if (b != core::Band::None) {
            band += u" WHEN a.nearest_expires_at > %1 THEN '%2'"_s
                        .arg(core::expiryRange(b, nowMs, windowMs).above)
                        .arg(core::toString(b));
        }
    }
    band += u" ELSE '%1' END"_s.arg(core::toString(core::Band::None));
    Statement select(
        db, u"SELECT a.state, %1, COUNT(*) FROM accounts a%2 GROUP BY 1, 2"_s.arg(band, where.sql()));
    if (Result<> read = select.run(where.values); !read)
        return fail(read.error());
    QList<Count> result;
    while (select.next())
        result.append({select.text(0), select.text(1), select.integer(2)});
    return result;
}

QJsonObject zeros(const QStringList &names)
{
    QJsonObject object;
    for (const QString &name : names)
        object.insert(name, 0);
    return object;
}

void add(QJsonObject &object, const QString &name, qint64 by)
{
    object[name] = object[name].toInteger() + by;
}

// What a person would get who changed that one filter: each facet is counted under all filters but its own.
void addFacets(AccountPage &page, const AccountFilter &filter, const QList<Count> &counted)
{
    QJsonObject bands = zeros(core::bandNames());
    QJsonObject states = zeros(core::accountStateNames());
    for (const Count &count : counted) {
        const bool inState = filter.state.isEmpty() || filter.state == count.state;
        const bool inBand = filter.band.isEmpty() || filter.band == count.band;
        if (inState)
            add(bands, count.band, count.accounts);
        if (inBand)
            add(states, count.state, count.accounts);
        if (inState && inBand)
            page.total += count.accounts;
    }
    page.facets = {{u"band"_s, bands}, {u"state"_s, states}};
}

Result<AccountPage> listed(QSqlDatabase &db, const AccountFilter &filter, qint64 nowMs, qint64 windowMs)
{
    if (Result<> good = checkFilter(filter); !good)
        return fail(good.error());
    const Result<Order> order = orderOf(filter.sort);
    if (!order)
        return fail(order.error());
    Result<AccountPage> page = pageOf(db, filter, *order, allFilters(filter, nowMs, windowMs));
    if (!page || !filter.counted)
        return page;
    const Result<QList<Count>> counted = counts(db, commonFilters(filter, nowMs), nowMs, windowMs);
    if (!counted)
        return fail(counted.error());
    addFacets(*page, filter, *counted);
    return page;
}

Result<QJsonValue> nearestExpiry(QSqlDatabase &db)
{
    Statement select(db,
                     u"SELECT id, nearest_expires_at FROM accounts WHERE state = ? AND nearest_expires_at > 0"
                     " ORDER BY nearest_expires_at, id LIMIT 1"_s);
    if (Result<> read = select.run({core::toString(core::AccountState::Active)}); !read)
        return fail(read.error());
    if (!select.next())
        return QJsonValue(QJsonValue::Null);
    return QJsonObject{{u"account"_s, select.text(0)}, {u"expires_at"_s, select.integer(1)}};
}

Result<qint64> dueCount(QSqlDatabase &db, qint64 nowMs)
{
    Statement select(db, u"SELECT COUNT(*) FROM subscriptions WHERE active = 1 AND due_at <= ?"_s);
    if (Result<> read = select.run({nowMs}); !read)
        return fail(read.error());
    select.next();
    return select.integer(0);
}

/// When the one that waits longest became due; 0 = nobody is due.
Result<qint64> oldestDue(QSqlDatabase &db, qint64 nowMs)
{
    Statement select(
        db,
        u"SELECT COALESCE(MIN(due_at), 0) FROM subscriptions WHERE active = 1 AND due_at > 0 AND due_at <= ?"_s);
    if (Result<> read = select.run({nowMs}); !read)
        return fail(read.error());
    select.next();
    return select.integer(0);
}

/// Active accounts that have been so for an hour and never had a watch.
Result<qint64> withoutWatch(QSqlDatabase &db, qint64 nowMs)
{
    Statement select(db,
                     u"SELECT COUNT(*) FROM accounts WHERE state = ? AND nearest_expires_at <= 0"
                     " AND updated_at <= ?"_s);
    const QString active = core::toString(core::AccountState::Active);
    if (Result<> read = select.run({active, nowMs - CoverageStore::firstWatchGraceMs}); !read)
        return fail(read.error());
    select.next();
    return select.integer(0);
}

Result<QJsonObject> summed(QSqlDatabase &db, qint64 nowMs, qint64 windowMs)
{
    const Result<QList<Count>> counted = counts(db, {}, nowMs, windowMs);
    if (!counted)
        return fail(counted.error());
    const Result<QJsonValue> nearest = nearestExpiry(db);
    if (!nearest)
        return fail(nearest.error());
    const Result<qint64> due = dueCount(db, nowMs);
    if (!due)
        return fail(due.error());
    const Result<qint64> oldest = oldestDue(db, nowMs);
    if (!oldest)
        return fail(oldest.error());
    const Result<qint64> without = withoutWatch(db, nowMs);
    if (!without)
        return fail(without.error());
    AccountPage everything;
    addFacets(everything, {}, *counted);
    QJsonObject stateBands;
    for (const QString &state : core::accountStateNames())
        stateBands.insert(state, zeros(core::bandNames()));
    for (const Count &count : *counted) {
        QJsonObject bands = stateBands[count.state].toObject();
        add(bands, count.band, count.accounts);
        stateBands[count.state] = bands;
    }
    QJsonObject summary = everything.facets;
    summary[u"total"_s] = everything.total;
    summary[u"state_band"_s] = stateBands;
    summary[u"active_band"_s] = stateBands[core::toString(core::AccountState::Active)];
    summary[u"nearest_expiry"_s] = *nearest;
    summary[u"due"_s] = *due;
    summary[u"oldest_due_at"_s] = *oldest;
    summary[u"without_watch"_s] = *without;
    return summary;
}

} // namespace

QCoro::Task<Result<AccountPage>> AccountStore::list(AccountFilter filter, qint64 nowMs, qint64 windowMs)
{
    return m_database.run(
        [filter, nowMs, windowMs](QSqlDatabase &db) { return listed(db, filter, nowMs, windowMs); });
}

QCoro::Task<Result<QJsonObject>> AccountStore::summary(qint64 nowMs, qint64 windowMs)
{
    return m_database.run([nowMs, windowMs](QSqlDatabase &db) { return summed(db, nowMs, windowMs); });
}

} // namespace tidekeeper::store
