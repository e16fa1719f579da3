// SPDX-License-Identifier: Apache-2.0
#include "core/zones.h"

#include <QtCore/QDateTime>
#include <QtCore/QFileInfo>
#include <QtCore/QRegularExpression>

#include <limits>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 dayS = 86'400;
constexpr qint64 never = std::numeric_limits<qint64>::max() / 4;

QDateTime utc(qint64 seconds)
{
    return QDateTime::fromSecsSinceEpoch(seconds, Qt::UTC);
}

/// QTimeZone also takes POSIX rules, and then a misspelt name as one without daylight saving: only names that the
/// system's zone data has are names here.
bool isName(const QByteArray &id)
{
    static const QRegularExpression form(u"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"_s);
    const QString name = QString::fromLatin1(id);
    return form.match(name).hasMatch()
        && (id == "UTC" || QFileInfo(u"/usr/share/zoneinfo/"_s + name).isFile());
}

} // namespace

Result<Zone> Zone::find(const QByteArray &id)
{
    QTimeZone zone = id.isEmpty() ? QTimeZone::utc() : QTimeZone(id);
    if (!id.isEmpty() && (!isName(id) || !zone.isValid()))
        return fail(u"unknown_zone"_s,
                    u"There is no time zone \"%1\"; use an IANA name such as Asia/Seoul or UTC."_s.arg(
                        QString::fromUtf8(id)),
                    {{u"field"_s, u"zone"_s}});
    return Zone(std::move(zone));
}

Zone::Span Zone::spanAt(qint64 utcS) const
{
    if (utcS >= m_last.beginS && utcS < m_last.endS)
        return m_last;
    Span span{-never, never, m_zone.offsetFromUtc(utc(utcS))};
    if (m_zone.hasTransitions()) {
        const auto before = m_zone.previousTransition(utc(utcS + 1));
        if (before.atUtc.isValid())
            span.beginS = before.atUtc.toSecsSinceEpoch();
        const auto after = m_zone.nextTransition(utc(utcS));
        if (after.atUtc.isValid())
            span.endS = after.atUtc.toSecsSinceEpoch();
    }
    m_last = span;
    return span;
}

qint64 Zone::instantOf(qint64 localS) const
{
    // No offset exceeds a day, so the walk begins before every instant that can show localS.
    Span span = spanAt(localS - dayS);
    for (;;) {
        const qint64 instant = localS - span.offsetS;
        if (instant < span.beginS)
            return span.beginS;
        if (instant < span.endS)
            return instant;
        span = spanAt(span.endS);
    }
}

qint64 Zone::localAfter(qint64 utcS) const
{
    const Span span = spanAt(utcS);
    const qint64 local = utcS + span.offsetS + 1;
    if (span.beginS == -never)
        return local;
    // In the second pass of a repeated time, its wall clock belongs to the first pass: go to its end.
    const qint64 endOfRepeated = span.beginS + spanAt(span.beginS - 1).offsetS;
    return std::max(local, endOfRepeated);
}

} // namespace tidekeeper::core
