// SPDX-License-Identifier: Apache-2.0
// The second half of Worker: how jobs run and end, and how the worker stops.
#include "queue/worker.h"

#include "core/faultpoint.h"
#include "core/retry.h"
#include "log/redact.h"
#include "queue/queuecall.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QDeadlineTimer>
#include <QtCore/QPointer>
#include <QtCore/QRandomGenerator>

#include <chrono>

using namespace Qt::StringLiterals;
using namespace std::chrono_literals;

namespace tidekeeper::queue {

namespace {

constexpr int lastAnswerMs = 2'000;
constexpr int runsInARow = 16;

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

// Running ---------------------------------------------------------------------------------------------------

/// Its lease is kept from now on, however long the handlers before it block this thread.
void Worker::hold(const Job &job)
{
    m_heartbeat->add(job.id, job.owner);
    Run started{job, {}};
    started.since.start();
    m_running.insert(job.owner, started);
    m_ready.append(job.owner);
}

/// A few at a time, so that Redis can work on what they ended while the next ones run.
void Worker::runReady()
{
    for (int i = 0; i < runsInARow && !m_ready.isEmpty(); ++i) {
        const auto ready = m_running.constFind(m_ready.takeFirst());
        if (ready != m_running.cend()) // not given back meanwhile
            run(*ready);
    }
    if (!m_ready.isEmpty())
        QMetaObject::invokeMethod(this, &Worker::runReady, Qt::QueuedConnection);
}

/// It is not ours to run, or to end, any more.
void Worker::forget(const Job &job)
{
    m_running.remove(job.owner);
    if (m_alone == job.owner)
        m_alone.clear();
    if (m_heartbeat)
        m_heartbeat->remove(job.id, job.owner);
}

QCoro::Task<> Worker::run(Run run)
{
    const QPointer<Worker> alive(this);
    const Job job = run.job;
    TIDEKEEPER_FAULT_POINT("queue.started");
    JobOutcome outcome = co_await outcomeOf(job);
    if (!alive || !m_running.contains(job.owner)) // given back, or let go, while it ran
        co_return;
    TIDEKEEPER_FAULT_POINT("queue.worked");
    const qint64 durationMs = run.since.elapsed();
    if (outcome.kind == JobOutcome::Kind::Done) {
        ++m_ending;
        m_done.append({job, durationMs});
        m_running.remove(job.owner);
        if (m_alone == job.owner)
            m_alone.clear();
    } else {
        co_await end(job, std::move(outcome), durationMs);
        if (!alive)
            co_return;
        forget(job);
    }
    turnSoon();
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

// Ending ----------------------------------------------------------------------------------------------------

/// Any end but "done", which goes with a turn.
QCoro::Task<> Worker::end(Job job, JobOutcome outcome, qint64 durationMs)
{
    using Kind = JobOutcome::Kind;
    const QPointer<Worker> alive(this);
    const QByteArray maxAge = QByteArray::number(m_options.maxAgeMs);
    const QByteArray errorClass = outcome.errorClass.isEmpty() ? "unknown" : outcome.errorClass.toUtf8();
    const QByteArray errorText = log::redact(outcome.errorText).toUtf8(); // it is kept, and shown
    QByteArray function = "tidekeeper_put_back_v1";
    QList<QByteArray> arguments{job.id.toUtf8(), job.owner};
    if (outcome.kind == Kind::Retry) {
        function = "tidekeeper_retry_v1";
        arguments << QByteArray::number(waitOf(outcome, job.attempts)) << maxAge << errorClass << errorText;
    } else if (outcome.kind == Kind::Defer) {
        function = "tidekeeper_defer_v1";
        arguments << QByteArray::number(waitOf(outcome, job.deferrals)) << maxAge << errorClass << errorText;
    } else if (outcome.kind == Kind::Dead) {
        function = "tidekeeper_bury_v1";
        arguments << errorClass << errorText;
    } else {
        arguments << QByteArray::number(std::max<qint64>(outcome.afterMs, 0));
    }
    const Result<redis::Value> reply = co_await endCall(function, arguments);
    TIDEKEEPER_FAULT_POINT("queue.ended");
    if (!alive)
        co_return;
    const qint64 answer = reply ? reply->toInteger() : 0;
    QString kind = kindText(outcome.kind);
    if (answer == 0)
        kind = u"taken_over"_s;
    else if (answer == 2) // too old to be tried again
        kind = u"dead"_s;
    Q_EMIT jobEnded(job, kind, durationMs);
}

QCoro::Task<> Worker::endAlone(Done done)
{
    const QPointer<Worker> alive(this);
    QList<QByteArray> arguments{done.job.id.toUtf8(), done.job.owner};
    const Result<redis::Value> reply = co_await endCall("tidekeeper_ack_v1", std::move(arguments));
    if (!alive)
        co_return;
    onEnded(done, reply && reply->toInteger() == 1);
    turnSoon();
}

void Worker::onEnded(const Done &done, bool isOurs)
{
    TIDEKEEPER_FAULT_POINT("queue.ended");
    --m_ending;
    if (m_heartbeat)
        m_heartbeat->remove(done.job.id, done.job.owner);
    Q_EMIT jobEnded(done.job, isOurs ? u"done"_s : u"taken_over"_s, done.durationMs);
}

/// An end that Redis did not answer is said again while the lease may still be ours: the functions refuse a
/// second end of the same owner.
QCoro::Task<Result<redis::Value>> Worker::endCall(QByteArray function, QList<QByteArray> arguments)
{
    const QPointer<Worker> alive(this);
    const QDeadlineTimer giveUp(3LL * m_options.leaseMs);
    for (;;) {
        TIDEKEEPER_FAULT_POINT("queue.end.sent");
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
    m_hungTimer.stop();
    m_reapTimer.stop();
    if (m_waiter)
        m_waiter->close();
    const QDeadlineTimer grace(graceMs);
    const QDeadlineTimer takenAnswer(lastAnswerMs);
    while (m_turns > 0 && !takenAnswer.hasExpired())
        co_await QCoro::sleepFor(5ms);
    for (const QList<Job> prefetched = std::exchange(m_prefetched, {}); const Job &job : prefetched)
        co_await giveBack(job);
    while (!m_running.isEmpty() && !grace.hasExpired())
        co_await QCoro::sleepFor(20ms);
    for (const QHash<QByteArray, Run> running = std::exchange(m_running, {}); const Run &run : running)
        co_await giveBack(run.job);
    const QDeadlineTimer endAnswer(lastAnswerMs);
    while (m_ending > 0 && !endAnswer.hasExpired())
        co_await QCoro::sleepFor(5ms);
    m_heartbeat.reset();
    QList<QByteArray> arguments{m_consumer};
    co_await callFunction(m_library, "tidekeeper_leave_v1", m_prefix, std::move(arguments));
}

QCoro::Task<> Worker::giveBack(Job job)
{
    if (m_heartbeat)
        m_heartbeat->remove(job.id, job.owner);
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
