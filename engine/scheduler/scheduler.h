// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/leaderlease.h"
#include "scheduler/schedule.h"

#include <tidekeeper/services.h>

#include <QtCore/QTimer>

#include <map>
#include <memory>

namespace tidekeeper::scheduler {

/// Runs named schedules. Among several engines only the holder of the lease fires; each fire moves the schedule's
/// nominal time by compare-and-set in the same step that enqueues its job, so a tick happens once whoever leads.
/// The clock is meant to be RedisClock. Main thread.
class Scheduler final : public QObject, public tidekeeper::Scheduler {
    Q_OBJECT
    Q_INTERFACES(tidekeeper::Scheduler)

public:
    /// A schedule's job goes to the queue that it names, which also keeps the schedule's nominal time. The first
    /// queue is the engine's own, the last one that of plugins; both may be the same. The lease is started and
    /// stopped by its owner.
    Scheduler(const Clock &clock, QList<queue::JobQueue *> queues, queue::LeaderLease &lease,
              QObject *parent = nullptr);

    ~Scheduler() override;

    /// For plugins: a job that names no queue goes to theirs. Failures as Schedule::fromJson; already_declared.
    Status declare(const QJsonObject &schedule) override;
    Status declareOwn(const QJsonObject &schedule); ///< of the engine
    void runNow(const QString &scheduleId, Reply *reply) override;

    /// What operators changed, by schedule id; before or after the declarations. Kept by whoever listens to changed().
    void restoreChanges(const QJsonObject &changes);

    void start();
    void stop();

    /// Looks at once, for example because the clock was corrected.
    void wake();

    /// {"schedules": [{"id", "title", "cron" …, "paused", "changed", "next_at", "last_nominal_at", "last_at",
    /// "last_result", "last_job"}]}. Without Redis the last_… fields are as last known.
    QCoro::Task<QJsonObject> list();
    QCoro::Task<Result<QJsonObject>> find(QString id); ///< not_found
    /// A partial schedule as in PATCH; {"paused": true} pauses. Answers nothing; not_found, invalid_request, …
    Result<> change(const QString &id, const QJsonObject &change);
    QCoro::Task<Result<QJsonObject>> run(QString id); ///< {"job", "result"}
    Result<QList<qint64>> next(const QString &id, int n) const; ///< the next n fires, epoch ms

    /// {"leader", "ready", "term", "looks", "last_look_ms_ago", "overdue": [ids]}: ready = leads and knows where the
    /// schedules stand; looks = since the start; overdue = due for more than 30 s in a ready leader.
    QJsonObject health() const;

Q_SIGNALS:
    void changed(const QString &id, const QJsonObject &change); ///< the whole change against the declaration
    void fired(const QString &id, qint64 nominalMs, const QString &result);
    void fireFailed(const QString &id, const tidekeeper::Status &error);

private:
    struct Entry;

    Entry *entry(const QString &id) const;
    Status declare(QJsonObject schedule, queue::JobQueue *standard);
    queue::JobQueue *queueNamed(const QString &name) const;
    QCoro::Task<> lead(qint64 term);
    void look();
    QCoro::Task<> fire(Entry *entry, core::TickPlan plan);
    QCoro::Task<bool> fireOne(Entry *entry, qint64 nominalMs, bool runs);
    QCoro::Task<bool> refreshStates();
    QJsonObject view(const Entry &entry) const;
    qint64 nextFireMs(const Entry &entry) const;

    const Clock &m_clock;
    const QList<queue::JobQueue *> m_queues;
    queue::LeaderLease &m_lease;
    std::map<QString, std::unique_ptr<Entry>> m_entries; ///< never removed: coroutines point into it
    QJsonObject m_changes;
    QTimer m_timer;
    qint64 m_leadingTerm =
        0; ///< the term in which the queue is fenced and the nominal times are read; 0 = none
    qint64 m_looks = 0;
    qint64 m_lastLookMs = 0; ///< monotonic
    bool m_running = false;
};

} // namespace tidekeeper::scheduler
