// SPDX-License-Identifier: Apache-2.0
#include "core/bulkplan.h"

#include "core/planner.h"

#include <QtCore/QLocale>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr double shareOfAll = 0.5;

/// The time in which so many units fit into a quota of so many per period.
double timeFor(double units, double perPeriod, qint64 periodMs)
{
    return units / perPeriod * static_cast<double>(periodMs);
}

void atLeast(BulkPlan &plan, double ms, const QString &because)
{
    const auto whole = static_cast<qint64>(std::ceil(ms));
    if (whole <= plan.leastSpreadMs)
        return;
    plan.leastSpreadMs = whole;
    plan.because = because;
}

QString mayUse(const QString &project, qint64 units, const QString &period)
{
    return u"project \"%1\" may spend %2 units in a %3"_s.arg(
        project, QLocale(QLocale::English).toString(units), period);
}

void addProject(BulkPlan &plan, const QString &project, double units, const ProjectQuota &quota)
{
    if (const auto perMinute = static_cast<double>(quota.unitsPerMinute); perMinute > 0) {
        const double ms = timeFor(units, perMinute, minuteMs);
        plan.estimateMs = std::max(plan.estimateMs, static_cast<qint64>(std::ceil(ms)));
        atLeast(plan, ms / shareOfAll, mayUse(project, quota.unitsPerMinute, u"minute"_s));
    }
    // What half a day's budget pays for may be spent at any time of that day.
    const double ofDay = shareOfAll * static_cast<double>(quota.unitsPerDay);
    if (ofDay > 0 && units > ofDay)
        atLeast(plan, timeFor(units, ofDay, dayMs), mayUse(project, quota.unitsPerDay, u"day"_s));
}

} // namespace

BulkPlan bulkPlan(const BulkInput &input)
{
    BulkPlan plan;
    plan.estimateMs = input.workMs;
    atLeast(plan, static_cast<double>(input.workMs) / shareOfAll,
            u"the engine's consumers need half of it at least"_s);
    for (auto it = input.renewals.begin(); it != input.renewals.end(); ++it) {
        const double units = static_cast<double>(*it) * static_cast<double>(input.costUnits);
        addProject(plan, it.key(), units, input.quotas.value(it.key()));
    }
    return plan;
}

} // namespace tidekeeper::core
