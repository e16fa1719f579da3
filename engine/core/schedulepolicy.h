// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/cron.h"

#include <variant>

namespace tidekeeper::core {

/// When a schedule ticks: a cron pattern in a zone, or a fixed interval counted from the epoch, so that every
/// engine computes the same ticks.
class Trigger {
public:
    /// Failures: invalid_cron, unknown_zone.
    static Result<Trigger> cron(const QString &pattern, const QByteArray &zone);
    /// intervalMs: 1 s to 366 days. Failure: invalid_request.
    static Result<Trigger> interval(qint64 intervalMs);

    /// The first tick after an instant.
    std::optional<qint64> next(qint64 afterMs) const;
    /// The last ticks, at most so many and in order, in (afterMs, untilMs]. The cost does not grow with the span.
    QList<qint64> last(qint64 afterMs, qint64 untilMs, int most) const;

private:
    struct Pattern {
        CronExpression cron;
        Zone zone;
    };
    explicit Trigger(std::variant<Pattern, qint64> what) : m_what(std::move(what)) { }

    std::variant<Pattern, qint64> m_what;
};

/// What to do about ticks that nobody was there to run.
enum class Misfire : quint8 {
    Coalesce, ///< run once for all of them
    Skip, ///< do not run them
    Each ///< run each, the latest ones up to a cap
};

struct TickPlan {
    QList<qint64> fires; ///< nominal times to run now, in order
    qint64 passedOverMs = 0; ///< nominal time to go on from without running; 0 = none
};

/// A tick this late still runs under Misfire::Skip.
constexpr qint64 punctualMs = 30'000;

/// What is due after the last nominal time.
TickPlan planTicks(const Trigger &trigger, Misfire misfire, int eachCap, qint64 lastNominalMs, qint64 nowMs);

/// From where ticks count: afterMs, the last nominal time, unless a whole tick fits between now and it. Then the clock
/// was ahead when it was set, and ticks count from now, rather than none until the clock has got there again.
qint64 countedFromMs(const Trigger &trigger, qint64 afterMs, qint64 nowMs);

/// A wait in [0, jitterMs) that depends on the id alone, the same in every engine and after every restart.
qint64 stableOffsetMs(const QString &id, qint64 jitterMs);

} // namespace tidekeeper::core
