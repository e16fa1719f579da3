// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/heartbeat.h"
#include "queue/turn.h"
#include "redis/functionlibrary.h"

#include <QCoro/QCoroTask>
#include <QtCore/QElapsedTimer>
#include <QtCore/QHash>
#include <QtCore/QObject>
#include <QtCore/QTimer>

#include <functional>

namespace tidekeeper::queue {

struct WorkerOptions {
    int consumers = 2; ///< jobs that run at the same time
    int prefetch = 2; ///< jobs in hand for each consumer while all are at work, the running one included
    int leaseMs = 10'000;
    int heartbeatMs = 3'000;
    int maxStarts = 3; ///< starts without an end before a job is a dead letter
    qint64 maxAgeMs = 24 * 3'600'000LL; ///< a job is not tried again beyond this age
    qint64 longestRunMs = 15 * 60'000;
    int longestWaitMs = 1'000; ///< between two looks at the queue, also for stalled jobs
    int reapMs = 60'000;
};

/// Takes jobs from one queue and runs their handlers. Prefetched jobs are held under a lease but not counted; a
/// start is counted before its handler runs. What happens in one turn of the event loop, jobs that are done, jobs to
/// start and room for more, goes to Redis in one call. Stop before destruction. Main thread.
class Worker : public QObject {
    Q_OBJECT

public:
    using Handler = std::function<QCoro::Task<JobOutcome>(Job)>;

    /// library: tidekeeper_queue on the engine's connection; the worker makes one more connection to wait on and
    /// one for its heartbeat, both to endpoint.
    Worker(QString queue, redis::Endpoint endpoint, redis::FunctionLibrary &library,
           WorkerOptions options = {}, QObject *parent = nullptr);
    ~Worker() override;

    /// Before start(). A job of a type without handler is deferred for a minute.
    void handle(const QString &type, Handler handler);

    void start();
    /// Takes nothing more, gives prefetched jobs back, waits for running ones for at most graceMs and then gives
    /// those back too; nothing is counted.
    QCoro::Task<> stop(int graceMs);

    int runningCount() const { return static_cast<int>(m_running.size()); }
    bool isTaking() const { return m_taking; } ///< the last look at the queue was answered

Q_SIGNALS:
    /// kind: done, retry, defer, release, dead, or taken_over when the job was no longer ours.
    void jobEnded(const tidekeeper::queue::Job &job, const QString &kind, qint64 durationMs);
    void jobsLost(const QStringList &ids); ///< a stream named them, their bodies are gone
    void jobsStalled(const QStringList &ids); ///< dead letters now: too many starts without an end
    void reaped(int orphanKeys, int recovered);

private:
    struct Run {
        Job job;
        QElapsedTimer since;
    };
    struct Done {
        Job job;
        qint64 durationMs = 0;
    };

    void look();
    void lookIn(int ms);
    void letHungGo();
    void waitForWork(const QList<QByteArray> &seen);

    void turnSoon();
    void takeTurn();
    void pickStarts(Turn &turn);
    void askForMore(Turn &turn);
    void onTurn(const Turn &turn, const QList<Done> &ends, const Result<redis::Value> &reply);
    void onRefusedTurn(const Turn &turn, const QList<Done> &ends, bool mayBeExecuted);
    void onStarted(const Turn &turn, const QList<int> &starts);
    void onTaken(const TurnAnswer &answer);
    bool parse(TurnAnswer::Taken &taken);
    void keepForLater(Job job);
    int busyCount() const { return runningCount() + m_promised; }

    void hold(const Job &job);
    void runReady();
    void forget(const Job &job);
    QCoro::Task<> run(Run run);
    QCoro::Task<JobOutcome> outcomeOf(Job job);
    QCoro::Task<> end(Job job, JobOutcome outcome, qint64 durationMs);
    QCoro::Task<> endAlone(Done done);
    void onEnded(const Done &done, bool isOurs);
    QCoro::Task<Result<redis::Value>> endCall(QByteArray function, QList<QByteArray> arguments);
    QCoro::Task<> giveBack(Job job);
    QCoro::Task<> reap();

    QString m_queue;
    QByteArray m_prefix;
    QByteArray m_consumer;
    redis::Endpoint m_endpoint;
    redis::FunctionLibrary &m_library;
    WorkerOptions m_options;
    QHash<QString, Handler> m_handlers;
    std::unique_ptr<redis::RedisConnection> m_waiter; ///< blocks in XREAD
    std::unique_ptr<Heartbeat> m_heartbeat;
    QList<Job> m_prefetched; ///< urgent ones first
    QHash<QByteArray, Run> m_running; ///< by owner: handlers at work, and starts under way
    QList<QByteArray> m_ready; ///< owners of started jobs whose handler has its turn next
    QList<Done> m_done; ///< for the next turn
    QByteArray m_alone; ///< the running job beside which no other is started
    QTimer m_lookTimer;
    QElapsedTimer m_lastSweep;
    QTimer m_hungTimer;
    QTimer m_reapTimer;
    QByteArray m_reapCursor = "0";
    int m_turns = 0; ///< calls under way
    int m_asked = 0; ///< jobs that they may bring
    int m_promised = 0; ///< of which so many begin at once
    int m_ending = 0; ///< jobs done whose end is not answered yet
    bool m_stopping = false;
    bool m_turnIsDue = false;
    bool m_mayHaveMore = true; ///< the queue has not said since that it is empty
    bool m_blocked = false; ///< the waiter waits for new entries
    bool m_taking = false;
};

} // namespace tidekeeper::queue
