// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>

// When a renewal stops the mailbox's watch before it sets the next one. Each such stop leaves a mark in the
// subscription's data, so that none of them can become a loop or a fight with another environment. Pure.
namespace watchrenewal {

/// Is this renewal a repair of a watch that pushes nothing ("repair": true)? At most once a day, whoever asks.
/// Nine-Minds/alga-psa#859: renewing a silent watch without a stop left it silent.
bool isRepair(const QJsonObject &subscription, qint64 nowMs);

/// The active watch has another topic. May it be stopped and replaced? When the operator said so ("take_over": true);
/// else only when the row says that a watch of ours is alive (so the other topic was ours), and only once within one
/// lifetime.
bool mayTakeOver(const QJsonObject &subscription, qint64 nowMs);

/// The outcome of the watch that followed a stop, with its mark, "taken_over_at" or "repaired_at", in its data. When
/// it failed nothing watches the mailbox any more, and the outcome says since when: "ended_at".
QJsonObject afterStop(QJsonObject outcome, const QString &mark, qint64 nowMs);

/// The outcome "owned_elsewhere" with what the operator has to know: which topic is ours and what to do.
QJsonObject withOwnerRemedy(QJsonObject outcome, const QJsonObject &subscription, const QString &topic);

} // namespace watchrenewal
