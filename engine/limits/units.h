// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

namespace tidekeeper::limits {

/// Milli-units as whole units, rounded down: a level below zero as well.
inline qint64 wholeUnits(qint64 milli)
{
    return milli / 1000 - (milli % 1000 < 0 ? 1 : 0);
}

} // namespace tidekeeper::limits
