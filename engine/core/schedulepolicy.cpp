// SPDX-License-Identifier: Apache-2.0
#include "core/schedulepolicy.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QtEndian>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

Result<Trigger> Trigger::cron(const QString &pattern, const QByteArray &zone)
{
    auto cron = CronExpression::parse(pattern);
    if (!cron)
        return fail(cron.error());
    auto where = Zone::find(zone);
    if (!where)
        return fail(where.error());
    return Trigger(Pattern{std::move(*cron), std::move(*where)});
}

Result<Trigger> Trigger::interval(qint64 intervalMs)
{
    if (intervalMs < 1'000 || intervalMs > 366 * 86'400'000LL)
        return fail(u"invalid_request"_s, u"An interval must be from 1 second to 366 days."_s,
                    {{u"field"_s, u"interval_ms"_s}});
    return Trigger(intervalMs);
}

std::optional<qint64> Trigger::next(qint64 afterMs) const
{
    if (const auto *pattern = std::get_if<Pattern>(&m_what))
        return pattern->cron.nextFire(pattern->zone, afterMs);
    const qint64 interval = std::get<qint64>(m_what);
    return (afterMs / interval + 1) * interval;
}

QList<qint64> Trigger::last(qint64 afterMs, qint64 untilMs, int most) const
{
    if (const auto first = next(afterMs); !first || *first > untilMs)
        return {};
    // Looks back over a span that doubles until it holds enough ticks or reaches the beginning.
    for (qint64 spanMs = 1'000;; spanMs *= 2) {
        const bool isAll = untilMs - spanMs <= afterMs;
        QList<qint64> ticks;
        auto tick = next(isAll ? afterMs : untilMs - spanMs);
        for (; tick && *tick <= untilMs; tick = next(*tick)) {
            ticks.append(*tick);
            if (ticks.size() > most)
                ticks.removeFirst();
        }
        if (isAll || ticks.size() >= most)
            return ticks;
    }
}

TickPlan planTicks(const Trigger &trigger, Misfire misfire, int eachCap, qint64 lastNominalMs, qint64 nowMs)
{
    const QList<qint64> due = trigger.last(lastNominalMs, nowMs, misfire == Misfire::Each ? eachCap : 1);
    if (due.isEmpty())
        return {};
    if (misfire == Misfire::Skip && nowMs - due.last() > punctualMs)
        return {{}, due.last()};
    return {due, 0};
}

qint64 countedFromMs(const Trigger &trigger, qint64 afterMs, qint64 nowMs)
{
    if (afterMs <= nowMs)
        return afterMs;
    const auto next = trigger.next(nowMs);
    return next && *next < afterMs ? nowMs : afterMs;
}

qint64 stableOffsetMs(const QString &id, qint64 jitterMs)
{
    if (jitterMs <= 0)
        return 0;
    const QByteArray digest = QCryptographicHash::hash(id.toUtf8(), QCryptographicHash::Sha256);
    return static_cast<qint64>(qFromBigEndian<quint64>(digest.constData()) % static_cast<quint64>(jitterMs));
}

} // namespace tidekeeper::core
