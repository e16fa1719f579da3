// SPDX-License-Identifier: Apache-2.0
#include "scheduler/pluginschedules.h"

namespace tidekeeper::scheduler {

PluginSchedules::PluginSchedules(scheduler::Scheduler &scheduler, QString plugin)
    : m_scheduler(scheduler), m_plugin(std::move(plugin))
{ }

Status PluginSchedules::declare(const QJsonObject &schedule)
{
    return m_scheduler.declare(schedule, m_plugin);
}

void PluginSchedules::runNow(const QString &scheduleId, Reply *reply)
{
    m_scheduler.run(scheduleId).then([reply](const Result<QJsonObject> &result) {
        reply->finish(result ? Status::success() : result.error(), result.value_or(QJsonObject()));
    });
}

} // namespace tidekeeper::scheduler
