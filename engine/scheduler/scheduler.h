// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/leaderlease.h"
#include "scheduler/changekeeper.h"
#include "scheduler/schedulebook.h"
#include "scheduler/watchdog.h"

#include <tidekeeper/services.h>

#include <QtCore/QTimer>

namespace tidekeeper::scheduler {

/// Runs named schedules. Among several engines only the holder of the lease fires; each fire moves the schedule's
/// nominal time by compare-and-set in the same step that enqueues its job, so a tick happens once whoever leads. Every
/// engine watches whether the ticks come. The clock is meant to be RedisClock. Main thread.
class Scheduler final : public QObject {
    Q_OBJECT

public:
    /// A schedule's job goes to the queue that it names, which also keeps the schedule's nominal time. The first
    /// queue is the engine's own, the last one that of plugins; both may be the same. The lease is started and
    /// stopped by its owner.
    Scheduler(const Clock &clock, QList<queue::JobQueue *> queues, queue::LeaderLease &lease,
              QObject *parent = nullptr);

    /// Without one, changes are of this engine alone and end with it.
    void setKeeper(ChangeKeeper *keeper) { m_keeper = keeper; }

    /// plugin: empty for the engine itself. Failures as Schedule::fromJson; already_declared.
    Status declare(const QJsonObject &schedule, const QString &plugin = {});
    /// What this plugin declared is not fired any more, because it failed.
    void withdraw(const QString &plugin) { m_book.withdraw(plugin); }
    QJsonObject declarations() const { return m_book.declarations(); }
    /// Brings all to what operators changed, by schedule id, and to what is remembered of declarations(); before or
    /// after the schedules are declared.
    void restore(const QJsonObject &changes, const QJsonObject &declarations);

    void start();
    void stop();

    /// Looks at once, for example because the clock was corrected.
    void wake();
    /// Reads where the schedules stand unless it leads and knows, and looks for missing ticks; every 10 s by itself.
    QCoro::Task<> watch();

    /// {"schedules": [as viewOf()]}. Without Redis what comes from there is as last known.
    QCoro::Task<QJsonObject> list();
    QCoro::Task<Result<QJsonObject>> find(QString id); ///< not_found
    /// As JobHistory::runs(); not_found.
    QCoro::Task<Result<QJsonObject>> runs(QString id, int limit, QString cursor);
    /// A partial schedule as in PATCH; {"paused": true} pauses, null returns a field to what was declared. Nothing
    /// changes unless all of it is sound and kept. Failures: not_found, invalid_request, invalid_cron, unknown_zone,
    /// conflict, and those of the keeper.
    QCoro::Task<Result<>> change(QString id, QJsonObject patch, QString actor);
    /// Drops an orphan for good, with its runs. Failures: not_found, schedule_declared, redis_*, and those of the keeper.
    QCoro::Task<Result<>> forget(QString id, QString actor);
    /// Beside the rhythm, paused or not: {"job", "result", "text"}. Failures: not_found, schedule_orphaned, redis_*.
    QCoro::Task<Result<QJsonObject>> run(QString id);
    Result<QList<qint64>> next(const QString &id, int n) const; ///< the next n fires, epoch ms

    /// {"leader", "ready", "term", "no_leader", "looks", "last_look_ms_ago", "stuck", "overdue": [ids],
    /// "orphaned": [ids]}. ready = leads and knows where the schedules stand; no_leader = for two lengths of its
    /// lease nobody was seen to hold it; looks = since the start; stuck = it does not look any more.
    QJsonObject health() const;

Q_SIGNALS:
    void changed(const QString &id); ///< something else is in force now, whoever changed it
    void fired(const QString &id, qint64 nominalMs, const QString &result);
    void fireFailed(const QString &id, const tidekeeper::Status &error);
    /// The lease is held and yet nothing fires; it tries again each second. Once for each kind of failure.
    void leadFailed(const tidekeeper::Status &error);
    void overdue(const QString &id, qint64 sinceMs); ///< its tick does not come
    void recovered(const QString &id); ///< the tick came, or is not expected any more

private:
    QCoro::Task<> lead(qint64 term);
    QCoro::Task<Result<>> fence(qint64 term);
    bool isLeading() const { return m_leadingTerm != 0 && m_lease.term() == m_leadingTerm; }
    void look();
    void lookIn(qint64 ms);
    QCoro::Task<> fire(ScheduleBook::EntryPointer entry, core::TickPlan plan);
    QCoro::Task<bool> fireOne(ScheduleBook::EntryPointer entry, qint64 nominalMs, bool runs);
    QCoro::Task<> learnTick(ScheduleBook::EntryPointer known);
    QCoro::Task<Result<>> refreshStates();
    void judge();
    void judge(Entry &entry);

    const Clock &m_clock;
    queue::LeaderLease &m_lease;
    ChangeKeeper *m_keeper = nullptr;
    ScheduleBook m_book;
    Watchdog m_watchdog;
    QTimer m_timer;
    QTimer m_watchTimer;
    qint64 m_leadingTerm =
        0; ///< the term in which the queues are fenced and the nominal times are read; 0 = none
    QString m_leadFault; ///< code of what keeps it from leading
    qint64 m_looks = 0;
    qint64 m_lastLookMs = 0; ///< monotonic, as the next
    qint64 m_leaderSeenMs = 0;
    bool m_running = false;
};

} // namespace tidekeeper::scheduler
