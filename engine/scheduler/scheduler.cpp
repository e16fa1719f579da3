// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.h"

#include "core/faultpoint.h"

#include <QtCore/QJsonArray>
#include <QtCore/QPointer>

using namespace Qt::StringLiterals;

namespace tidekeeper::scheduler {

namespace {

/// Every wait is cut to this and computed anew, so that no step of a clock, suspend or far tick matters.
constexpr qint64 longestWaitMs = 5'000;
constexpr qint64 retryMs = 1'000;

tl::unexpected<Error> notFound(const QString &id)
{
    return fail(u"not_found"_s, u"There is no schedule \"%1\"."_s.arg(id), {{u"schedule"_s, id}});
}

Status unknownQueue(const QString &name, const QList<queue::JobQueue *> &queues)
{
    QStringList names;
    for (const queue::JobQueue *queue : queues)
        names.append(queue->name());
    return Status::failure(u"invalid_request"_s,
                           u"There is no queue \"%1\" for the job of a schedule; there are: %2."_s.arg(
                               name, names.join(u", "_s)),
                           {{u"field"_s, u"job.queue"_s}});
}

} // namespace

struct Scheduler::Entry {
    QJsonObject declared;
    QJsonObject change;
    Schedule schedule;
    queue::JobQueue *queue;
    queue::ScheduleState state; ///< as last known; its nominal time is what the next compare-and-set expects
    qint64 afterMs = 0; ///< ticks after this nominal time are due; 0 = not leading yet
    bool firing = false;
};

Scheduler::Scheduler(const Clock &clock, QList<queue::JobQueue *> queues, queue::LeaderLease &lease,
                     QObject *parent)
    : QObject(parent), m_clock(clock), m_queues(std::move(queues)), m_lease(lease)
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &Scheduler::look);
    connect(&m_lease, &queue::LeaderLease::acquired, this, [this](qint64 term) { lead(term); });
    connect(&m_lease, &queue::LeaderLease::lost, this, [this] { m_leadingTerm = 0; });
}

Scheduler::~Scheduler() = default;

// Declaring and changing --------------------------------------------------------------------------------------

Status Scheduler::declare(const QJsonObject &schedule)
{
    return declare(schedule, m_queues.last());
}

Status Scheduler::declareOwn(const QJsonObject &schedule)
{
    return declare(schedule, m_queues.first());
}

Status Scheduler::declare(QJsonObject schedule, queue::JobQueue *standard)
{
    QJsonObject job = schedule[u"job"].toObject();
    if (!job.isEmpty() && !job.contains(u"queue")) {
        job.insert(u"queue"_s, standard->name());
        schedule.insert(u"job"_s, job);
    }
    auto declared = Schedule::fromJson(schedule);
    if (!declared)
        return declared.error();
    queue::JobQueue *queue = queueNamed(declared->queue);
    if (!queue)
        return unknownQueue(declared->queue, m_queues);
    if (entry(declared->id))
        return Status::failure(u"already_declared"_s,
                               u"The schedule \"%1\" exists already."_s.arg(declared->id));

    // A change that no longer fits the declaration is left aside rather than stopping the schedule.
    const QString id = declared->id;
    QJsonObject change = m_changes[id].toObject();
    const auto merged = withChange(schedule, change);
    auto effective = merged ? Schedule::fromJson(*merged) : Result<Schedule>(fail(merged.error()));
    if (!effective)
        change = {};
    auto made = std::make_unique<Entry>(
        Entry{schedule, change, effective ? std::move(*effective) : std::move(*declared), queue, {}});
    m_entries.emplace(id, std::move(made));
    if (m_leadingTerm != 0)
        lead(m_leadingTerm); // reads the nominal time of the new one too
    return Status::success();
}

void Scheduler::restoreChanges(const QJsonObject &changes)
{
    m_changes = changes;
    for (const auto &[id, known] : m_entries) {
        const QJsonObject change = changes[id].toObject();
        const auto merged = withChange(known->declared, change);
        auto effective = merged ? Schedule::fromJson(*merged) : Result<Schedule>(fail(merged.error()));
        if (!effective)
            continue;
        known->change = change;
        known->schedule = std::move(*effective);
    }
    wake();
}

Result<> Scheduler::change(const QString &id, const QJsonObject &change)
{
    Entry *known = entry(id);
    if (!known)
        return notFound(id);
    QJsonObject whole = known->change;
    if (change.contains(u"cron"))
        whole.remove(u"interval_ms"_s);
    if (change.contains(u"interval_ms"))
        whole.remove(u"cron"_s);
    for (auto field = change.begin(); field != change.end(); ++field)
        whole.insert(field.key(), *field);
    const auto merged = withChange(known->declared, whole);
    if (!merged)
        return fail(merged.error());
    auto effective = Schedule::fromJson(*merged);
    if (!effective)
        return fail(effective.error());
    known->change = whole;
    known->schedule = std::move(*effective);
    if (known->afterMs != 0) // ticks of a pause, or of a rhythm that did not apply yet, were not missed
        known->afterMs = std::max(known->afterMs, m_clock.nowMs() - known->schedule.offsetMs);
    m_changes.insert(id, whole);
    Q_EMIT changed(id, whole);
    wake();
    return {};
}

