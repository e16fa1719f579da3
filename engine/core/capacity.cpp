// SPDX-License-Identifier: Apache-2.0
#include "core/capacity.h"

#include "core/planner.h"

#include <QtCore/QLocale>

#include <algorithm>
#include <array>
#include <limits>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr double reserve = 1.2;
constexpr double shareOfDayBudget = 0.1;
constexpr qint64 assumedMedianMs = 1'000;
constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double largestShown = 1e15;

double perMs(const CapacityInput &input, CapacityTerm term)
{
    switch (term) {
    case CapacityTerm::BatchRate:
        return static_cast<double>(input.batchSize)
            / static_cast<double>(std::max<qint64>(1, input.scanIntervalMs));
    case CapacityTerm::Consumers:
        return input.consumers / static_cast<double>(input.medianMs > 0 ? input.medianMs : assumedMedianMs);
    case CapacityTerm::DayBudget:
        if (input.dayBudget <= 0 || input.costUnits <= 0)
            return unbounded;
        return shareOfDayBudget * static_cast<double>(input.dayBudget) / static_cast<double>(input.costUnits)
            / static_cast<double>(dayMs);
    }
    Q_UNREACHABLE();
}

QString count(qint64 number)
{
    return QLocale(QLocale::English).toString(number);
}

QString seconds(qint64 ms)
{
    return QLocale::c().toString(static_cast<double>(ms) / 1'000, 'g', 3) + u" s"_s;
}

/// The term in numbers.
QString because(const CapacityInput &input, CapacityTerm term)
{
    switch (term) {
    case CapacityTerm::BatchRate:
        return u"%1 accounts each %2"_s.arg(count(input.batchSize), seconds(input.scanIntervalMs));
    case CapacityTerm::Consumers:
        return (input.medianMs > 0 ? u"%1 consumers at %2 a renewal"_s
                                   : u"%1 consumers at an assumed %2 a renewal"_s)
            .arg(count(input.consumers), seconds(input.medianMs > 0 ? input.medianMs : assumedMedianMs));
    case CapacityTerm::DayBudget:
        return u"a tenth of the day budget of %1 units at %2 units a renewal"_s.arg(count(input.dayBudget),
                                                                                    count(input.costUnits));
    }
    Q_UNREACHABLE();
}

QString remedy(CapacityTerm term)
{
    switch (term) {
    case CapacityTerm::BatchRate:
        return u"Raise batch_size, scan more often (cron) or widen the window."_s;
    case CapacityTerm::Consumers:
        return u"Raise consumers, add an engine or widen the window."_s;
    case CapacityTerm::DayBudget:
        return u"Raise the project's day_budget, after Google has raised its quota, or widen the window."_s;
    }
    Q_UNREACHABLE();
}

} // namespace

QString toString(CapacityTerm term)
{
    constexpr std::array<QLatin1StringView, 3> names{"batch_rate"_L1, "consumers"_L1, "day_budget"_L1};
    return names.at(static_cast<std::size_t>(term));
}

Capacity capacityOf(const CapacityInput &input)
{
    Capacity capacity;
    for (const CapacityTerm term : {CapacityTerm::Consumers, CapacityTerm::DayBudget}) {
        if (perMs(input, term) < perMs(input, capacity.smallest))
            capacity.smallest = term;
    }
    const double possible = static_cast<double>(input.windowMs) * perMs(input, capacity.smallest) / reserve;
    capacity.possible = static_cast<qint64>(std::min(possible, largestShown));
    capacity.holds = static_cast<double>(input.subscriptions) < possible;
    const QString enough = u"%1 %2 enough for %3 accounts in a window of %4 days; there are %5."_s.arg(
        because(input, capacity.smallest), capacity.holds ? u"is"_s : u"is only"_s, count(capacity.possible),
        QLocale::c().toString(static_cast<double>(input.windowMs) / dayMs, 'g', 3),
        count(input.subscriptions));
    capacity.text = capacity.holds ? enough : enough + u' ' + remedy(capacity.smallest);
    return capacity;
}

QJsonObject capacityObject(const CapacityInput &input)
{
    const Capacity capacity = capacityOf(input);
    return {{u"holds"_s, capacity.holds},
            {u"smallest"_s, toString(capacity.smallest)},
            {u"subscriptions"_s, input.subscriptions},
            {u"possible"_s, capacity.possible},
            {u"median_ms"_s, input.medianMs},
            {u"text"_s, capacity.text}};
}

} // namespace tidekeeper::core
