// SPDX-License-Identifier: Apache-2.0
#include "simulate/scenario.h"

#include "simulate/random.h"

#include <algorithm>

namespace tidekeeper::simulate {

qint64 Scenario::troubleUntil(Trouble trouble, qint64 nowMs) const
{
    qint64 untilMs = 0;
    for (const Outage &outage : outages) {
        if (outage.trouble == trouble && outage.covers(nowMs - startMs))
            untilMs = std::max(untilMs, startMs + outage.toMs());
    }
    return untilMs;
}

bool Scenario::isRecovery(qint64 nowMs) const
{
    const qint64 sinceStartMs = nowMs - startMs;
    return std::any_of(outages.begin(), outages.end(), [&](const Outage &outage) {
        return sinceStartMs >= outage.fromMs && sinceStartMs < outage.toMs() + core::dayMs;
    });
}

QList<qint64> firstExpiries(const Scenario &scenario)
{
    if (!scenario.expiries.isEmpty())
        return scenario.expiries;
    Random random(scenario.seed);
    QList<qint64> expiries;
    expiries.reserve(scenario.accounts);
    for (int account = 0; account < scenario.accounts; ++account) {
        const auto earlierMs = static_cast<qint64>(random.next() * static_cast<double>(scenario.clusterMs));
        expiries.append(scenario.startMs + scenario.lifetimeMs - earlierMs);
    }
    return expiries;
}

} // namespace tidekeeper::simulate
