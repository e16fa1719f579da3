// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler/schedulebook.h"

namespace tidekeeper::scheduler {

/// A schedule as operators see it: the fields in force, and {"plugin", "changed", "misfit": why a kept change has no
/// effect, "jitter_offset_ms", "next_at": with the jitter, 0 = none, "running", "last_nominal_at", "last_at",
/// "last_result", "last_job", "last_run": as in runs(), "overdue_since": 0 = not, "orphaned", "orphaned_text"}.
QJsonObject viewOf(const Entry &entry, qint64 nowMs, qint64 overdueSinceMs);

/// When it fires next, epoch ms; 0 = not until something changes.
qint64 nextFireMs(const Entry &entry, qint64 nowMs);

/// What became of a wish to run now, by the result of its enqueueing.
QString sentenceOfRun(const QString &result);

} // namespace tidekeeper::scheduler
