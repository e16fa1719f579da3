// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/export.h>
#include <tidekeeper/status.h>

namespace tidekeeper {

/// The one answer to one asynchronous call.
///
/// Engine to plugin: the engine owns the reply and times it out. It stays valid until the plugin has
/// finished it or the process ends; after a time-out finish() is a counted no-op.
/// Plugin to engine: the plugin passes a reply of its own (see callback.h); the engine finishes it exactly
/// once, on the main thread.
class TIDEKEEPER_SDK_EXPORT Reply {
public:
    virtual ~Reply();

    /// Ends the call. Call it exactly once: when the engine has consumed the answer the reply is gone, and a second
    /// call would reach freed memory. [any]
    virtual void finish(const Status &status, const QJsonObject &result) = 0;

    /// True once nobody waits any more (timed out or shutting down); work may be given up. [any]
    virtual bool isAbandoned() const = 0;
};

/// One request to a limiter. Frozen like Status.
struct QuotaRequest final {
    QString account; ///< mailbox address, trimmed; A–Z are lower-cased by the limiter; ≤ 320 bytes UTF-8
    QString project; ///< empty means "default"
    QString method; ///< API method such as "gmail.users.threads.get"; empty when cost is given
    qint64 count = 1; ///< calls inside one batch, 1 … 1000; the cost is multiplied
    qint64 cost = -1; ///< units, 0 … 10⁹; −1 when method is given
    QString lane; ///< "realtime" (default when empty), "bulk" or, for the engine's own renewals, "renewal"
    qint64 maxWaitMs = 0; ///< 0 … 30,000: how long a booking may make the caller wait
    QString id; ///< ≤ 64 characters; makes the request idempotent for 60 s; empty: none
    QString caller; ///< who asks, for the accounts; ≤ 50 values in use; empty: none
    bool hold = false; ///< also take one of the account's leased places
    qint64 deadlineMs = 100; ///< how long the decision may take, 1 … 30,000
};

/// The limiter's verdict. Amounts are units × 1000 (milli-units). Frozen like Status.
struct QuotaAnswer final {
    bool granted = false;
    bool degraded = false; ///< granted without Redis, because fail_open says so
    qint64 waitMs = 0; ///< sleep this long before calling the API
    qint64 retryAfterMs = -1; ///< for a refusal: ask again after this long; −1 = never or unknown
    qint64 cost = 0; ///< units asked for
    qint64 largestCost = -1; ///< units; for "never": the most that this lane can be granted at once
    QString refusedBy; ///< account, project, day, account_frozen, project_frozen, concurrency, never, late
    qint64 accountLevel = 0; ///< milli-units, may be negative while booked
    qint64 accountCapacity = 0;
    qint64 projectLevel = 0;
    qint64 projectCapacity = 0;
    qint64 nowUs = 0; ///< Redis server time of the decision, µs since the epoch
    QString grantId; ///< names this grant for refund and report; empty when refused
    QString holdId; ///< the leased place; empty: none
    qint64 holdExpiresAt = 0; ///< epoch ms
};

/// As Reply, for the one call that must be cheap.
class TIDEKEEPER_SDK_EXPORT QuotaReply {
public:
    virtual ~QuotaReply();

    /// Ends the call. A refusal is not a failure: status is ok and answer.granted false.
    /// Failures: invalid_request, unknown_method, unknown_project, limiter_unavailable. [any]
    virtual void finish(const Status &status, const QuotaAnswer &answer) = 0;
};

} // namespace tidekeeper
