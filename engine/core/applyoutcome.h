// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/outcome.h"
#include "core/subscription.h"

#include <QtCore/QList>
#include <QtCore/QStringList>

#include <optional>

namespace tidekeeper::core {

/// One event to publish once the row is saved.
struct Notice {
    QString type; ///< "account.renewed", "watch.gap", …
    QJsonObject event;
};

/// What keeps an outcome from being held against its account, because it concerns many at once.
enum class Hold : quint8 {
    None,
    Pause, ///< the whole project is in trouble: the row waits for the next probe and nothing is counted
    Wave ///< many grants only seem lost: the row is tried again by its own back-off, and stops nobody
};

struct ApplyContext {
    qint64 nowMs = 0;
    qint64 windowMs = 0; ///< configured
    qint64 declaredLifetimeMs = 0; ///< the provider's
    QStringList cursorKeys; ///< keys of the data that consumers move: filled in when empty, never overwritten
    double jitter = 0.5; ///< 0 … 1
    qint64 breakerWaitMs = 0; ///< configuration and a pause: until the next probe
    Hold hold = Hold::None;
};

struct Applied {
    Subscription subscription; ///< to be saved with compare-and-set
    std::optional<AccountState>
        accountState; ///< when the account changes too; its reason is the outcome's code
    QList<Notice> notices;
};

/// What an outcome does to the row, the account and the world. Pure, so that it can be applied again to a row that
/// someone else changed meanwhile. Unauthorized counts as transient here: the fresh token was tried before.
Applied applyOutcome(const Subscription &before, const Outcome &outcome, const ApplyContext &context);

/// A row that waits behind an open breaker: later, and nothing is counted against it. Not spread: all are due when the
/// probe is, so that the most urgent goes first; the queue and the limiter pace them.
Subscription postponed(Subscription row, qint64 nowMs, qint64 waitMs);

} // namespace tidekeeper::core
