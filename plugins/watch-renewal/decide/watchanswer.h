// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decide/apierror.h"

#include <QtCore/QJsonObject>

namespace watchrenewal {

/// What an answer of users.watch means, in the words of SubscriptionProvider::renew. Pure.
QJsonObject renewOutcome(const ApiAnswer &answer, qint64 nowMs);

/// What an answer of users.stop means, in the same words; "gone" when there is no watch any more.
QJsonObject removeOutcome(const ApiAnswer &answer, qint64 nowMs);

/// True for the 400 that says that a watch with another topic is active on this mailbox.
bool isOwnedElsewhere(const ApiAnswer &answer);

/// May that watch be stopped and taken over? Only when the row says that a watch of ours is alive (so the other topic
/// was ours), and only once within one lifetime: never a fight with another environment.
bool mayTakeOver(const QJsonObject &subscription, qint64 nowMs);

} // namespace watchrenewal
