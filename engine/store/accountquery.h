// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/accountstore.h"

// From a filter to SQL: conditions, order and cursors of the list of accounts. Pure; accounts are "a", the Gmail
// subscription "s".
namespace tidekeeper::store {

/// Conditions joined with AND, with the values of their placeholders.
struct Where {
    QStringList conditions;
    QVariantList values;

    void add(const QString &condition, const QVariantList &more)
    {
        conditions.append(condition);
        values += more;
    }
    QString sql() const; ///< " WHERE …" or nothing
};

/// invalid_request with the field.
Result<> checkFilter(const AccountFilter &filter);

/// All filters but band and state, which the counts are grouped by.
Where commonFilters(const AccountFilter &filter, qint64 nowMs);
Where allFilters(const AccountFilter &filter, qint64 nowMs, qint64 windowMs);

struct SortKey {
    QLatin1StringView name;
    QLatin1StringView column;
    bool number;
    bool ofGmail; ///< needs the join with the Gmail subscription
};

struct Order {
    SortKey key;
    bool descending = false;
};

/// invalid_request with field "sort".
Result<Order> orderOf(const QString &sort);

/// Where the next page begins: after this key and id.
struct Cursor {
    QVariant key;
    QString id;
};

QString encodedCursor(const QString &sort, const Cursor &cursor);
/// invalid_request when it belongs to another order or was not made here.
Result<Cursor> decodedCursor(const QString &text, const QString &sort, const SortKey &key);

} // namespace tidekeeper::store
