// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonObject>

// What operators should know of queues and scheduler, as parts of the engine's health with a remedy in words.
namespace tidekeeper::app {

/// Beyond this a waiting job says that the workers do not keep up.
constexpr qint64 waitingTooLongMs = 10 * 60'000;

/// counts: as JobQueue::counts(). isTaking: this engine's worker was answered when it last looked.
QJsonArray queueParts(const QString &queue, const Result<QJsonObject> &counts, bool isTaking);

/// health: as Scheduler::health(); schedules: as Scheduler::list().
QJsonArray schedulerParts(const QJsonObject &health, const QJsonArray &schedules, qint64 nowMs);

} // namespace tidekeeper::app
