// SPDX-License-Identifier: Apache-2.0
#include "core/cronparser.h"

#include <QtCore/QHash>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

tl::unexpected<Error> refuse(const QString &field, const QString &why)
{
    return fail(u"invalid_cron"_s, u"Cron field \"%1\": %2"_s.arg(field, why), {{u"field"_s, field}});
}

QString expandMacro(const QString &text)
{
    static const QHash<QString, QString> macros{
        {u"@hourly"_s, u"0 * * * *"_s},   {u"@daily"_s, u"0 0 * * *"_s},   {u"@midnight"_s, u"0 0 * * *"_s},
        {u"@weekly"_s, u"0 0 * * 0"_s},   {u"@monthly"_s, u"0 0 1 * *"_s}, {u"@yearly"_s, u"0 0 1 1 *"_s},
        {u"@annually"_s, u"0 0 1 1 *"_s},
    };
    return macros.value(text.toLower(), text);
}

QStringList monthNames()
{
    return {u"JAN"_s, u"FEB"_s, u"MAR"_s, u"APR"_s, u"MAY"_s, u"JUN"_s,
            u"JUL"_s, u"AUG"_s, u"SEP"_s, u"OCT"_s, u"NOV"_s, u"DEC"_s};
}

QStringList weekdayNames()
{
    return {u"SUN"_s, u"MON"_s, u"TUE"_s, u"WED"_s, u"THU"_s, u"FRI"_s, u"SAT"_s};
}

constexpr qint64 someDayS = 951'868'800; ///< 2000-03-01; dates that exist come within 28 years

} // namespace

Result<CronExpression> CronExpression::parse(const QString &text)
{
    return CronParser().parse(text);
}

Result<CronExpression> CronParser::parse(const QString &text)
{
    QStringList fields = expandMacro(text.trimmed()).split(QRegularExpression(u"\\s+"_s), Qt::SkipEmptyParts);
    if (fields.size() == 5)
        fields.prepend(u"0"_s);
    if (fields.size() != 6)
        return fail(
            u"invalid_cron"_s,
            u"A cron pattern has 5 fields (minute hour day month weekday), 6 with seconds first, or is "
            "one of @hourly, @daily, @weekly, @monthly, @yearly; this has %1."_s.arg(fields.size()),
            {{u"field"_s, u"cron"_s}});

    const auto seconds = parseField({u"second"_s, 0, 59, {}}, fields[0]);
    const auto minutes = parseField({u"minute"_s, 0, 59, {}}, fields[1]);
    const auto hours = parseField({u"hour"_s, 0, 23, {}}, fields[2]);
    const auto months = parseField({u"month"_s, 1, 12, monthNames()}, fields[4]);
    for (const auto &mask : {seconds, minutes, hours, months}) {
        if (!mask)
            return fail(mask.error());
    }
    m_cron.m_seconds = *seconds;
    m_cron.m_minutes = *minutes;
    m_cron.m_hours = static_cast<quint32>(*hours);
    m_cron.m_months = static_cast<quint32>(*months);
    if (const auto days = parseDays(fields[3]); !days)
        return fail(days.error());
    if (const auto weekdays = parseWeekdays(fields[5]); !weekdays)
        return fail(weekdays.error());
    if (!m_cron.nextLocal(someDayS))
        return refuse(u"day"_s,
                      u"this date never comes, like 30 February. Use a day that the month has, or "
                      "L for its last day."_s);
    return m_cron;
}

QString CronParser::valuesOf(const Field &field)
{
    const QString numbers = u"%1 to %2"_s.arg(field.min).arg(field.max);
    if (field.names.isEmpty())
        return numbers;
    return u"%1 or %2 to %3"_s.arg(numbers, field.names.first(), field.names.last());
}

std::optional<int> CronParser::parseValue(const Field &field, const QString &text)
{
    if (const auto index = field.names.indexOf(text.toUpper()); index >= 0)
        return field.min + static_cast<int>(index);
    static const QRegularExpression digits(u"^[0-9]{1,2}$"_s);
    if (!digits.match(text).hasMatch())
        return std::nullopt;
    const int value = text.toInt();
    return value >= field.min && value <= field.max ? std::optional(value) : std::nullopt;
}

