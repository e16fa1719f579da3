// SPDX-License-Identifier: Apache-2.0
#include "limits/dayuse.h"

#include <QtCore/QList>

#include <algorithm>

namespace tidekeeper::limits {

namespace {

constexpr qint64 minuteUs = 60'000'000;
constexpr qint64 hourUs = 60 * minuteUs;
constexpr qint64 dayUs = 24 * hourUs;
constexpr qint64 paceOverUs = 3 * hourUs;
constexpr qint64 paceOverAtLeastUs = 5 * minuteUs;

double unitsAt(const std::vector<UsedAt> &points, qint64 atUs)
{
    const auto after = std::find_if(points.begin(), points.end(),
                                    [atUs](const UsedAt &point) { return point.atUs >= atUs; });
    if (after == points.begin())
        return double(after->units);
    if (after == points.end())
        return double(points.back().units);
    const UsedAt &before = *(after - 1);
    const double share = double(atUs - before.atUs) / double(after->atUs - before.atUs);
    return double(before.units) + share * double(after->units - before.units);
}

/// Units per µs of late.
std::optional<double> paceOf(const std::vector<UsedAt> &points, const UsedAt &now)
{
    const qint64 sinceUs = std::max(now.atUs - paceOverUs, points.front().atUs);
    if (now.atUs - sinceUs < paceOverAtLeastUs)
        return std::nullopt;
    const double units = double(now.units) - unitsAt(points, sinceUs);
    return std::max(0.0, units) / double(now.atUs - sinceUs);
}

} // namespace

std::vector<UsedAt> marksFrom(const QByteArray &text)
{
    std::vector<UsedAt> marks;
    for (const QByteArray &word : text.split(' ')) {
        bool isTime = false;
        bool isNumber = false;
        const qsizetype colon = word.indexOf(':');
        const UsedAt mark{word.left(colon).toLongLong(&isTime), word.mid(colon + 1).toLongLong(&isNumber)};
        if (colon > 0 && isTime && isNumber && (marks.empty() || mark.atUs > marks.back().atUs))
            marks.push_back(mark);
    }
    return marks;
}

DayUse DayUse::from(const std::vector<UsedAt> &marks, UsedAt now, qint64 unitsWhenDayBegan, qint64 dayEndUs)
{
    std::vector<UsedAt> points = marks;
    if (!points.empty()) // a mark of a clock that was set back since is not later than now
        now.atUs = std::max(now.atUs, points.back().atUs + 1);
    points.push_back(now);

    DayUse use;
    use.today = std::max(qint64(0), now.units - unitsWhenDayBegan);
    use.last24h = std::max(qint64(0), now.units - qint64(unitsAt(points, now.atUs - dayUs)));
    if (const auto pace = paceOf(points, now)) {
        const auto leftUs = double(std::max(qint64(0), dayEndUs - now.atUs));
        use.forecast = use.today + qint64(*pace * leftUs);
    }
    return use;
}

} // namespace tidekeeper::limits
