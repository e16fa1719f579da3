// SPDX-License-Identifier: Apache-2.0
#include "core/cron.h"

#include <QtCore/QDate>

#include <bit>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 dayS = 86'400;
constexpr qint64 epochJulianDay = 2'440'588;
constexpr qint64 lastWritableMs = 253'402'300'799'999; ///< ISO 8601 writes years with four digits
constexpr int searchDays = 14'700; ///< 29 February on a given weekday can be forty years away

qint64 floorDiv(qint64 value, qint64 by)
{
    return value >= 0 ? value / by : -((-value + by - 1) / by);
}

/// The lowest set bit at or above from.
std::optional<int> nextBit(quint64 mask, int from)
{
    if (from > 63 || (mask >> from) == 0)
        return std::nullopt;
    return from + std::countr_zero(mask >> from);
}

} // namespace

bool CronExpression::matchesDay(int year, int month, int day, int weekday) const
{
    const int daysInMonth = QDate(year, month, 1).daysInMonth();
    const quint8 nth = m_nth[static_cast<size_t>(weekday)];
    const bool isLastOfWeekday = day + 7 > daysInMonth;
    const bool dayMatches = (m_days >> day & 1U) || (m_daysFromEnd >> (daysInMonth - day) & 1U);
    const bool weekdayMatches =
        (m_weekdays >> weekday & 1U) || (nth >> ((day - 1) / 7 + 1) & 1U) || ((nth & 1U) && isLastOfWeekday);
    if (m_anyDay || m_anyWeekday)
        return dayMatches && weekdayMatches;
    return dayMatches || weekdayMatches;
}

std::optional<qint64> CronExpression::nextSecondOfDay(qint64 from) const
{
    const int fromHour = static_cast<int>(from / 3600);
    const int fromMinute = static_cast<int>(from / 60 % 60);
    for (auto hour = nextBit(m_hours, fromHour); hour; hour = nextBit(m_hours, *hour + 1)) {
        const bool sameHour = *hour == fromHour;
        auto minute = nextBit(m_minutes, sameHour ? fromMinute : 0);
        for (; minute; minute = nextBit(m_minutes, *minute + 1)) {
            const bool sameMinute = sameHour && *minute == fromMinute;
            if (const auto second = nextBit(m_seconds, sameMinute ? static_cast<int>(from % 60) : 0))
                return *hour * 3600 + *minute * 60 + *second;
        }
    }
    return std::nullopt;
}

std::optional<qint64> CronExpression::nextLocal(qint64 fromLocalS) const
{
    const qint64 firstDay = floorDiv(fromLocalS, dayS);
    qint64 secondOfDay = fromLocalS - firstDay * dayS;
    for (qint64 dayNumber = firstDay; dayNumber < firstDay + searchDays; ++dayNumber, secondOfDay = 0) {
        const QDate date = QDate::fromJulianDay(dayNumber + epochJulianDay);
        if (!(m_months >> date.month() & 1U)) {
            dayNumber += date.daysInMonth() - date.day(); // to the last day of this month
            continue;
        }
        if (!matchesDay(date.year(), date.month(), date.day(), date.dayOfWeek() % 7))
            continue;
        if (const auto second = nextSecondOfDay(secondOfDay))
            return dayNumber * dayS + *second;
    }
    return std::nullopt;
}

std::optional<qint64> CronExpression::nextFire(const Zone &zone, qint64 afterMs) const
{
    const qint64 afterS = floorDiv(afterMs, 1000);
    if (!isRhythm()) {
        const auto local = nextLocal(zone.localAfter(afterS));
        return local ? std::optional(zone.instantOf(*local) * 1000) : std::nullopt;
    }
    for (Zone::Span span = zone.spanAt(afterS + 1);; span = zone.spanAt(span.endS)) {
        const qint64 fromS = std::max(afterS + 1, span.beginS);
        const auto local = nextLocal(fromS + span.offsetS);
        if (!local)
            return std::nullopt;
        if (*local - span.offsetS < span.endS)
            return (*local - span.offsetS) * 1000;
    }
}

Result<QList<qint64>> nextFires(const QString &expression, const QByteArray &zone, qint64 afterMs, int n)
{
    if (n < 1 || n > 1000)
        return fail(u"invalid_request"_s, u"The number of fires must be from 1 to 1,000."_s,
                    {{u"field"_s, u"n"_s}});
    const auto cron = CronExpression::parse(expression);
    if (!cron)
        return fail(cron.error());
    const auto where = Zone::find(zone);
    if (!where)
        return fail(where.error());
    QList<qint64> fires;
    auto fire = cron->nextFire(*where, afterMs);
    for (; fire && *fire <= lastWritableMs; fire = cron->nextFire(*where, *fire)) {
        fires.append(*fire);
        if (fires.size() == n)
            break;
    }
    return fires;
}

} // namespace tidekeeper::core
