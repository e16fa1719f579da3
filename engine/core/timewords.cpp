// SPDX-License-Identifier: Apache-2.0
#include "core/timewords.h"

#include "core/planner.h"

#include <QtCore/QDateTime>

#include <cstdlib>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 secondMs = 1'000;

qint64 rounded(qint64 ms, qint64 unitMs)
{
    return (ms + unitMs / 2) / unitMs;
}

QString counted(qint64 count, const QString &name)
{
    return u"%1 %2"_s.arg(count).arg(count == 1 ? name : name + u's');
}

/// count parts, of which ofWhole make a whole.
QString twoUnits(qint64 count, qint64 ofWhole, const QString &whole, const QString &part)
{
    const QString text = counted(count / ofWhole, whole);
    return count % ofWhole == 0 ? text : text + u' ' + counted(count % ofWhole, part);
}

} // namespace

QString instantWords(qint64 ms)
{
    return QDateTime::fromMSecsSinceEpoch(ms, Qt::UTC).toString(u"yyyy-MM-dd HH:mm:ss 'UTC'"_s);
}

QString durationWords(qint64 ms)
{
    ms = std::llabs(ms);
    if (ms >= 2 * dayMs)
        return twoUnits(rounded(ms, hourMs), dayMs / hourMs, u"day"_s, u"hour"_s);
    if (ms >= 2 * hourMs)
        return twoUnits(rounded(ms, minuteMs), hourMs / minuteMs, u"hour"_s, u"minute"_s);
    if (ms >= 2 * minuteMs)
        return counted(rounded(ms, minuteMs), u"minute"_s);
    return counted(rounded(ms, secondMs), u"second"_s);
}

} // namespace tidekeeper::core
