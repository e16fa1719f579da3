// SPDX-License-Identifier: Apache-2.0
#include "app/queuewatch.h"

#include "log/log.h"

#include <QtCore/QJsonArray>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

constexpr qsizetype mostTypes = 100; // of jobs that get a time series of their own
constexpr qsizetype mostNamed = 20; // ids in one event

const QString lostJobs = u"queue_jobs_lost"_s;
const QString stalledJobs = u"queue_jobs_stalled"_s;
const QString orphanKeys = u"queue_orphan_keys"_s;
const QString recoveredJobs = u"queue_jobs_recovered"_s;

QString helpOf(const QString &name)
{
    static const QHash<QString, QString> texts{
        {lostJobs, u"Jobs that a stream named and that had no body."_s},
        {stalledJobs, u"Jobs that became dead letters because no start of them came to an end."_s},
        {orphanKeys, u"Dedupe keys without a job that were removed."_s},
        {recoveredJobs, u"Jobs in no worker's hands that were handed out again."_s},
    };
    return texts.value(name);
}

QJsonObject eventOf(const QString &queue, const QStringList &ids)
{
    return {{u"queue"_s, queue},
            {u"count"_s, ids.size()},
            {u"jobs"_s, QJsonArray::fromStringList(ids.mid(0, mostNamed))}};
}

} // namespace

QueueWatch::QueueWatch(MetricsRegistry &metrics, Events &events, QObject *parent)
    : QObject(parent), m_metrics(metrics), m_events(events)
{ }

void QueueWatch::watch(const QString &queue, queue::Worker &worker)
{
    for (const QString &name : {lostJobs, stalledJobs, orphanKeys, recoveredJobs})
        count(name, queue, 0); // a counter that is not there yet has no rate
    connect(&worker, &queue::Worker::jobEnded, this,
            [this, queue](const queue::Job &job, const QString &kind, qint64 durationMs) {
                onEnded(queue, job, kind, durationMs);
            });
    connect(&worker, &queue::Worker::jobsLost, this,
            [this, queue](const QStringList &ids) { onLost(queue, ids); });
    connect(&worker, &queue::Worker::jobsStalled, this,
            [this, queue](const QStringList &ids) { onStalled(queue, ids); });
    connect(&worker, &queue::Worker::reaped, this,
            [this, queue](int orphans, int recovered) { onReaped(queue, orphans, recovered); });
}

void QueueWatch::watch(scheduler::Scheduler &scheduler)
{
    connect(&scheduler, &scheduler::Scheduler::fired, this,
            [this](const QString &id, qint64 nominalMs, const QString &result) {
                onFired(id, nominalMs, result);
            });
    connect(&scheduler, &scheduler::Scheduler::fireFailed, this,
            [this](const QString &id, const Status &error) { onFireFailed(id, error); });
    connect(&scheduler, &scheduler::Scheduler::leadFailed, this, [this](const Status &error) {
        m_events.publish(u"scheduler.not_ready"_s, {{u"code"_s, error.code}, {u"text"_s, error.text}});
    });
    connect(&scheduler, &scheduler::Scheduler::overdue, this, &QueueWatch::onOverdue);
    connect(&scheduler, &scheduler::Scheduler::recovered, this, [this](const QString &id) {
        m_events.publish(u"schedule.recovered"_s, {{u"schedule"_s, id}});
    });
}

