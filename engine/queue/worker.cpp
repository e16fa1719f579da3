// SPDX-License-Identifier: Apache-2.0
#include "queue/worker.h"

#include "core/faultpoint.h"
#include "queue/queuecall.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QPointer>

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

namespace {

constexpr int retryLookMs = 250;
constexpr int callTimeoutMs = 2'000;
constexpr int sweepMs = 50; ///< delayed jobs are due at most so late while there is always more to take
constexpr int mostTurns = 2; ///< calls under way: Redis works on one while the jobs of the other run

/// Not sent, or refused as a whole, for example because memory is full.
bool wasNotExecuted(const Result<redis::Value> &reply)
{
    if (!reply)
        return reply.error().code == u"redis_unavailable";
    return reply->isError() && isRefusedUnseen(reply->text);
}

} // namespace

Worker::Worker(QString queue, redis::Endpoint endpoint, redis::FunctionLibrary &library,
               WorkerOptions options, QObject *parent)
    : QObject(parent), m_queue(std::move(queue)), m_prefix(queuePrefix(m_queue)), m_consumer(randomToken()),
      m_endpoint(std::move(endpoint)), m_library(library), m_options(options)
{
    m_lookTimer.setSingleShot(true);
    connect(&m_lookTimer, &QTimer::timeout, this, &Worker::look);
    connect(&m_hungTimer, &QTimer::timeout, this, &Worker::letHungGo);
    connect(&m_reapTimer, &QTimer::timeout, this, [this] { reap(); });
}

Worker::~Worker() = default;

void Worker::handle(const QString &type, Handler handler)
{
    m_handlers.insert(type, std::move(handler));
}

void Worker::start()
{
    redis::ConnectionOptions connection;
    connection.clientName = "tidekeeper-worker";
    m_waiter = std::make_unique<redis::RedisConnection>(m_endpoint, connection);
    connect(m_waiter.get(), &redis::RedisConnection::ready, this, &Worker::look);
    m_waiter->open();
    m_heartbeat = std::make_unique<Heartbeat>(
        m_endpoint,
        Heartbeat::Options{m_queue, m_options.leaseMs, m_options.heartbeatMs, m_options.longestRunMs});
    m_reapTimer.start(m_options.reapMs);
    m_hungTimer.start(m_options.longestWaitMs);
    look();
}

// Looking for work ------------------------------------------------------------------------------------------

void Worker::look()
{
    m_mayHaveMore = true;
    m_lastSweep.invalidate();
    turnSoon();
}

void Worker::lookIn(int ms)
{
    if (!m_stopping)
        m_lookTimer.start(ms);
}

/// A handler that does not come back has lost its job, and must not keep others from starting.
void Worker::letHungGo()
{
    for (const QHash<QByteArray, Run> running = m_running; const Run &run : running) {
        if (run.since.isValid() && run.since.hasExpired(m_options.longestRunMs)) {
            forget(run.job);
            Q_EMIT jobEnded(run.job, u"taken_over"_s, run.since.elapsed());
            turnSoon();
        }
    }
}

/// Blocks until an entry is added to one of the streams. Redis ends such waits up to 100 ms late, so what is due
/// at a known time is left to the timer.
void Worker::waitForWork(const QList<QByteArray> &seen)
{
    if (m_blocked || m_stopping)
        return;
    m_blocked = true;
    QList<QByteArray> command{"XREAD",  "COUNT", "1", "BLOCK", QByteArray::number(m_options.longestWaitMs),
                              "STREAMS"};
    command << m_prefix + ":stream:urgent" << m_prefix + ":stream:normal" << m_prefix + ":wake" << seen;
    const QPointer<Worker> self(this);
    m_waiter->send(
        command,
        [self](const Result<redis::Value> &reply) {
            if (!self)
                return;
            self->m_blocked = false;
            if (!reply || reply->isError())
                return self->lookIn(retryLookMs);
            self->look();
        },
        m_options.longestWaitMs + callTimeoutMs);
}

// A turn ----------------------------------------------------------------------------------------------------

/// All that happens until the event loop comes round goes into one call.
void Worker::turnSoon()
{
    if (!std::exchange(m_turnIsDue, true))
        QMetaObject::invokeMethod(this, &Worker::takeTurn, Qt::QueuedConnection);
}

void Worker::takeTurn()
{
    m_turnIsDue = false;
    if (m_turns >= mostTurns) // an answer comes, and leads back here
        return;
    Turn turn{.token = randomToken()};
    const QList<Done> ends = m_done.mid(0, Turn::mostPairs);
    m_done.remove(0, ends.size());
    for (const Done &done : ends)
        turn.ends.append(done.job);
    if (!m_stopping)
        pickStarts(turn);
    if (turn.isEmpty())
        return;

    ++m_turns;
    m_asked += turn.take;
    m_promised += turn.begin;
    const QPointer<Worker> self(this);
    m_library.call(
        "tidekeeper_turn_v1", {m_prefix}, turn.arguments(m_consumer, m_options.leaseMs, m_options.maxStarts),
        [self, turn, ends](const Result<redis::Value> &reply) {
            if (self)
                self->onTurn(turn, ends, reply);
        },
        callTimeoutMs);
    if (turn.begin > 0 || !turn.starts.isEmpty())
        TIDEKEEPER_FAULT_POINT("queue.start.sent");
    if (!turn.ends.isEmpty())
        TIDEKEEPER_FAULT_POINT("queue.end.sent");
}

