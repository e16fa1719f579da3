// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>
#include <QtCore/QtGlobal>

// When a subscription is to be renewed. Pure: no clock, no I/O. All instants are epoch milliseconds UTC; an
// instant ≤ 0 means "never" or "unknown", and an unknown expiry is due now.
namespace tidekeeper::core {

constexpr qint64 minuteMs = 60'000;
constexpr qint64 hourMs = 60 * minuteMs;
constexpr qint64 dayMs = 24 * hourMs;

/// A number in [0, 1) that belongs to this account id: the same on every machine, in every run and version.
double spreadOf(const QString &accountId);

/// How long the current watch was granted for; the provider's declared lifetime while there was no success.
qint64 lifetimeMs(qint64 expiresAt, qint64 lastSuccessAt, qint64 declaredLifetimeMs);

/// w: the configured window, at most 6/7 of the lifetime, so that a short-lived watch is not renewed in a loop.
qint64 effectiveWindowMs(qint64 windowMs, qint64 lifetimeMs);

struct PlanInput {
    QString account;
    qint64 expiresAt = 0;
    qint64 lastSuccessAt = 0;
    qint64 windowMs = 6 * dayMs; ///< configured
    qint64 declaredLifetimeMs = 7 * dayMs; ///< the provider's
};

/// The target after a success: expiry − w, spread by ± min(2 h, w/12), never sooner than 15 min after the success.
/// 0 (now) when the expiry is unknown.
qint64 nextTarget(const PlanInput &input);

/// The first target of an account that was added or imported: spread over the next day while its watch has more
/// than a day left, now otherwise.
qint64 firstTarget(const QString &account, qint64 expiresAt, qint64 nowMs);

/// The target of one that is pulled forward out of turn: a moment of its own within spreadMs from now.
qint64 pulledTarget(const QString &account, qint64 nowMs, qint64 spreadMs);

/// Whether this account belongs to the first `share` (0 … 1) of all. Stable: who belongs to a share belongs to every
/// larger one; and apart from the spread of targets, so that a share's work is spread as everybody's.
bool isInShare(const QString &account, double share);

/// When the scan shall take it: the later of target and next attempt; an unknown expiry only waits for the attempt.
qint64 dueAt(qint64 expiresAt, qint64 nextTargetAt, qint64 nextAttemptAt);

} // namespace tidekeeper::core
