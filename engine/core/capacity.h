// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>

namespace tidekeeper::core {

/// What bounds the work of one window, as configured and measured.
struct CapacityInput {
    qint64 subscriptions = 0;
    qint64 windowMs = 0;
    int batchSize = 500;
    qint64 scanIntervalMs = 60'000;
    int consumers = 2; ///< of all engines
    qint64 medianMs = 0; ///< of one renewal; 0 = none was measured yet
    qint64 dayBudget = 0; ///< units of quota in a day; 0 = none is set
    qint64 costUnits = 0; ///< of one renewal; 0 = free
};

enum class CapacityTerm : quint8 { BatchRate, Consumers, DayBudget };
QString toString(CapacityTerm term); ///< "batch_rate", "consumers", "day_budget"

/// subscriptions × 1.2 < window × min(batch rate, consumers ÷ median duration, 10 % of the day budget ÷ cost).
struct Capacity {
    bool holds = true;
    CapacityTerm smallest = CapacityTerm::BatchRate;
    qint64 possible = 0; ///< subscriptions that this is enough for
    QString text; ///< for people: whether it is enough, and what to change when it is not
};
Capacity capacityOf(const CapacityInput &input);

/// {"holds", "smallest", "subscriptions", "possible", "median_ms", "text"}.
QJsonObject capacityObject(const CapacityInput &input);

} // namespace tidekeeper::core
