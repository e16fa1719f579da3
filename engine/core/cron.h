// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "core/zones.h"

#include <QtCore/QList>

#include <array>
#include <optional>

namespace tidekeeper::core {

/// A cron pattern of five fields (minute hour day month weekday) or six (second first). Names, ranges, steps,
/// lists; L and L-n in days; n#k and nL in weekdays; ? as *; @hourly, @daily, @midnight, @weekly, @monthly,
/// @yearly, @annually. As in cron, a day matches day *or* weekday when neither begins with *; otherwise both.
///
/// Daylight saving: a pattern whose hours are all 24 is a rhythm and fires at every instant whose wall clock
/// matches. Any other names local times: one in a gap fires at the end of the gap, one that repeats fires the
/// first time only, and equal instants fire once.
class CronExpression {
public:
    /// Failure: invalid_cron with the field and what is wrong; also for dates that never come.
    static Result<CronExpression> parse(const QString &text);

    bool isRhythm() const { return m_hours == (1U << 24) - 1; }

    /// The first fire after an instant; epoch ms, whole seconds. Nothing only beyond the calendar's end.
    std::optional<qint64> nextFire(const Zone &zone, qint64 afterMs) const;

private:
    friend class CronParser;

    std::optional<qint64> nextLocal(qint64 fromLocalS) const; ///< first match at or after it
    std::optional<qint64> nextSecondOfDay(qint64 from) const;
    bool matchesDay(int year, int month, int day, int weekday) const;

    quint64 m_seconds = 1; ///< bit n = value n, in all masks
    quint64 m_minutes = 0;
    quint32 m_hours = 0;
    quint32 m_days = 0;
    quint32 m_daysFromEnd = 0; ///< L = bit 0, L-3 = bit 3
    quint32 m_months = 0;
    quint32 m_weekdays = 0; ///< Sunday = 0
    std::array<quint8, 7> m_nth = {}; ///< by weekday: bit k = k-th of the month, bit 0 = the last
    bool m_anyDay = false; ///< the field begins with *
    bool m_anyWeekday = false;
};

/// The next n fires (1 to 1,000) after an instant, epoch ms; fewer at the end of the year 9999. Failures: invalid_cron, unknown_zone, invalid_request.
Result<QList<qint64>> nextFires(const QString &expression, const QByteArray &zone, qint64 afterMs, int n);

} // namespace tidekeeper::core
