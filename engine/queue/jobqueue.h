// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/job.h"
#include "redis/functionlibrary.h"

#include <QCoro/QCoroTask>

namespace tidekeeper::queue {

class ReplicatedCalls;

/// The code of the library tidekeeper_queue: FunctionLibrary(connection, "tidekeeper_queue", libraryCode()).
QByteArray libraryCode();

struct JobSpec {
    QString type; ///< "renew", "notify", …
    QJsonObject payload;
    QString dedupeKey; ///< one live job per key; empty = none
    qint64 delayMs = 0;
    bool urgent = false;
    QString
        leaseName; ///< with term: refused as stale_term when the queue saw a newer term of it; empty = not checked
    qint64 term = 0;
    QString schedule =
        {}; ///< whose run this is: recorded when the job ends; empty = none. fire() sets its own
    qint64 nominalMs = 0; ///< of that run; 0 = by hand. fire() sets its own
};

struct EnqueueResult {
    QString job; ///< id of the new or of the live job
    QString result; ///< added, promoted, waiting, delayed, running
};

/// One tick of a schedule: it happens when the last nominal time is still the expected one.
struct Fire {
    QString schedule;
    qint64 expectedNominalMs = 0; ///< 0 = never fired
    qint64 nominalMs = 0;
    QString leaseName;
    qint64 term = 0;
    bool queueOne = false; ///< while the job of the last tick runs: run once more after it
    bool passedOver =
        false; ///< without a job: the misfire policy let this tick go, which is recorded as a run
};

struct FireResult {
    bool fired = false; ///< false: another engine has moved the nominal time
    qint64 currentNominalMs = 0; ///< when not fired
    QString result; ///< as EnqueueResult, or queued_one
    QString job;
};

struct ScheduleState {
    qint64 nominalMs = 0; ///< of the last tick; 0 = never
    qint64 firedAt = 0; ///< epoch ms, Redis time
    QString result; ///< of its job, as FireResult; empty = none
    QString job;
    bool active = false; ///< that job is still live
    QJsonObject lastRun; ///< the newest that JobHistory::runs() lists; empty = none
};

/// The producers' side of a queue on Redis Streams: two streams ("urgent" first, "normal"), at least once, one
/// live job per dedupe key. Thread of its connection. Failures: redis_*, stale_term (details "term", the newer
/// one), invalid_request, functions_refused; not_replicated from enqueue() and fire(): done, but no replica has
/// confirmed it.
class JobQueue {
public:
    /// replicated: what is enqueued counts once a replica has it; null = once the server has it.
    JobQueue(QString name, redis::FunctionLibrary &library, ReplicatedCalls *replicated = nullptr);

    QCoro::Task<Result<EnqueueResult>> enqueue(JobSpec spec);
    /// Up to 500 in one round trip, with the lease and term of the first; one result per spec, in order.
    QCoro::Task<Result<QList<EnqueueResult>>> enqueue(QList<JobSpec> specs);

    /// Moves the schedule's nominal time and enqueues in one step. job: nothing = only move the time.
    QCoro::Task<Result<FireResult>> fire(Fire fire, std::optional<JobSpec> job);
    /// What is known of each of these schedules, in order.
    QCoro::Task<Result<QList<ScheduleState>>> scheduleStates(QStringList schedules);
    /// Where it stands and its runs; its jobs stay.
    QCoro::Task<Result<>> forgetSchedule(QString schedule);
    /// From now on smaller terms of this lease are refused here.
    QCoro::Task<Result<>> fence(QString leaseName, qint64 term);

    /// {"name", "urgent", "normal", "delayed", "claimed", "running", "dead", "discarded", "oldest_waiting_ms",
    /// "lost"}
    QCoro::Task<Result<QJsonObject>> counts();

    const QString &name() const { return m_name; }
    redis::FunctionLibrary &library() const { return m_library; }

private:
    QCoro::Task<Result<redis::Value>> callDurably(QByteArray function, QList<QByteArray> arguments);

    QString m_name;
    redis::FunctionLibrary &m_library;
    ReplicatedCalls *m_replicated;
};

} // namespace tidekeeper::queue
