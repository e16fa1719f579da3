// SPDX-License-Identifier: Apache-2.0
#include "cli/importcolumns.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::cli {

namespace {

constexpr qint64 leastMilliseconds =
    100'000'000'000; // as seconds that is the year 5138, as milliseconds 1973

tl::unexpected<Error> badValue(const QString &field, const QString &text)
{
    return fail(u"invalid_request"_s, text, {{u"field"_s, field}});
}

// PostgreSQL writes "2026-03-08 16:00:00.5+00": a space for the T, an offset without minutes.
QString asIso(QString text)
{
    static const QRegularExpression shortOffset(u"[+-]\\d\\d$"_s);
    if (text.size() > 10 && text.at(10) == u' ')
        text[10] = u'T';
    if (text.size() > 13 && shortOffset.match(text).hasMatch())
        text += u":00"_s;
    return text;
}

Result<QJsonValue> valueOf(const QString &field, const QString &text, TimeUnit unit)
{
    if (field == "watch_expires_at"_L1) {
        const Result<qint64> instant = instantOf(text, unit);
        return instant ? Result<QJsonValue>(*instant) : badValue(field, instant.error().text);
    }
    if (field == "label_ids"_L1)
        return QJsonArray::fromStringList(text.split(u',', Qt::SkipEmptyParts));
    if (field == "grant"_L1) {
        const QJsonDocument grant = QJsonDocument::fromJson(text.toUtf8());
        return grant.isObject() ? Result<QJsonValue>(grant.object())
                                : badValue(field, u"\"grant\" is not a JSON object."_s);
    }
    return QJsonValue(text);
}

} // namespace

const QStringList &importFields()
{
    static const QStringList fields{u"id"_s,         u"email"_s,         u"project"_s,
                                    u"client"_s,     u"language"_s,      u"watch_expires_at"_s,
                                    u"history_id"_s, u"topic"_s,         u"label_ids"_s,
                                    u"grant"_s,      u"refresh_token"_s, u"label_filter_behavior"_s};
    return fields;
}

const QStringList &findingFields()
{
    static const QStringList fields{u"state"_s, u"state_reason"_s, u"band"_s, u"has_refresh_token"_s};
    return fields;
}

Result<qint64> instantOf(const QString &text, TimeUnit unit)
{
    bool isNumber = false;
    const qint64 number = text.toLongLong(&isNumber);
    if (isNumber && unit != TimeUnit::Utc) {
        const bool seconds =
            unit == TimeUnit::Seconds || (unit == TimeUnit::Detect && qAbs(number) < leastMilliseconds);
        return seconds ? number * 1000 : number;
    }
    if (unit == TimeUnit::Milliseconds || unit == TimeUnit::Seconds)
        return fail(u"invalid_request"_s, u"\"watch_expires_at\" is not a whole number."_s);
    QDateTime instant = QDateTime::fromString(asIso(text), Qt::ISODateWithMs);
    if (!instant.isValid()) {
        return fail(u"invalid_request"_s,
                    u"\"watch_expires_at\" is neither a number nor a time as 2026-03-08T16:00:00Z."_s);
    }
    if (instant.timeSpec() == Qt::LocalTime) {
        if (unit != TimeUnit::Utc) {
            return fail(u"invalid_request"_s,
                        u"\"watch_expires_at\" has no offset from UTC. Add one, or say --time-unit utc."_s);
        }
        instant.setTimeSpec(Qt::UTC);
    }
    return instant.toMSecsSinceEpoch();
}

Result<ImportColumns> ImportColumns::of(const QStringList &header, const QStringList &map, TimeUnit unit,
                                        bool ignoreUnknown)
{
    QHash<QString, QString> fieldOf; // by column
    for (const QString &pair : map) {
        const QString field = pair.section(u'=', 0, 0);
        const QString column = pair.section(u'=', 1);
        if (!importFields().contains(field)) {
            return fail(
                u"usage"_s,
                u"--map %1: there is no such field. Fields: %2."_s.arg(pair, importFields().join(u", "_s)));
        }
        if (!header.contains(column)) {
            return fail(
                u"usage"_s,
                u"--map %1: the file has no such column. Columns: %2."_s.arg(pair, header.join(u", "_s)));
        }
        fieldOf.insert(column, field);
    }
    ImportColumns columns;
    columns.m_unit = unit;
    QStringList unknown;
    const QStringList mapped = fieldOf.values();
    for (const QString &column : header) {
        QString field = fieldOf.value(column);
        if (field.isEmpty() && importFields().contains(column) && !mapped.contains(column))
            field = column;
        if (field.isEmpty() && !findingFields().contains(column))
            unknown.append(column);
        columns.m_fields.append(field);
    }
    if (!columns.m_fields.contains(u"id"_s)) {
        return fail(
            u"usage"_s,
            u"No column is the id. Say which one: --map id=COLUMN. Columns: %1."_s.arg(header.join(u", "_s)));
    }
    if (!unknown.isEmpty() && !ignoreUnknown) {
        return fail(
            u"usage"_s,
            u"These columns are no fields of an account: %1. Map them with --map FIELD=COLUMN, or pass "
            u"over them with --ignore-unknown."_s.arg(unknown.join(u", "_s)));
    }
    return columns;
}

Result<QJsonObject> ImportColumns::account(const QStringList &values) const
{
    if (values.size() != m_fields.size()) {
        return fail(u"invalid_request"_s,
                    u"The line has %1 columns, the header %2."_s.arg(values.size()).arg(m_fields.size()));
    }
    QJsonObject account;
    for (qsizetype i = 0; i < values.size(); ++i) {
        if (m_fields[i].isEmpty() || values[i].isEmpty())
            continue;
        const Result<QJsonValue> value = valueOf(m_fields[i], values[i], m_unit);
        if (!value)
            return fail(value.error());
        account.insert(m_fields[i], *value);
    }
    return account;
}

} // namespace tidekeeper::cli
