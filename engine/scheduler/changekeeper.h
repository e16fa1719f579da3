// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonObject>

namespace tidekeeper::scheduler {

/// Keeps for all engines, and over restarts, what operators changed of schedules. Calls Scheduler::restore() with what
/// is kept now before each of its tasks ends. Failures: database_unavailable.
class ChangeKeeper {
public:
    virtual ~ChangeKeeper() = default;

    /// From `before` to `after`, where empty means: none. setting_changed: somebody else was quicker.
    virtual QCoro::Task<Result<>> keepChange(QString scheduleId, QJsonObject before, QJsonObject after,
                                             QString actor) = 0;
    /// Drops the declaration of an orphan and what was changed of it.
    virtual QCoro::Task<Result<>> forget(QString scheduleId, QString actor) = 0;
};

} // namespace tidekeeper::scheduler
