// SPDX-License-Identifier: Apache-2.0
#include "queue/worker.h"

#include "core/retry.h"
#include "queue/queuecall.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QDeadlineTimer>
#include <QtCore/QElapsedTimer>
#include <QtCore/QJsonDocument>
#include <QtCore/QPointer>
#include <QtCore/QRandomGenerator>

#include <chrono>

using namespace Qt::StringLiterals;
using namespace std::chrono_literals;

namespace tidekeeper::queue {

namespace {

constexpr int retryLookMs = 250;
constexpr int callTimeoutMs = 2'000;

QStringList texts(const redis::Value &array)
{
    QStringList list;
    for (const redis::Value &item : array.items)
        list.append(QString::fromUtf8(item.text));
    return list;
}

/// One job as tidekeeper_take_v1 gives it; the payload is parsed apart.
Job jobFrom(const redis::Value &fields)
{
    const auto &f = fields.items;
    Job job;
    job.id = QString::fromUtf8(f[0].text);
    job.owner = f[1].text;
    job.type = QString::fromUtf8(f[2].text);
    job.dedupeKey = QString::fromUtf8(f[4].text);
    job.starts = static_cast<int>(f[5].toInteger());
    job.attempts = static_cast<int>(f[6].toInteger());
    job.deferrals = static_cast<int>(f[7].toInteger());
    job.enqueuedAt = f[8].toInteger();
    job.urgent = f[9].text == "urgent";
    return job;
}

QString kindText(JobOutcome::Kind kind)
{
    switch (kind) {
    case JobOutcome::Kind::Done:
        return u"done"_s;
    case JobOutcome::Kind::Retry:
        return u"retry"_s;
    case JobOutcome::Kind::Defer:
        return u"defer"_s;
    case JobOutcome::Kind::Release:
        return u"release"_s;
    case JobOutcome::Kind::Dead:
        return u"dead"_s;
    }
    return {};
}

qint64 waitOf(const JobOutcome &outcome, int failuresBefore)
{
    if (outcome.afterMs >= 0)
        return outcome.afterMs;
    return core::jitteredMs(core::backOffMs(failuresBefore + 1),
                            QRandomGenerator::global()->generateDouble());
}

} // namespace

Worker::Worker(QString queue, redis::Endpoint endpoint, redis::FunctionLibrary &library,
               WorkerOptions options, QObject *parent)
    : QObject(parent), m_queue(std::move(queue)), m_prefix(queuePrefix(m_queue)), m_consumer(randomToken()),
      m_endpoint(std::move(endpoint)), m_library(library), m_options(options)
{
    m_lookTimer.setSingleShot(true);
    connect(&m_lookTimer, &QTimer::timeout, this, &Worker::look);
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
    look();
}

// Looking for work ------------------------------------------------------------------------------------------

/// One round: take what there is room for; when that was less than asked for, wait for more and look again.
void Worker::look()
{
    const int room =
        m_options.consumers * m_options.prefetch - static_cast<int>(m_running.size() + m_prefetched.size());
    if (m_stopping || m_looking || room <= 0)
        return;
    m_looking = true;
    m_lookTimer.stop();
    const QList<QByteArray> arguments{m_consumer, QByteArray::number(room),
                                      QByteArray::number(m_options.leaseMs),
                                      QByteArray::number(m_options.maxStarts), randomToken()};
    const QPointer<Worker> self(this);
    m_library.call(
        "tidekeeper_take_v1", {m_prefix}, arguments,
        [self, room](const Result<redis::Value> &reply) {
            if (self)
                self->onTaken(reply, room);
        },
        callTimeoutMs);
}

void Worker::onTaken(const Result<redis::Value> &reply, int asked)
{
    m_looking = false;
    m_taking = reply && !reply->isError() && reply->items.size() == 5;
    if (!m_taking)
        return lookIn(retryLookMs);
    const auto &[jobs, dueIn, seen, lost, stalled] =
        std::tie(reply->items[0], reply->items[1], reply->items[2], reply->items[3], reply->items[4]);
    for (const redis::Value &fields : jobs.items)
        accept(fields);
    if (!lost.items.isEmpty())
        Q_EMIT jobsLost(texts(lost));
    if (!stalled.items.isEmpty())
        Q_EMIT jobsStalled(texts(stalled));
    startPrefetched();
    if (jobs.items.size() == asked)
        return look();
    if (dueIn.toInteger() >= 0 && dueIn.toInteger() < m_options.longestWaitMs)
        lookIn(static_cast<int>(dueIn.toInteger()));
    waitForWork(seen);
}

void Worker::accept(const redis::Value &fields)
{
    Job job = jobFrom(fields);
    QJsonParseError fault;
    const QJsonDocument payload = QJsonDocument::fromJson(fields.items[3].text, &fault);
    if (!payload.isObject()) {
        JobOutcome dead{JobOutcome::Kind::Dead, -1, u"unparsable"_s,
                        u"The payload is not a JSON object: %1."_s.arg(fault.errorString())};
        end(std::move(job), std::move(dead), 0);
        return;
    }
    job.payload = payload.object();
    m_heartbeat->add(job.id, job.owner);
    const auto firstNormal = std::find_if(m_prefetched.begin(), m_prefetched.end(),
                                          [](const Job &other) { return !other.urgent; });
    m_prefetched.insert(job.urgent ? firstNormal : m_prefetched.end(), std::move(job));
}

/// Blocks until an entry is added to one of the streams. Redis ends such waits up to 100 ms late, so what is due
/// at a known time is left to the timer.
void Worker::waitForWork(const redis::Value &seen)
{
    if (m_blocked || m_stopping)
        return;
    m_blocked = true;
    QList<QByteArray> command{"XREAD",  "COUNT", "1", "BLOCK", QByteArray::number(m_options.longestWaitMs),
                              "STREAMS"};
    command << m_prefix + ":stream:urgent" << m_prefix + ":stream:normal" << m_prefix + ":wake";
    for (const redis::Value &id : seen.items)
        command << id.text;
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

void Worker::lookIn(int ms)
{
    if (!m_stopping)
        m_lookTimer.start(ms);
}

// Running ---------------------------------------------------------------------------------------------------

/// A job that was running when a worker ended may be what ended it: it runs alone, so that it takes no neighbour
/// with it to the dead letters.
void Worker::startPrefetched()
{
    while (!m_stopping && !m_prefetched.isEmpty() && m_running.size() < m_options.consumers) {
        const bool isSuspect = m_prefetched.first().starts > 0;
        if (!m_alone.isEmpty() || (isSuspect && !m_running.isEmpty()))
            return;
        Job job = m_prefetched.takeFirst();
        if (isSuspect)
            m_alone = job.id;
        m_running.insert(job.id, job);
        run(std::move(job));
    }
}

QCoro::Task<> Worker::run(Job job)
{
    const QPointer<Worker> alive(this);
    const QByteArray claim = std::exchange(job.owner, randomToken());
    m_heartbeat->add(job.id, claim, job.owner);
    QList<QByteArray> arguments{job.id.toUtf8(), claim, job.owner, QByteArray::number(m_options.leaseMs)};
    const Result<redis::Value> started =
        co_await callFunction(m_library, "tidekeeper_start_v1", m_prefix, std::move(arguments));
    if (!alive)
        co_return;
    const bool isOurs = started && started->items.value(0).toInteger() == 1;
    if (isOurs && m_running.contains(job.id)) {
        job.starts = static_cast<int>(started->items.value(1).toInteger());
        m_running.insert(job.id, job);
        m_heartbeat->add(job.id, job.owner);
        QElapsedTimer timer;
        timer.start();
        JobOutcome outcome = co_await outcomeOf(job);
        if (!alive || !m_running.contains(job.id)) // given back while it ran
            co_return;
        co_await end(job, std::move(outcome), timer.elapsed());
        if (!alive)
            co_return;
    }
    // Without an answer, or when it is another's now, the lease decides.
    m_running.remove(job.id);
    if (m_alone == job.id)
        m_alone.clear();
    if (m_heartbeat)
        m_heartbeat->remove(job.id);
    startPrefetched();
    if (!m_blocked) // otherwise the queue is empty, and says so when it no longer is
        look();
}

QCoro::Task<JobOutcome> Worker::outcomeOf(Job job)
{
    const auto handler = m_handlers.constFind(job.type);
    if (handler == m_handlers.constEnd())
        co_return JobOutcome{JobOutcome::Kind::Defer, 60'000, u"no_handler"_s,
                             u"No plugin of this engine runs jobs of the type \"%1\"."_s.arg(job.type)};
    JobOutcome outcome;
    try {
        outcome = co_await (*handler)(std::move(job));
    } catch (const std::exception &fault) {
        outcome = {JobOutcome::Kind::Retry, -1, u"internal"_s, QString::fromUtf8(fault.what())};
    }
    co_return outcome;
}

QCoro::Task<> Worker::end(Job job, JobOutcome outcome, qint64 durationMs)
{
    using Kind = JobOutcome::Kind;
    const QPointer<Worker> alive(this);
    const QByteArray maxAge = QByteArray::number(m_options.maxAgeMs);
    const QByteArray errorClass = outcome.errorClass.isEmpty() ? "unknown" : outcome.errorClass.toUtf8();
    const QByteArray errorText = outcome.errorText.toUtf8();
    QByteArray function = "tidekeeper_ack_v1";
    QList<QByteArray> arguments{job.id.toUtf8(), job.owner};
    if (outcome.kind == Kind::Retry) {
        function = "tidekeeper_retry_v1";
        arguments << QByteArray::number(waitOf(outcome, job.attempts)) << maxAge << errorClass << errorText;
    } else if (outcome.kind == Kind::Defer) {
        function = "tidekeeper_defer_v1";
        arguments << QByteArray::number(waitOf(outcome, job.deferrals)) << maxAge << errorClass << errorText;
    } else if (outcome.kind == Kind::Release) {
        function = "tidekeeper_put_back_v1";
        arguments << QByteArray::number(std::max<qint64>(outcome.afterMs, 0));
    } else if (outcome.kind == Kind::Dead) {
        function = "tidekeeper_bury_v1";
        arguments << errorClass << errorText;
    }
    const Result<redis::Value> reply = co_await endCall(function, arguments);
    if (!alive)
        co_return;
    const bool counted = reply && reply->toInteger() == 1;
    Q_EMIT jobEnded(job, counted ? kindText(outcome.kind) : u"taken_over"_s, durationMs);
}

/// An end that Redis did not answer is said again while the lease may still be ours: the functions refuse a
/// second end of the same owner.
QCoro::Task<Result<redis::Value>> Worker::endCall(QByteArray function, QList<QByteArray> arguments)
{
    const QPointer<Worker> alive(this);
    const QDeadlineTimer giveUp(3LL * m_options.leaseMs);
    for (;;) {
        Result<redis::Value> reply = co_await callFunction(m_library, function, m_prefix, arguments);
        if (reply || !alive || giveUp.hasExpired() || reply.error().code == u"functions_refused")
            co_return reply;
        co_await QCoro::sleepFor(200ms);
        if (!alive)
            co_return reply;
    }
}

// Stopping and housekeeping -----------------------------------------------------------------------------------

QCoro::Task<> Worker::stop(int graceMs)
{
    m_stopping = true;
    m_lookTimer.stop();
    m_reapTimer.stop();
    if (m_waiter)
        m_waiter->close();
    const QDeadlineTimer grace(graceMs);
    const QDeadlineTimer lastAnswer(callTimeoutMs);
    while (m_looking && !lastAnswer.hasExpired())
        co_await QCoro::sleepFor(5ms);
    for (const QList<Job> prefetched = std::exchange(m_prefetched, {}); const Job &job : prefetched)
        co_await giveBack(job);
    while (!m_running.isEmpty() && !grace.hasExpired())
        co_await QCoro::sleepFor(20ms);
    for (const QHash<QString, Job> running = std::exchange(m_running, {}); const Job &job : running)
        co_await giveBack(job);
    m_heartbeat.reset();
    QList<QByteArray> arguments{m_consumer};
    co_await callFunction(m_library, "tidekeeper_leave_v1", m_prefix, std::move(arguments));
}

QCoro::Task<> Worker::giveBack(Job job)
{
    m_heartbeat->remove(job.id);
    QList<QByteArray> arguments{job.id.toUtf8(), job.owner, "0"};
    co_await callFunction(m_library, "tidekeeper_put_back_v1", m_prefix, std::move(arguments));
}

QCoro::Task<> Worker::reap()
{
    const QPointer<Worker> alive(this);
    QList<QByteArray> arguments{m_reapCursor, QByteArray::number(3 * m_options.leaseMs)};
    const Result<redis::Value> reply =
        co_await callFunction(m_library, "tidekeeper_reap_v1", m_prefix, std::move(arguments));
    if (!alive || !reply || reply->items.size() != 4)
        co_return;
    m_reapCursor = reply->items[0].text;
    const int orphanKeys = static_cast<int>(reply->items[1].toInteger());
    const int recovered = static_cast<int>(reply->items[2].toInteger());
    if (orphanKeys > 0 || recovered > 0)
        Q_EMIT reaped(orphanKeys, recovered);
}

} // namespace tidekeeper::queue
