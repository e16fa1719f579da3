// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decide/apierror.h"

#include <QtCore/QJsonObject>

namespace watchrenewal {

/// What an answer of users.watch means, in the words of SubscriptionProvider::renew. Pure.
QJsonObject renewOutcome(const ApiAnswer &answer, qint64 nowMs);

/// What an answer of users.stop means, in the same words; "gone" when there is no watch any more.
QJsonObject removeOutcome(const ApiAnswer &answer, qint64 nowMs);

/// The outcome for a subscription with a topic of its own: a fault of that topic is this account's, and must not stop
/// the project.
QJsonObject withOwnTopicFault(QJsonObject outcome);

/// True for the 400 that says that a watch with another topic is active on this mailbox.
bool isOwnedElsewhere(const ApiAnswer &answer);

} // namespace watchrenewal
