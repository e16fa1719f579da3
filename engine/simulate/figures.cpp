// SPDX-License-Identifier: Apache-2.0
#include "simulate/figures.h"

#include <QtCore/QJsonArray>

#include <algorithm>
#include <numeric>

using namespace Qt::StringLiterals;

namespace tidekeeper::simulate {

void Figures::judge(const Scenario &scenario)
{
    if (callsByHour.isEmpty())
        return;
    const qint64 calls = std::accumulate(callsByHour.begin(), callsByHour.end(), qint64(0));
    meanPerHour = static_cast<double>(calls) / static_cast<double>(callsByHour.size());
    for (int hour = 0; hour < callsByHour.size(); ++hour) {
        const qint64 atMs = scenario.startMs + hour * core::hourMs;
        // An hour that an outage begins or recovery ends in belongs to it as a whole.
        const bool recovers = scenario.isRecovery(atMs) || scenario.isRecovery(atMs + core::hourMs - 1);
        int &peak = recovers ? recoveryPeakPerHour : peakPerHour;
        peak = std::max(peak, callsByHour.at(hour));
    }
}

QJsonObject Figures::toJson() const
{
    QJsonArray hours;
    for (const int calls : callsByHour)
        hours.append(calls);
    return {{u"policy"_s, policy},
            {u"lapsed"_s, lapsed},
            {u"lapse_minutes"_s, lapseMs / core::minuteMs},
            {u"grants_lost"_s, grantsLost},
            {u"mean_calls_per_hour"_s, meanPerHour},
            {u"peak_calls_per_hour"_s, peakPerHour},
            {u"recovery_peak_calls_per_hour"_s, recoveryPeakPerHour},
            {u"peak_ratio"_s, peakRatio()},
            {u"recovery_peak_ratio"_s, recoveryPeakRatio()},
            {u"calls_by_hour"_s, hours}};
}

} // namespace tidekeeper::simulate
