// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulate/scenario.h"

#include <QtCore/QJsonObject>

namespace tidekeeper::simulate {

/// What a policy came to.
struct Figures {
    QString policy;
    int lapsed = 0; ///< accounts that were without a watch at any time though their grant was alive
    qint64 lapseMs = 0; ///< of all of them together
    int grantsLost = 0; ///< accounts whose grant lives at the end, and the policy no longer holds it
    QList<int> callsByHour; ///< to Google, token endpoint and Gmail together
    double meanPerHour = 0; ///< of all hours
    int peakPerHour = 0; ///< of the hours outside recovery
    int recoveryPeakPerHour = 0; ///< of an outage and the day after it

    double peakRatio() const { return meanPerHour > 0 ? peakPerHour / meanPerHour : 0; }
    double recoveryPeakRatio() const { return meanPerHour > 0 ? recoveryPeakPerHour / meanPerHour : 0; }

    /// Mean and peaks from callsByHour.
    void judge(const Scenario &scenario);
    QJsonObject toJson() const;
};

} // namespace tidekeeper::simulate