// Firing ------------------------------------------------------------------------------------------------------

void Scheduler::start()
{
    m_running = true;
    if (m_lease.isHeld())
        lead(m_lease.term());
    look();
}

void Scheduler::stop()
{
    m_running = false;
    m_leadingTerm = 0;
    m_timer.stop();
}

/// A new leader first makes every queue refuse older terms, then reads where the schedules stand.
QCoro::Task<> Scheduler::lead(qint64 term)
{
    const QPointer<Scheduler> alive(this);
    const QList<queue::JobQueue *> queues = m_queues;
    bool known = true;
    for (qsizetype i = 0; known && i < queues.size(); ++i) {
        const Result<> fenced = co_await queues[i]->fence(m_lease.name(), term);
        if (!alive || m_lease.term() != term)
            co_return;
        if (!fenced && fenced.error().code == u"stale_term") {
            m_lease.outbid(fenced.error().details[u"term"].toInteger());
            co_return;
        }
        known = fenced.has_value();
    }
    if (known)
        known = co_await refreshStates();
    if (!alive || m_lease.term() != term || !m_running)
        co_return;
    if (!known) {
        QTimer::singleShot(retryMs, this, [this, term] { lead(term); });
        co_return;
    }
    for (const auto &[id, schedule] : m_entries) {
        if (schedule->afterMs == 0 || m_leadingTerm != term)
            schedule->afterMs = schedule->state.nominalMs != 0 ? schedule->state.nominalMs : m_clock.nowMs();
    }
    m_leadingTerm = term;
    look();
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
    const qint64 now = m_clock.nowMs();
    qint64 wait = longestWaitMs;
    const bool leading = m_leadingTerm != 0 && m_lease.term() == m_leadingTerm;
    for (const auto &[id, known] : m_entries) {
        const Schedule &schedule = known->schedule;
        if (!leading || schedule.paused || known->firing || known->afterMs == 0)
            continue;
        const auto plan = core::planTicks(schedule.trigger, schedule.misfire, schedule.misfireCap,
                                          known->afterMs, now - schedule.offsetMs);
        if (!plan.fires.isEmpty() || plan.passedOverMs != 0)
            fire(known.get(), plan);
        else if (const auto next = schedule.trigger.next(now - schedule.offsetMs))
            wait = std::min(wait, *next + schedule.offsetMs - now);
    }
    if (m_running)
        m_timer.start(static_cast<int>(std::max<qint64>(wait, 1)));
}

QCoro::Task<> Scheduler::fire(Entry *known, core::TickPlan plan)
{
    const QPointer<Scheduler> alive(this);
    known->firing = true;
    bool done = true;
    if (plan.passedOverMs != 0)
        done = co_await fireOne(known, plan.passedOverMs, false);
    for (qsizetype i = 0; alive && done && i < plan.fires.size(); ++i)
        done = co_await fireOne(known, plan.fires[i], true);
    if (!alive)
        co_return;
    known->firing = false;
    if (m_running)
        m_timer.start(static_cast<int>(done ? 1 : retryMs));
}

/// False when the rest of the plan has lost its ground: it is made anew.
QCoro::Task<bool> Scheduler::fireOne(Entry *known, qint64 nominalMs, bool runs)
{
    const QPointer<Scheduler> alive(this);
    const QString id = known->schedule.id;
    queue::Fire fire{
        id, known->state.nominalMs, nominalMs, m_lease.name(), m_leadingTerm, known->schedule.queueOne};
    std::optional<queue::JobSpec> job;
    if (runs)
        job = known->schedule.job;
    if (job)
        job->payload.insert(u"nominal_ms"_s, nominalMs);
    TIDEKEEPER_FAULT_POINT("scheduler.fire");
    const Result<queue::FireResult> result = co_await known->queue->fire(std::move(fire), std::move(job));
    TIDEKEEPER_FAULT_POINT("scheduler.fired");
    if (!alive)
        co_return false;
    if (!result) {
        if (result.error().code == u"stale_term")
            m_lease.outbid(result.error().details[u"term"].toInteger());
        Q_EMIT fireFailed(id, result.error());
        co_return false;
    }
    known->state.nominalMs = result->fired ? nominalMs : result->currentNominalMs;
    known->afterMs = std::max(known->afterMs, known->state.nominalMs);
    if (!result->fired || !runs)
        co_return result->fired;
    known->state.firedAt = m_clock.nowMs();
    known->state.result = result->result;
    known->state.job = result->job;
    Q_EMIT fired(id, nominalMs, known->state.result);
    co_return true;
}

// Asked for by hand -------------------------------------------------------------------------------------------

