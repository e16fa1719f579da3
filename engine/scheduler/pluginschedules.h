// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler/scheduler.h"

#include <tidekeeper/services.h>

namespace tidekeeper::scheduler {

/// The scheduler as one plugin sees it: what it declares carries its name, and a job that names no queue goes to the
/// queue of plugins. Main thread.
class PluginSchedules final : public QObject, public tidekeeper::Scheduler {
    Q_OBJECT
    Q_INTERFACES(tidekeeper::Scheduler)

public:
    PluginSchedules(scheduler::Scheduler &scheduler, QString plugin);

    Status declare(const QJsonObject &schedule) override;
    void runNow(const QString &scheduleId, Reply *reply) override;

private:
    scheduler::Scheduler &m_scheduler;
    const QString m_plugin;
};

} // namespace tidekeeper::scheduler
