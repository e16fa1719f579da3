// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenario.h"

namespace tidekeeper::faults {

/// How much, and how strictly it is judged.
struct Effort {
    int acquires = 1'000;
    int inFlight = 100;
    double slowestMs = 150; ///< no call later: its deadline of 100 ms and 50 ms
    double openP99Ms = 1; ///< while the breaker is open, with 8 in flight; 0: not judged
    int backMs = 2'000; ///< normal again after the end

    /// For a machine that does other things too: verdicts and charges, and generous times.
    static Effort small();
};

/// What came of one scenario under one setting of the switches.
struct Trial {
    QString scenario;
    QString switches;
    int granted = 0; ///< by Redis
    int degraded = 0; ///< granted without it
    int refused = 0; ///< 429
    int unavailable = 0; ///< 503
    double p50Ms = 0, p99Ms = 0, slowestMs = 0;
    double openP99Ms = 0;
    qint64 backMs = 0;
    QStringList faults = {}; ///< what should not be; empty: passed

    bool passed() const { return faults.isEmpty(); }
};

Trial run(const Scenario &scenario, const Switches &switches, const Effort &effort, unsigned seed);

} // namespace tidekeeper::faults
