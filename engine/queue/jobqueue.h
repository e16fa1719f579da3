// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "redis/functionlibrary.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonObject>

#include <optional>

namespace tidekeeper::queue {

struct JobSpec {
    QString type;          ///< "renew", "notify", …
    QJsonObject payload;
    QString dedupeKey;     ///< one live job per key; empty = none
    qint64 delayMs = 0;
    bool urgent = false;
    QString leaseName;     ///< with term: refused as stale_term when the lease has a newer term; empty = not checked
    qint64 term = 0;
};

struct EnqueueResult {
    QString job;    ///< id of the new or of the live job
    QString result; ///< added, promoted, waiting, delayed, running
};

struct Job {
    QString id;
    QString type;
    QJsonObject payload;
    QString dedupeKey;
    int starts = 0;    ///< deliveries that began, this one included
    int attempts = 0;  ///< real failures so far
    int deferrals = 0;
    qint64 enqueuedAt = 0; ///< epoch ms, Redis time
    QByteArray owner;  ///< token that ack, retry and heartbeat must present
};

/// How a handler ended.
struct JobOutcome {
    enum class Kind : quint8 {
        Done,    ///< finished
        Retry,   ///< failed: counted, again after back-off or afterMs
        Defer,   ///< throttled: not counted as an attempt, again after afterMs
        Release, ///< could not begin: back to the queue uncounted
        Dead     ///< will never work: dead letter now
    };
    Kind kind = Kind::Done;
    qint64 afterMs = -1; ///< −1 = back-off
    QString errorClass;
    QString errorText;
};

struct DeadFilter {
    QString group;   ///< class, or class:fingerprint; empty = all
    QStringList ids; ///< empty = all that match the group
    int limit = 100;
    QString cursor;
};

/// A queue on Redis Streams: two streams ("urgent" first, "normal"), at least once, one live job per dedupe
/// key. All moves are single functions of lua/queue.lua. Thread of its connection.
class JobQueue {
public:
    JobQueue(QString name, redis::FunctionLibrary &library);

    QCoro::Task<Result<EnqueueResult>> enqueue(JobSpec spec);
    /// Up to 500 in one round trip; one result per spec, in order.
    QCoro::Task<Result<QList<EnqueueResult>>> enqueue(QList<JobSpec> specs);

    /// {"name", "urgent", "normal", "delayed", "running", "dead", "oldest_waiting_ms"}
    QCoro::Task<Result<QJsonObject>> counts();

    QCoro::Task<Result<QJsonObject>> deadLetters(DeadFilter filter); ///< {"dead": […], "groups": […], "total"}
    QCoro::Task<Result<QJsonObject>> requeueDead(DeadFilter filter, bool dryRun); ///< {"matched", "requeued", "already_live"}
    QCoro::Task<Result<QJsonObject>> discardDead(DeadFilter filter, bool dryRun);
    QCoro::Task<Result<QJsonObject>> restoreDiscarded(DeadFilter filter, bool dryRun);

    const QString &name() const { return m_name; }

private:
    QString m_name;
    redis::FunctionLibrary &m_library;
};

} // namespace tidekeeper::queue