/// A job that was running when a worker ended may be what ended it: it runs alone, so that it takes no neighbour
/// with it to the dead letters.
void Worker::pickStarts(Turn &turn)
{
    while (!m_prefetched.isEmpty() && busyCount() < m_options.consumers
           && turn.starts.size() < Turn::mostPairs) {
        const bool isSuspect = m_prefetched.first().starts > 0;
        if (!m_alone.isEmpty() || (isSuspect && busyCount() > 0))
            break;
        Job job = m_prefetched.takeFirst();
        turn.starts.append(job);
        const QByteArray claim = std::exchange(job.owner, turn.ownerOfStart(turn.starts.size() - 1));
        m_heartbeat->add(job.id, claim, job.owner);
        if (isSuspect)
            m_alone = job.owner;
        m_running.insert(job.owner, {job, {}});
    }
    if (m_mayHaveMore)
        askForMore(turn);
}

/// While a handler is free, only as many as can begin: what begins at once needs no claim before. Others are
/// prefetched when all handlers are still at work after the answer, so that a queue of quick jobs does without.
/// Beside a job that runs alone nothing can begin, however long it takes: what waits is left to other workers.
void Worker::askForMore(Turn &turn)
{
    if (!m_alone.isEmpty())
        return;
    const qsizetype inHand = m_running.size() + m_prefetched.size() + m_asked;
    const qsizetype room = m_options.consumers * m_options.prefetch - inHand;
    const int free = m_options.consumers - busyCount();
    const bool mayBegin = free > 0 && m_prefetched.isEmpty();
    if (!mayBegin && !turn.isEmpty())
        return;
    turn.take = static_cast<int>(std::clamp<qsizetype>(room, 0, Turn::mostJobs));
    if (mayBegin)
        turn.take = turn.begin = std::min(turn.take, free);
    turn.sweep = turn.take > 0 && (!m_lastSweep.isValid() || m_lastSweep.hasExpired(sweepMs));
    if (turn.sweep)
        m_lastSweep.start();
}

void Worker::onTurn(const Turn &turn, const QList<Done> &ends, const Result<redis::Value> &reply)
{
    TIDEKEEPER_FAULT_POINT("queue.turn.answered");
    --m_turns;
    m_asked -= turn.take;
    m_promised -= turn.begin;
    std::optional<TurnAnswer> answer;
    if (reply)
        answer = TurnAnswer::from(*reply, turn);
    m_taking = answer.has_value();
    if (!answer)
        return onRefusedTurn(turn, ends, !wasNotExecuted(reply));

    for (qsizetype i = 0; i < ends.size(); ++i)
        onEnded(ends[i], answer->ended[i]);
    onStarted(turn, answer->starts);
    onTaken(*answer);
    runReady();
    if (turn.take > 0) {
        m_mayHaveMore = answer->seen.isEmpty();
        if (answer->dueInMs >= 0 && answer->dueInMs < m_options.longestWaitMs)
            lookIn(static_cast<int>(answer->dueInMs));
        if (!m_mayHaveMore)
            waitForWork(answer->seen);
    }
    turnSoon();
}

/// Ends are said again, each by itself: a full Redis takes them when it takes nothing else, and one that breaks
/// its function does not hold up the others. A start that may have happened is left to its lease.
void Worker::onRefusedTurn(const Turn &turn, const QList<Done> &ends, bool mayBeExecuted)
{
    for (const Done &done : ends)
        endAlone(done);
    for (qsizetype i = 0; i < turn.starts.size(); ++i) {
        const auto run = m_running.constFind(turn.ownerOfStart(i));
        if (run == m_running.cend())
            continue;
        forget(Job(run->job));
        if (!mayBeExecuted)
            keepForLater(turn.starts[i]);
    }
    if (m_stopping)
        return turnSoon();
    lookIn(retryLookMs);
}

void Worker::onStarted(const Turn &turn, const QList<int> &starts)
{
    for (qsizetype i = 0; i < starts.size(); ++i) {
        const auto run = m_running.constFind(turn.ownerOfStart(i));
        if (run == m_running.cend()) // given back meanwhile
            continue;
        Job job = run->job;
        job.starts = starts[i];
        if (job.starts > 0)
            hold(job);
        else
            forget(job);
    }
}

void Worker::onTaken(const TurnAnswer &answer)
{
    if (!answer.lost.isEmpty())
        Q_EMIT jobsLost(answer.lost);
    if (!answer.stalled.isEmpty())
        Q_EMIT jobsStalled(answer.stalled);
    for (TurnAnswer::Taken taken : answer.taken) {
        TIDEKEEPER_FAULT_POINT("queue.taken");
        if (!parse(taken))
            continue;
        if (m_stopping)
            giveBack(std::move(taken.job));
        else if (taken.begun)
            hold(taken.job);
        else
            keepForLater(std::move(taken.job));
    }
}

/// A job whose payload cannot be read never runs: it is a dead letter at once, with its raw bytes.
bool Worker::parse(TurnAnswer::Taken &taken)
{
    QJsonParseError fault;
    const QJsonDocument payload = QJsonDocument::fromJson(taken.payload, &fault);
    if (payload.isObject()) {
        taken.job.payload = payload.object();
        return true;
    }
    JobOutcome dead{JobOutcome::Kind::Dead, -1, u"unparsable"_s,
                    u"The payload is not a JSON object: %1."_s.arg(fault.errorString())};
    end(std::move(taken.job), std::move(dead), 0);
    return false;
}

void Worker::keepForLater(Job job)
{
    m_heartbeat->add(job.id, job.owner);
    const auto firstNormal = std::find_if(m_prefetched.begin(), m_prefetched.end(),
                                          [](const Job &other) { return !other.urgent; });
    m_prefetched.insert(job.urgent ? firstNormal : m_prefetched.end(), std::move(job));
}

} // namespace tidekeeper::queue
