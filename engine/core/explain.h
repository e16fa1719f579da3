// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "core/planner.h"
#include "core/pushproof.h"
#include "core/subscription.h"

#include <QtCore/QJsonObject>

namespace tidekeeper::core {

/// What stops many accounts at once.
enum class StopKind : quint8 {
    None,
    Configuration, ///< somebody has to mend something
    Pause, ///< Google is in trouble with most calls of the project
    Wave ///< many grants seem lost at once
};

struct ExplainInput {
    Account account;
    Subscription subscription;
    qint64 nowMs = 0;
    bool hasProvider = true;
    bool observe = false;
    QString observeReason = {}; ///< why, when it is not by configuration
    qint64 windowMs = 6 * dayMs;
    qint64 declaredLifetimeMs = 7 * dayMs;
    StopKind stop = StopKind::None;
    QString stopText = {}; ///< what is wrong
    qint64 stopWaitMs = 0; ///< until its next probe
    QString grantHint = {}; ///< why grants of the account's client end early; empty = nothing is known
    QString waveText = {}; ///< of the open wave that the account is a member of; empty = of none
    qint64 lastPushAt = 0; ///< the newest proof that the watch delivers; epoch ms, 0 = never
    PushState pushState = PushState::Unproven;
    int heldBack = 0; ///< rows that the last scan left for later since a backlog is worked at a pace
};

/// Why a subscription is due, or is not: {"subscription", "due", "summary", "sentences": […], "band", "expires_at",
/// "target_at", "next_attempt_at", "next_attempts": [the next three if it goes on failing; none = it is not tried],
/// "due_at", "window_ms"}. The summary is the one reason that decides; the sentences are the facts behind it. Instants
/// in sentences are UTC.
QJsonObject explain(const ExplainInput &input);

} // namespace tidekeeper::core
