// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QtGlobal>

// How fast a backlog is worked, so that what came due together does not come due together for ever. Pure: what was
// taken so far is a level that the caller keeps, where all engines see it.
namespace tidekeeper::core {

/// How much work that is not urgent may be begun: a bucket, in thousandths of a renewal.
struct Pace {
    qint64 capacityMilli = 0; ///< after a long rest
    double milliPerMs = 0;
};

/// Just below twice the daily mean of so many subscriptions, each renewed once in cycleMs; a few at once and one a minute at
/// least, so that a small installation does not wait.
Pace backlogPace(qint64 subscriptions, qint64 cycleMs);

/// What is left of the bucket; an instant ≤ 0 = never used, which is full.
struct PaceLevel {
    qint64 milli = 0;
    qint64 at = 0; ///< epoch ms
};

/// Takes as many of `wanted` as there are; how many.
int takePaced(PaceLevel &level, const Pace &pace, int wanted, qint64 nowMs);
/// Gives back what was taken and not begun.
void returnPaced(PaceLevel &level, const Pace &pace, int unused);

} // namespace tidekeeper::core
