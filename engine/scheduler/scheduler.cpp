// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.h"

#include "core/faultpoint.h"
#include "queue/jobhistory.h"
#include "scheduler/scheduleview.h"

#include <QtCore/QJsonArray>
#include <QtCore/QPointer>

using namespace Qt::StringLiterals;

namespace tidekeeper::scheduler {

namespace {

/// Every wait is cut to this and computed anew, so that no step of a clock, suspend or far tick matters.
constexpr qint64 longestWaitMs = 5'000;
constexpr qint64 stuckMs = 3 * longestWaitMs;
constexpr qint64 retryMs = 1'000;
constexpr int watchMs = 10'000;
constexpr int mostAttempts = 3; // against others who change the same schedule

tl::unexpected<Error> notFound(const QString &id)
{
    return fail(u"not_found"_s, u"There is no schedule \"%1\"."_s.arg(id), {{u"schedule"_s, id}});
}

} // namespace

Scheduler::Scheduler(const Clock &clock, QList<queue::JobQueue *> queues, queue::LeaderLease &lease,
                     QObject *parent)
    : QObject(parent), m_clock(clock), m_lease(lease), m_book(std::move(queues))
{
    m_timer.setSingleShot(true);
    m_watchTimer.setInterval(watchMs);
    connect(&m_timer, &QTimer::timeout, this, &Scheduler::look);
    connect(&m_watchTimer, &QTimer::timeout, this, [this] { watch(); });
    connect(&m_lease, &queue::LeaderLease::acquired, this, [this](qint64 term) { lead(term); });
    connect(&m_lease, &queue::LeaderLease::lost, this, [this] { m_leadingTerm = 0; });
}

// Declaring and changing --------------------------------------------------------------------------------------

Status Scheduler::declare(const QJsonObject &schedule, const QString &plugin)
{
    const Result<> declared = m_book.declare(schedule, plugin);
    if (!declared)
        return declared.error();
    if (m_leadingTerm != 0)
        lead(m_leadingTerm); // reads the nominal time of the new one too
    return Status::success();
}

void Scheduler::restore(const QJsonObject &changes, const QJsonObject &declarations)
{
    const QStringList differ = m_book.restore(changes, declarations, m_clock.nowMs());
    for (const QString &id : differ)
        Q_EMIT changed(id);
    if (!differ.isEmpty())
        wake();
}

QCoro::Task<Result<>> Scheduler::change(QString id, QJsonObject patch, QString actor)
{
    const QPointer<Scheduler> alive(this);
    Result<> kept;
    for (int attempt = 0; alive && attempt < mostAttempts; ++attempt) {
        const ScheduleBook::EntryPointer known = m_book.find(id);
        if (!known)
            co_return notFound(id);
        const Result<QJsonObject> after = ScheduleBook::changed(*known, patch, m_clock.nowMs());
        if (!after)
            co_return fail(after.error());
        if (!m_keeper) {
            m_book.change(id, *after, m_clock.nowMs());
            Q_EMIT changed(id);
            wake();
            co_return Result<>();
        }
        kept = co_await m_keeper->keepChange(id, known->stored, *after, actor);
        if (kept || kept.error().code != u"setting_changed")
            co_return kept;
    }
    co_return fail(u"conflict"_s,
                   u"Others changed the schedule \"%1\" at the same time. Try again."_s.arg(id));
}

QCoro::Task<Result<>> Scheduler::forget(QString id, QString actor)
{
    const ScheduleBook::EntryPointer known = m_book.find(id);
    if (!known)
        co_return notFound(id);
    if (!known->orphaned || known->runsElsewhere(m_clock.nowMs()))
        co_return fail(
            u"schedule_declared"_s,
            u"The schedule \"%1\" is declared by %2, which runs: it can be paused, not forgotten."_s.arg(
                id, known->plugin.isEmpty() ? u"the engine"_s : u"the plugin \"%1\""_s.arg(known->plugin)));
    const QPointer<Scheduler> alive(this);
    Result<> forgotten = co_await known->queue->forgetSchedule(id);
    if (!forgotten || !alive)
        co_return forgotten;
    if (m_keeper)
        forgotten = co_await m_keeper->forget(id, actor);
    else
        m_book.forget(id);
    co_return forgotten;
}

// Firing ------------------------------------------------------------------------------------------------------

void Scheduler::start()
{
    m_running = true;
    m_leaderSeenMs = m_clock.monotonicMs();
    m_watchTimer.start();
    if (m_lease.isHeld())
        lead(m_lease.term());
    look();
}

void Scheduler::stop()
{
    m_running = false;
    m_leadingTerm = 0;
    m_timer.stop();
    m_watchTimer.stop();
}

/// A new leader first makes every queue refuse older terms, then reads where the schedules stand.
QCoro::Task<> Scheduler::lead(qint64 term)
{
    const QPointer<Scheduler> alive(this);
    Result<> known = co_await fence(term);
    if (alive && known)
        known = co_await refreshStates();
    if (!alive || m_lease.term() != term || !m_running)
        co_return;
    if (!known) {
        if (std::exchange(m_leadFault, known.error().code) != known.error().code)
            Q_EMIT leadFailed(known.error());
        QTimer::singleShot(retryMs, this, [this, term] { lead(term); });
        co_return;
    }
    m_leadFault.clear();
    m_leadingTerm = term;
    look();
}

/// Its failure says nothing when the term has ended meanwhile.
QCoro::Task<Result<>> Scheduler::fence(qint64 term)
{
    const QPointer<Scheduler> alive(this);
    const QList<queue::JobQueue *> queues = m_book.queues();
    for (queue::JobQueue *queue : queues) {
        const Result<> fenced = co_await queue->fence(m_lease.name(), term);
        if (alive && m_lease.term() == term && !fenced && fenced.error().code == u"stale_term")
            m_lease.outbid(fenced.error().details[u"term"].toInteger());
        if (!alive || !fenced)
            co_return fenced;
    }
    co_return Result<>();
}

void Scheduler::wake()
{
    if (m_running)
        look();
}

void Scheduler::look()
{
    ++m_looks;
    m_lastLookMs = m_clock.monotonicMs();
    if (m_lease.isAnyoneHolding())
        m_leaderSeenMs = m_lastLookMs;
    m_timer.stop();
    const qint64 now = m_clock.nowMs();
    qint64 wait = longestWaitMs;
    for (const auto &[id, known] : m_book.entries()) {
        const Schedule &schedule = known->schedule;
        if (!isLeading() || schedule.paused || known->orphaned || known->firing || known->afterMs == 0)
            continue;
        const qint64 at = now - schedule.offsetMs;
        known->afterMs = core::countedFromMs(schedule.trigger, known->afterMs, at);
        const auto plan =
            core::planTicks(schedule.trigger, schedule.misfire, schedule.misfireCap, known->afterMs, at);
        if (!plan.fires.isEmpty() || plan.passedOverMs != 0)
            fire(known, plan); // looks again when it ends
        else if (const auto next = schedule.trigger.next(at))
            wait = std::min(wait, *next - at);
    }
    if (isLeading())
        judge();
    lookIn(wait);
}

/// Only ever sooner: what one schedule waits for delays no other.
void Scheduler::lookIn(qint64 ms)
{
    if (m_running && (!m_timer.isActive() || m_timer.remainingTime() > ms))
        m_timer.start(static_cast<int>(std::max<qint64>(ms, 1)));
}

QCoro::Task<> Scheduler::fire(ScheduleBook::EntryPointer known, core::TickPlan plan)
{
    const QPointer<Scheduler> alive(this);
    known->firing = true;
    bool done = true;
    if (plan.passedOverMs != 0)
        done = co_await fireOne(known, plan.passedOverMs, false);
    for (qsizetype i = 0; alive && done && i < plan.fires.size(); ++i)
        done = co_await fireOne(known, plan.fires[i], true);
    known->firing = false;
    if (alive)
        lookIn(done ? 1 : retryMs);
}

/// False when the rest of the plan has lost its ground: it is made anew.
QCoro::Task<bool> Scheduler::fireOne(ScheduleBook::EntryPointer known, qint64 nominalMs, bool runs)
{
    const QPointer<Scheduler> alive(this);
    const QString id = known->schedule.id;
    queue::Fire fire{.schedule = id,
                     .expectedNominalMs = known->state.nominalMs,
                     .nominalMs = nominalMs,
                     .leaseName = m_lease.name(),
                     .term = m_leadingTerm,
                     .queueOne = known->schedule.queueOne,
                     .passedOver = !runs};
    std::optional<queue::JobSpec> job;
    if (runs) {
        job = known->schedule.job;
        job->payload.insert(u"nominal_ms"_s, nominalMs);
    }
    TIDEKEEPER_FAULT_POINT("scheduler.fire");
    const Result<queue::FireResult> result = co_await known->queue->fire(std::move(fire), std::move(job));
    TIDEKEEPER_FAULT_POINT("scheduler.fired");
    if (!alive)
        co_return false;
    if (!result) {
        if (result.error().code == u"stale_term")
            m_lease.outbid(result.error().details[u"term"].toInteger());
        const bool isUnconfirmed = result.error().code == u"not_replicated";
        Q_EMIT fireFailed(id, result.error());
        if (isUnconfirmed)
            co_await learnTick(std::move(known));
        co_return false;
    }
    known->state.nominalMs = result->fired ? nominalMs : result->currentNominalMs;
    known->afterMs = std::max(known->afterMs, known->state.nominalMs);
    if (!result->fired || !runs)
        co_return result->fired;
    known->state.firedAt = m_clock.nowMs();
    known->state.result = result->result;
    known->state.job = result->job;
    known->state.active = true;
    Q_EMIT fired(id, nominalMs, known->state.result);
    co_return true;
}

/// A tick that no replica confirmed is written all the same: waiting for that would hold up all that come after it.
QCoro::Task<> Scheduler::learnTick(ScheduleBook::EntryPointer known)
{
    QStringList ids{known->schedule.id};
    const Result<QList<queue::ScheduleState>> states = co_await known->queue->scheduleStates(std::move(ids));
    if (!states)
        co_return;
    known->state = states->first();
    known->afterMs = std::max(known->afterMs, known->state.nominalMs);
}

QCoro::Task<Result<QJsonObject>> Scheduler::run(QString id)
{
    const ScheduleBook::EntryPointer known = m_book.find(id);
    if (!known)
        co_return notFound(id);
    if (known->orphaned)
        co_return fail(
            u"schedule_orphaned"_s,
            u"The plugin \"%1\", which declares the schedule \"%2\", does not run in this engine."_s.arg(
                known->plugin, id));
    queue::JobSpec job = known->schedule.job;
    job.urgent = true;
    job.schedule = id; // its end is recorded as a run by hand
    const Result<queue::EnqueueResult> result = co_await known->queue->enqueue(std::move(job));
    if (!result)
        co_return fail(result.error());
    co_return QJsonObject{
        {u"job"_s, result->job}, {u"result"_s, result->result}, {u"text"_s, sentenceOfRun(result->result)}};
}

// Watching ----------------------------------------------------------------------------------------------------

QCoro::Task<> Scheduler::watch()
{
    const QPointer<Scheduler> alive(this);
    if (!isLeading())
        co_await refreshStates();
    if (alive)
        judge();
}

/// Without Redis by what was known last: then nothing fires that this engine could know of.
void Scheduler::judge()
{
    for (const auto &[id, known] : m_book.entries())
        judge(*known);
}

void Scheduler::judge(Entry &known)
{
    const Schedule &schedule = known.schedule;
    const qint64 now = m_clock.nowMs();
    std::optional<qint64> due;
    if (!schedule.paused && !known.orphaned && known.afterMs != 0) {
        known.afterMs = core::countedFromMs(schedule.trigger, known.afterMs, now - schedule.offsetMs);
        due = schedule.trigger.next(known.afterMs);
    }
    if (due)
        *due += schedule.offsetMs;
    const Watchdog::News news = m_watchdog.see(schedule.id, due, now, m_clock.monotonicMs());
    if (news == Watchdog::News::Overdue)
        Q_EMIT overdue(schedule.id, *due);
    else if (news == Watchdog::News::Recovered)
        Q_EMIT recovered(schedule.id);
}

// Looking at it -----------------------------------------------------------------------------------------------

QCoro::Task<Result<>> Scheduler::refreshStates()
{
    const QPointer<Scheduler> alive(this);
    const QList<queue::JobQueue *> queues = m_book.queues();
    for (queue::JobQueue *queue : queues) {
        QStringList ids;
        for (const auto &[id, known] : m_book.entries()) {
            if (known->queue == queue)
                ids.append(id);
        }
        if (ids.isEmpty())
            continue;
        const Result<QList<queue::ScheduleState>> states = co_await queue->scheduleStates(ids);
        if (!states)
            co_return fail(states.error());
        if (!alive)
            co_return Result<>();
        for (qsizetype i = 0; i < ids.size(); ++i) {
            const ScheduleBook::EntryPointer known = m_book.find(ids[i]);
            if (known && known->queue == queue)
                known->take(states->at(i), m_clock.nowMs());
        }
    }
    co_return Result<>();
}

QCoro::Task<QJsonObject> Scheduler::list()
{
    const QPointer<Scheduler> alive(this);
    co_await refreshStates();
    QJsonArray schedules;
    if (alive) {
        for (const auto &[id, known] : m_book.entries())
            schedules.append(viewOf(*known, m_clock.nowMs(), m_watchdog.overdueSinceMs(id)));
    }
    co_return QJsonObject{{u"schedules"_s, schedules}};
}

QCoro::Task<Result<QJsonObject>> Scheduler::find(QString id)
{
    const QPointer<Scheduler> alive(this);
    co_await refreshStates();
    const ScheduleBook::EntryPointer known = alive ? m_book.find(id) : nullptr;
    if (!known)
        co_return notFound(id);
    co_return viewOf(*known, m_clock.nowMs(), m_watchdog.overdueSinceMs(id));
}

QCoro::Task<Result<QJsonObject>> Scheduler::runs(QString id, int limit, QString cursor)
{
    const ScheduleBook::EntryPointer known = m_book.find(id);
    if (!known)
        co_return notFound(id);
    queue::JobHistory history(known->queue->name(), known->queue->library());
    const Result<QJsonObject> runs = co_await history.runs(id, limit, cursor);
    co_return runs;
}

Result<QList<qint64>> Scheduler::next(const QString &id, int n) const
{
    const ScheduleBook::EntryPointer known = m_book.find(id);
    if (!known)
        return notFound(id);
    if (n < 1 || n > 1'000)
        return fail(u"invalid_request"_s, u"n must be from 1 to 1,000."_s, {{u"field"_s, u"n"_s}});
    QList<qint64> fires;
    if (known->orphaned)
        return fires;
    const qint64 offset = known->schedule.offsetMs;
    auto tick = known->schedule.trigger.next(m_clock.nowMs() - offset);
    for (; tick && fires.size() < n; tick = known->schedule.trigger.next(*tick))
        fires.append(*tick + offset);
    return fires;
}

QJsonObject Scheduler::health() const
{
    QJsonArray overdue;
    QJsonArray orphaned;
    for (const auto &[id, known] : m_book.entries()) {
        if (m_watchdog.overdueSinceMs(id) != 0)
            overdue.append(id);
        if (known->orphaned && !known->runsElsewhere(m_clock.nowMs()))
            orphaned.append(id);
    }
    const qint64 now = m_clock.monotonicMs();
    const bool isLeaderMissing = !m_lease.isAnyoneHolding() && now - m_leaderSeenMs > 2 * m_lease.ttlMs();
    return {{u"leader"_s, m_lease.isHeld()},
            {u"ready"_s, isLeading()},
            {u"term"_s, m_lease.term()},
            {u"no_leader"_s, m_running && isLeaderMissing},
            {u"looks"_s, m_looks},
            {u"last_look_ms_ago"_s, now - m_lastLookMs},
            {u"stuck"_s, m_running && now - m_lastLookMs > stuckMs},
            {u"overdue"_s, overdue},
            {u"orphaned"_s, orphaned}};
}

} // namespace tidekeeper::scheduler
