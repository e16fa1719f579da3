// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "core/planner.h"
#include "core/subscription.h"

#include <QtCore/QJsonObject>

namespace tidekeeper::core {

struct ExplainInput {
    Account account;
    Subscription subscription;
    qint64 nowMs = 0;
    bool hasProvider = true;
    bool observe = false;
    qint64 windowMs = 6 * dayMs;
    qint64 declaredLifetimeMs = 7 * dayMs;
    QString stopText = {}; ///< what an open breaker says; empty = none is open
    qint64 stopWaitMs = 0; ///< until its next probe
};

/// Why a subscription is due, or is not: {"subscription", "due", "summary", "sentences": […], "band", "expires_at",
/// "target_at", "next_attempt_at", "due_at", "window_ms"}. The summary is the one reason that decides; the sentences are
/// the facts behind it. Instants in sentences are UTC.
QJsonObject explain(const ExplainInput &input);

} // namespace tidekeeper::core
