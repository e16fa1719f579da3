// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rig.h"

#include <functional>

namespace tidekeeper::faults {

/// One way in which a limiter loses its Redis, and what is to be expected of it.
struct Scenario {
    enum class Kind : quint8 {
        Away, ///< decided without Redis, by the switches
        OurFault, ///< put right within the call, or 503: never decided without Redis
        Passing ///< over before the load is: some calls are decided by Redis, some without it
    };

    QString name;
    Kind kind = Kind::Away;
    bool opensBreaker = false; ///< Redis does not answer at all, so that callers soon no longer ask it
    bool usesProxy = false;
    bool needsNamespace = false; ///< changes addresses of the network, which it has for itself
    bool mayCut = false; ///< a charge may have been executed although its answer never came

    std::function<void(Rig &)> begin;
    std::function<void(Rig &, int answered)> during = {}; ///< with 1, 2, 3 … answers of the load
    std::function<void(Rig &)> end;
};

/// All of them.
const QList<Scenario> &scenarios();

/// The address of Redis in the namespace of needsNamespace.
extern const QString namespaceAddress;

} // namespace tidekeeper::faults