QCoro::Task<Result<QJsonObject>> Scheduler::run(QString id)
{
    Entry *known = entry(id);
    if (!known)
        co_return notFound(id);
    queue::JobSpec job = known->schedule.job;
    job.urgent = true;
    const Result<queue::EnqueueResult> result = co_await known->queue->enqueue(std::move(job));
    if (!result)
        co_return fail(result.error());
    co_return QJsonObject{{u"job"_s, result->job}, {u"result"_s, result->result}};
}

void Scheduler::runNow(const QString &scheduleId, Reply *reply)
{
    run(scheduleId).then([reply](const Result<QJsonObject> &result) {
        reply->finish(result ? Status::success() : result.error(), result.value_or(QJsonObject()));
    });
}

// Looking at it -----------------------------------------------------------------------------------------------

Scheduler::Entry *Scheduler::entry(const QString &id) const
{
    const auto found = m_entries.find(id);
    return found == m_entries.end() ? nullptr : found->second.get();
}

queue::JobQueue *Scheduler::queueNamed(const QString &name) const
{
    const auto found = std::find_if(m_queues.begin(), m_queues.end(),
                                    [&](const queue::JobQueue *queue) { return queue->name() == name; });
    return found == m_queues.end() ? nullptr : *found;
}

QCoro::Task<bool> Scheduler::refreshStates()
{
    const QPointer<Scheduler> alive(this);
    const QList<queue::JobQueue *> queues = m_queues;
    for (queue::JobQueue *queue : queues) {
        QStringList ids;
        for (const auto &[id, known] : m_entries) {
            if (known->queue == queue)
                ids.append(id);
        }
        if (ids.isEmpty())
            continue;
        const Result<QList<queue::ScheduleState>> states = co_await queue->scheduleStates(ids);
        if (!alive || !states)
            co_return false;
        for (qsizetype i = 0; i < ids.size(); ++i) {
            Entry *known = entry(ids[i]);
            if (!known->firing) // its own answer is under way and newer
                known->state = states->at(i);
        }
    }
    co_return true;
}

qint64 Scheduler::nextFireMs(const Entry &known) const
{
    const auto next = known.schedule.trigger.next(m_clock.nowMs() - known.schedule.offsetMs);
    return next && !known.schedule.paused ? *next + known.schedule.offsetMs : 0;
}

QJsonObject Scheduler::view(const Entry &known) const
{
    QJsonObject view = *withChange(known.declared, known.change);
    view.insert(u"title"_s, known.schedule.title);
    view.insert(u"paused"_s, known.schedule.paused);
    view.insert(u"changed"_s, !known.change.isEmpty());
    view.insert(u"next_at"_s, nextFireMs(known));
    view.insert(u"last_nominal_at"_s, known.state.nominalMs);
    view.insert(u"last_at"_s, known.state.firedAt);
    view.insert(u"last_result"_s, known.state.result);
    view.insert(u"last_job"_s, known.state.job);
    return view;
}

QCoro::Task<QJsonObject> Scheduler::list()
{
    co_await refreshStates();
    QJsonArray schedules;
    for (const auto &[id, known] : m_entries)
        schedules.append(view(*known));
    co_return QJsonObject{{u"schedules"_s, schedules}};
}

QCoro::Task<Result<QJsonObject>> Scheduler::find(QString id)
{
    co_await refreshStates();
    const Entry *known = entry(id);
    if (!known)
        co_return notFound(id);
    co_return view(*known);
}

Result<QList<qint64>> Scheduler::next(const QString &id, int n) const
{
    const Entry *known = entry(id);
    if (!known)
        return notFound(id);
    if (n < 1 || n > 1'000)
        return fail(u"invalid_request"_s, u"n must be from 1 to 1,000."_s, {{u"field"_s, u"n"_s}});
    QList<qint64> fires;
    const qint64 offset = known->schedule.offsetMs;
    auto tick = known->schedule.trigger.next(m_clock.nowMs() - offset);
    for (; tick && fires.size() < n; tick = known->schedule.trigger.next(*tick))
        fires.append(*tick + offset);
    return fires;
}

QJsonObject Scheduler::health() const
{
    QJsonArray overdue;
    const qint64 now = m_clock.nowMs();
    for (const auto &[id, known] : m_entries) {
        const auto due = known->schedule.trigger.next(known->afterMs);
        const bool isLate = due && now - known->schedule.offsetMs - *due > core::punctualMs;
        if (m_leadingTerm != 0 && known->afterMs != 0 && !known->schedule.paused && isLate)
            overdue.append(id);
    }
    return {{u"leader"_s, m_lease.isHeld()},
            {u"ready"_s, m_leadingTerm != 0 && m_lease.term() == m_leadingTerm},
            {u"looks"_s, m_looks},
            {u"term"_s, m_lease.term()},
            {u"last_look_ms_ago"_s, m_clock.monotonicMs() - m_lastLookMs},
            {u"overdue"_s, overdue}};
}

} // namespace tidekeeper::scheduler
