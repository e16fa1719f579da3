// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedulepolicy.h"
#include "queue/jobqueue.h"

namespace tidekeeper::scheduler {

/// One named schedule, as declared with what an operator changed since laid over it.
struct Schedule {
    QString id;
    QString title;
    core::Trigger trigger;
    core::Misfire misfire = core::Misfire::Coalesce;
    int misfireCap = 10;
    bool queueOne = false; ///< overlap "queue-one"; otherwise "skip"
    qint64 jitterMs = 0;
    qint64 offsetMs = 0; ///< stable, in [0, jitterMs)
    bool paused = false;
    queue::JobSpec job;
    QString queue; ///< of the job; empty = not said

    /// {"id", "title", "cron" or "interval_ms", "zone", "misfire": "coalesce" | "skip" | "each", "misfire_cap",
    /// "overlap": "skip" | "queue-one", "jitter_ms", "paused", "job": {"type", "payload", "dedupe", "urgent",
    /// "queue"}}. Failures: invalid_request, invalid_cron, unknown_zone; details "field".
    static Result<Schedule> fromJson(const QJsonObject &json);
};

/// The same with every field that fromJson() would fill in.
QJsonObject withDefaults(QJsonObject schedule);

/// Whether these are fields that an operator may change; null is for one that returns to what was declared.
Result<> checkPatch(const QJsonObject &patch);

/// A declaration with a change laid over it. A cron pattern replaces an interval and the other way round.
QJsonObject withChange(QJsonObject schedule, const QJsonObject &change);

/// A change with a further one laid over it.
QJsonObject withPatch(QJsonObject change, const QJsonObject &patch);

} // namespace tidekeeper::scheduler
