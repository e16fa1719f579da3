// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/eventbus.h"
#include "app/metricsregistry.h"
#include "queue/worker.h"
#include "scheduler/scheduler.h"

#include <QtCore/QSet>

namespace tidekeeper::app {

/// Listens to workers and scheduler: what happens becomes counters, and what somebody should know of becomes an event,
/// which is also a warning in the log: queue.job_dead, queue.jobs_stalled, queue.jobs_lost, queue.keys_reaped,
/// schedule.fire_failed, schedule.overdue, scheduler.not_ready; and schedule.recovered. Main thread.
class QueueWatch : public QObject {
    Q_OBJECT

public:
    QueueWatch(MetricsRegistry &metrics, Events &events, QObject *parent = nullptr);

    void watch(const QString &queue, queue::Worker &worker);
    void watch(scheduler::Scheduler &scheduler);

private:
    void onEnded(const QString &queue, const queue::Job &job, const QString &kind, qint64 durationMs);
    void onLost(const QString &queue, const QStringList &ids);
    void onStalled(const QString &queue, const QStringList &ids);
    void onReaped(const QString &queue, int orphanKeys, int recovered);
    void onFired(const QString &schedule, qint64 nominalMs, const QString &result);
    void onFireFailed(const QString &schedule, const Status &error);
    void onOverdue(const QString &schedule, qint64 sinceMs);
    void count(const QString &name, const QString &queue, qsizetype by);
    QString typeLabel(const QString &type);

    MetricsRegistry &m_metrics;
    Events &m_events;
    QSet<QString> m_types; ///< of jobs, as labels
    QHash<QString, QString> m_failing; ///< schedules whose last fire failed → the code
};

} // namespace tidekeeper::app