void QueueWatch::onEnded(const QString &queue, const queue::Job &job, const QString &kind, qint64 durationMs)
{
    const QString type = typeLabel(job.type);
    m_metrics.add(u"queue_jobs_ended"_s, u"Ends of jobs of this engine's workers."_s,
                  {{u"queue"_s, queue}, {u"type"_s, type}, {u"kind"_s, kind}}, 1);
    m_metrics.observe(u"queue_job_duration_seconds"_s, u"How long the handlers of jobs ran."_s,
                      {{u"queue"_s, queue}, {u"type"_s, type}}, double(durationMs) / 1'000);
    if (kind != "dead"_L1) {
        log::debug(u"queue"_s, u"A job ended."_s,
                   {{u"queue"_s, queue}, {u"job"_s, job.id}, {u"type"_s, job.type}, {u"kind"_s, kind}});
        return;
    }
    m_events.publish(
        u"queue.job_dead"_s,
        {{u"queue"_s, queue},
         {u"job"_s, job.id},
         {u"job_type"_s, job.type},
         {u"attempts"_s, job.attempts},
         {u"deferrals"_s, job.deferrals},
         {u"text"_s,
          u"The job will not run again by itself. See tidekeeper queue dead --queue %1."_s.arg(queue)}});
}

void QueueWatch::onLost(const QString &queue, const QStringList &ids)
{
    count(lostJobs, queue, ids.size());
    QJsonObject event = eventOf(queue, ids);
    event.insert("text"_L1,
                 u"Redis named jobs that it does not hold any more: were keys evicted, or a backup brought "
                 u"back? What they were for is found again by the next scan."_s);
    m_events.publish(u"queue.jobs_lost"_s, event);
}

void QueueWatch::onStalled(const QString &queue, const QStringList &ids)
{
    count(stalledJobs, queue, ids.size());
    QJsonObject event = eventOf(queue, ids);
    event.insert("text"_L1,
                 u"Jobs were started again and again and never came to an end, as when each start ends the "
                 u"engine: they are dead letters now. See tidekeeper queue dead --queue %1."_s.arg(queue));
    m_events.publish(u"queue.jobs_stalled"_s, event);
}

void QueueWatch::onReaped(const QString &queue, int orphans, int recovered)
{
    count(orphanKeys, queue, orphans);
    count(recoveredJobs, queue, recovered);
    m_events.publish(u"queue.keys_reaped"_s,
                     {{u"queue"_s, queue},
                      {u"orphan_keys"_s, orphans},
                      {u"recovered"_s, recovered},
                      {u"text"_s,
                       u"Traces of jobs were found that no worker holds, as after a loss of data in Redis: "
                       u"keys without a job were removed, jobs without a worker are handed out again."_s}});
}

void QueueWatch::onFired(const QString &schedule, qint64 nominalMs, const QString &result)
{
    m_failing.remove(schedule);
    log::debug(u"scheduler"_s, u"A schedule was fired."_s,
               {{u"schedule"_s, schedule}, {u"nominal_at"_s, nominalMs}, {u"result"_s, result}});
    m_metrics.add(u"schedule_fires"_s, u"Ticks that this engine fired, by what became of the job."_s,
                  {{u"schedule"_s, schedule}, {u"result"_s, result}}, 1);
}

/// It is tried again each second; the event comes once until it works again or fails in another way. A newer leader
/// is no fault: this one stands back.
void QueueWatch::onFireFailed(const QString &schedule, const Status &error)
{
    m_metrics.add(u"schedule_fire_failures"_s, u"Tries to fire a tick that failed."_s,
                  {{u"schedule"_s, schedule}, {u"code"_s, error.code}}, 1);
    if (error.code == "stale_term"_L1 || std::exchange(m_failing[schedule], error.code) == error.code)
        return;
    m_events.publish(u"schedule.fire_failed"_s,
                     {{u"schedule"_s, schedule}, {u"code"_s, error.code}, {u"text"_s, error.text}});
}

void QueueWatch::onOverdue(const QString &schedule, qint64 sinceMs)
{
    m_events.publish(u"schedule.overdue"_s,
                     {{u"schedule"_s, schedule},
                      {u"since"_s, sinceMs},
                      {u"text"_s,
                       u"The schedule was due and no engine has run it. tidekeeper status says whether an "
                       u"engine leads; run "
                       u"it by hand with tidekeeper schedules run %1."_s.arg(schedule)}});
}

void QueueWatch::count(const QString &name, const QString &queue, qsizetype by)
{
    m_metrics.add(name, helpOf(name), {{u"queue"_s, queue}}, double(by));
}

/// Whoever enqueues chooses the type: what is no plain name, and what comes when there are many, counts as "other".
QString QueueWatch::typeLabel(const QString &type)
{
    static const QRegularExpression plain(u"^[A-Za-z0-9._-]{1,64}$"_s);
    if (m_types.contains(type))
        return type;
    if (m_types.size() >= mostTypes || !plain.match(type).hasMatch())
        return u"other"_s;
    m_types.insert(type);
    return type;
}

} // namespace tidekeeper::app