Result<CronParser::Range> CronParser::parseRange(const Field &field, const QString &item)
{
    Range range{field.min, field.max, 1};
    const QStringList parts = item.split(u'/');
    const QStringList ends = parts[0].split(u'-');
    if (parts.size() > 2 || ends.size() > 2)
        return refuse(
            field.name,
            u"\"%1\" is not a value, a range or a step; write for example 5, 1-5 or */5."_s.arg(item));
    if (parts[0] != u"*") {
        const auto first = parseValue(field, ends[0]);
        auto last = ends.size() == 2 ? parseValue(field, ends[1]) : first;
        if (ends.size() == 2 && field.max == 7 && last == 0 && first != 0)
            last = 7; // FRI-SUN, but not SUN-SUN
        if (!first || !last)
            return refuse(field.name, u"\"%1\" is not known here; use %2."_s.arg(item, valuesOf(field)));
        if (*first > *last)
            return refuse(field.name,
                          u"the range \"%1\" runs backwards; write %2-%3,%4-%5."_s.arg(item)
                              .arg(*first)
                              .arg(field.max)
                              .arg(field.min)
                              .arg(*last));
        range.first = *first;
        range.last = parts.size() == 2 && ends.size() == 1 ? field.max : *last;
    }
    if (parts.size() == 2) {
        bool isNumber = false;
        range.step = parts[1].toInt(&isNumber);
        if (!isNumber || range.step < 1 || range.step > field.max)
            return refuse(field.name, u"the step in \"%1\" must be from 1 to %2."_s.arg(item).arg(field.max));
    }
    return range;
}

Result<quint64> CronParser::parseField(const Field &field, const QString &text)
{
    quint64 mask = 0;
    const QStringList items = text.split(u',');
    for (const QString &item : items) {
        const auto range = parseRange(field, item);
        if (!range)
            return fail(range.error());
        for (int value = range->first; value <= range->last; value += range->step)
            mask |= quint64(1) << value;
    }
    return mask;
}

Result<> CronParser::parseDays(const QString &text)
{
    const Field field{u"day"_s, 1, 31, {}};
    m_cron.m_anyDay = text.startsWith(u'*') || text == u"?";
    if (text == u"?")
        return parseDays(u"*"_s);
    static const QRegularExpression fromEnd(u"^L(?:-([0-9]{1,2}))?$"_s,
                                            QRegularExpression::CaseInsensitiveOption);
    const QStringList items = text.split(u',');
    for (const QString &item : items) {
        if (const auto match = fromEnd.match(item); match.hasMatch()) {
            const int before = match.captured(1).toInt();
            if (before > 30)
                return refuse(field.name, u"\"%1\" is before every month; use L to L-30."_s.arg(item));
            m_cron.m_daysFromEnd |= 1U << before;
            continue;
        }
        const auto mask = parseField(field, item);
        if (!mask)
            return fail(mask.error());
        m_cron.m_days |= static_cast<quint32>(*mask);
    }
    return {};
}

Result<> CronParser::parseWeekdays(const QString &text)
{
    const Field field{u"weekday"_s, 0, 7, weekdayNames()};
    m_cron.m_anyWeekday = text.startsWith(u'*') || text == u"?";
    if (text == u"?")
        return parseWeekdays(u"*"_s);
    static const QRegularExpression nth(u"^(\\w+)#([1-5])$"_s);
    static const QRegularExpression last(u"^([0-7]|[A-Z]{3})L$"_s, QRegularExpression::CaseInsensitiveOption);
    const QStringList items = text.split(u',');
    for (const QString &item : items) {
        const auto nthMatch = nth.match(item);
        const auto lastMatch = last.match(item);
        if (nthMatch.hasMatch() || lastMatch.hasMatch()) {
            const auto day = parseValue(field, (nthMatch.hasMatch() ? nthMatch : lastMatch).captured(1));
            if (!day)
                return refuse(field.name, u"\"%1\" names no weekday; use %2."_s.arg(item, valuesOf(field)));
            const int bit = nthMatch.hasMatch() ? nthMatch.captured(2).toInt() : 0;
            m_cron.m_nth[static_cast<size_t>(*day % 7)] |= static_cast<quint8>(1U << bit);
            continue;
        }
        const auto mask = parseField(field, item);
        if (!mask)
            return fail(mask.error());
        m_cron.m_weekdays |= static_cast<quint32>(*mask & 0x7f) | static_cast<quint32>(*mask >> 7 & 1U);
    }
    return {};
}

} // namespace tidekeeper::core
