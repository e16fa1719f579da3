// SPDX-License-Identifier: Apache-2.0
#include "store/accountquery.h"

#include "core/account.h"
#include "core/band.h"
#include "core/nearestname.h"
#include "store/accountrows.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>

#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

namespace {

constexpr std::array<SortKey, 8> sortKeys{{
    {"expires_at"_L1, "a.nearest_expires_at"_L1, true, false},
    {"id"_L1, "a.id"_L1, false, false},
    {"email"_L1, "a.email"_L1, false, false},
    {"state"_L1, "a.state"_L1, false, false},
    {"updated_at"_L1, "a.updated_at"_L1, true, false},
    {"last_success_at"_L1, "COALESCE(s.last_success_at, 0)"_L1, true, true},
    {"next_attempt_at"_L1, "COALESCE(s.next_attempt_at, 0)"_L1, true, true},
    {"attempts"_L1, "COALESCE(s.attempts, 0)"_L1, true, true},
}};

tl::unexpected<Error> refused(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, text, {{u"field"_s, field}});
}

QString oneOf(const QStringList &names)
{
    return u" Use one of: "_s + names.join(u", "_s) + u'.';
}

QString containing(const QString &text)
{
    QString pattern = text.toLower();
    for (const QChar special : {u'\\', u'%', u'_'})
        pattern.replace(special, u"\\"_s + special);
    return u'%' + pattern + u'%';
}

} // namespace

QString Where::sql() const
{
    return conditions.isEmpty() ? QString() : u" WHERE "_s + conditions.join(u" AND "_s);
}

Where commonFilters(const AccountFilter &filter, qint64 nowMs)
{
    Where where;
    if (!filter.ids.isEmpty()) {
        where.add(u"a.id IN (%1)"_s.arg(placeholders(filter.ids.size())),
                  QVariantList(filter.ids.begin(), filter.ids.end()));
    }
    if (filter.expiringWithinMs >= 0)
        where.add(u"a.nearest_expires_at <= ?"_s, {nowMs + filter.expiringWithinMs});
    if (filter.due)
        where.add(u"a.id IN (SELECT d.account FROM subscriptions d WHERE d.active = 1 AND d.due_at <= ?)"_s,
                  {nowMs});
    if (!filter.project.isEmpty())
        where.add(u"a.project = ?"_s, {filter.project});
    const QString text = filter.text.trimmed();
    if (text.contains(u'@')) // two indexes instead of a walk through all ids
        where.add(u"(a.email = ? OR a.id = ?)"_s, {core::normalizedEmail(text), text});
    else if (!text.isEmpty())
        where.add(u"LOWER(a.id) LIKE ? ESCAPE '\\'"_s, {containing(text)});
    return where;
}

Where allFilters(const AccountFilter &filter, qint64 nowMs, qint64 windowMs)
{
    Where where = commonFilters(filter, nowMs);
    if (!filter.state.isEmpty())
        where.add(u"a.state = ?"_s, {filter.state});
    if (const auto band = core::bandFrom(filter.band)) {
        const core::ExpiryRange range = core::expiryRange(*band, nowMs, windowMs);
        where.add(u"a.nearest_expires_at > ? AND a.nearest_expires_at <= ?"_s, {range.above, range.upTo});
    }
    return where;
}

QString encodedCursor(const QString &sort, const Cursor &cursor)
{
    const QJsonArray parts{sort, QJsonValue::fromVariant(cursor.key), cursor.id};
    return QString::fromLatin1(QJsonDocument(parts)
                                   .toJson(QJsonDocument::Compact)
                                   .toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

Result<Cursor> decodedCursor(const QString &text, const QString &sort, const SortKey &key)
{
    const auto bytes = QByteArray::fromBase64Encoding(text.toLatin1(), QByteArray::Base64UrlEncoding);
    const QJsonArray parts = QJsonDocument::fromJson(bytes ? *bytes : QByteArray()).array();
    const QJsonValue value = parts.at(1);
    if (parts.size() != 3 || parts.at(0) != sort || !parts.at(2).isString()
        || !(key.number ? value.isDouble() : value.isString())) {
        return refused(u"cursor"_s,
                       u"\"cursor\" is not one of this list and order. Start again without it, or send the "
                       u"next_cursor of the page before, unchanged."_s);
    }
    return Cursor{key.number ? QVariant(value.toInteger()) : QVariant(value.toString()),
                  parts.at(2).toString()};
}

Result<Order> orderOf(const QString &sort)
{
    const bool descending = sort.startsWith(u'-');
    const QString name = descending ? sort.mid(1) : sort;
    for (const SortKey &key : sortKeys) {
        if (key.name == name)
            return Order{key, descending};
    }
    return refused(u"sort"_s, u"\"sort\" is not known."_s + oneOf(accountSortNames()));
}

Result<> checkFilter(const AccountFilter &filter)
{
    if (!filter.band.isEmpty() && !core::bandFrom(filter.band))
        return refused(u"band"_s, u"\"band\" is not known."_s + oneOf(core::bandNames()));
    if (!filter.state.isEmpty() && !core::accountStateFrom(filter.state))
        return refused(u"state"_s, u"\"state\" is not known."_s + oneOf(core::accountStateNames()));
    if (filter.limit < 1 || filter.limit > 1000)
        return refused(u"limit"_s, u"\"limit\" is a whole number from 1 to 1000."_s);
    if (filter.ids.size() > 1000)
        return refused(u"ids"_s, u"\"ids\" are at most 1000: choose more with a filter, or in parts."_s);
    return {};
}

QStringList accountSortNames()
{
    QStringList names;
    for (const SortKey &key : sortKeys)
        names.append(key.name);
    return names;
}

} // namespace tidekeeper::store
