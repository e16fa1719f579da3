// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedulebook.h"

#include "core/nearestname.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::scheduler {

namespace {

const QString countsFrom = u"counts_from"_s;

tl::unexpected<Error> unknownQueue(const QString &name, const QList<queue::JobQueue *> &queues)
{
    QStringList names;
    for (const queue::JobQueue *queue : queues)
        names.append(queue->name());
    return fail(u"invalid_request"_s,
                u"\"job.queue\" must be one of \"%1\".%2"_s.arg(names.join(u"\", \""_s),
                                                                core::didYouMean(name, names)),
                {{u"field"_s, u"job.queue"_s}});
}

bool changesRhythm(const QJsonObject &patch)
{
    return patch.contains(u"cron") || patch.contains(u"interval_ms") || patch.contains(u"zone")
        || patch.contains(u"paused");
}

} // namespace

qint64 Entry::countsFromMs() const
{
    const qint64 instant = stored[countsFrom].toInteger();
    return instant == 0 ? 0 : instant - schedule.offsetMs;
}

/// Never back behind a tick that is known to have fired, also when Redis has lost it.
void Entry::take(const queue::ScheduleState &read, qint64 nowMs)
{
    if (!firing) // otherwise its own answer is under way and newer
        state = read;
    if (!firstNominalMs)
        firstNominalMs = read.nominalMs;
    if (afterMs == 0)
        afterMs = read.nominalMs != 0 ? read.nominalMs : nowMs;
    afterMs = std::max({afterMs, read.nominalMs, std::min(countsFromMs(), nowMs)});
}

bool Entry::runsElsewhere(qint64 nowMs) const
{
    if (!orphaned || !firstNominalMs || state.nominalMs == *firstNominalMs || schedule.paused)
        return false;
    const auto next = schedule.trigger.next(state.nominalMs);
    return !next || nowMs - schedule.offsetMs - *next <= core::punctualMs;
}

Result<ScheduleBook::EntryPointer> ScheduleBook::read(const QJsonObject &schedule,
                                                      const QString &plugin) const
{
    auto sound = Schedule::fromJson(schedule);
    if (!sound)
        return fail(sound.error());
    const auto queue = std::find_if(m_queues.begin(), m_queues.end(), [&](const queue::JobQueue *each) {
        return each->name() == sound->queue;
    });
    if (queue == m_queues.end())
        return unknownQueue(sound->queue, m_queues);
    return std::make_shared<Entry>(
        Entry{.plugin = plugin, .declared = schedule, .schedule = std::move(*sound), .queue = *queue});
}

Result<> ScheduleBook::declare(QJsonObject schedule, const QString &plugin)
{
    QJsonObject job = schedule[u"job"].toObject();
    if (!job.isEmpty() && !job.contains(u"queue")) {
        job.insert(u"queue"_s, (plugin.isEmpty() ? m_queues.first() : m_queues.last())->name());
        schedule.insert(u"job"_s, job);
    }
    const Result<EntryPointer> made = read(schedule, plugin);
    if (!made)
        return fail(made.error());
    const QString id = (*made)->schedule.id;
    const EntryPointer known = find(id);
    const bool isEnginesOwn = plugin.isEmpty() && known && !known->plugin.isEmpty();
    if (known && !known->orphaned && !isEnginesOwn)
        return fail(u"already_declared"_s, u"The schedule \"%1\" exists already."_s.arg(id));
    apply(**made, m_changes[id].toObject(), 0);
    m_entries[id] = *made;
    return {};
}

void ScheduleBook::withdraw(const QString &plugin)
{
    for (const auto &[id, known] : m_entries) {
        if (known->plugin == plugin && !plugin.isEmpty())
            known->orphaned = true;
    }
}

QJsonObject ScheduleBook::declarations() const
{
    QJsonObject declarations;
    for (const auto &[id, known] : m_entries) {
        if (!known->plugin.isEmpty() && !known->orphaned)
            declarations.insert(id,
                                QJsonObject{{u"plugin"_s, known->plugin}, {u"schedule"_s, known->declared}});
    }
    return declarations;
}

QStringList ScheduleBook::restore(const QJsonObject &changes, const QJsonObject &declarations, qint64 nowMs)
{
    m_changes = changes;
    for (auto each = declarations.begin(); each != declarations.end(); ++each) {
        if (find(each.key()))
            continue;
        const QJsonObject kept = each->toObject();
        const Result<EntryPointer> orphan = read(kept[u"schedule"].toObject(), kept[u"plugin"].toString());
        if (!orphan || (*orphan)->schedule.id != each.key())
            continue; // written by a newer version; it says so itself when its plugin is back
        (*orphan)->orphaned = true;
        m_entries[each.key()] = *orphan;
    }
    std::erase_if(m_entries, [&](const auto &each) { // forgotten, here or by another engine
        return each.second->orphaned && !declarations.contains(each.first);
    });
    QStringList differ;
    for (const auto &[id, known] : m_entries) {
        if (apply(*known, changes[id].toObject(), nowMs))
            differ.append(id);
    }
    return differ;
}

/// A change that no longer fits the declaration is left aside, and said, rather than stopping the schedule.
bool ScheduleBook::apply(Entry &entry, const QJsonObject &stored, qint64 nowMs)
{
    if (stored == entry.stored)
        return false;
    entry.stored = stored;
    QJsonObject change = stored;
    change.remove(countsFrom);
    auto effective = Schedule::fromJson(withChange(entry.declared, change));
    entry.misfit = effective ? QString() : effective.error().text;
    if (!effective) {
        change = {};
        effective = Schedule::fromJson(entry.declared);
    }
    entry.change = change;
    entry.schedule = std::move(*effective);
    if (entry.afterMs != 0)
        entry.afterMs = std::max(entry.afterMs, std::min(entry.countsFromMs(), nowMs));
    return true;
}

Result<QJsonObject> ScheduleBook::changed(const Entry &entry, const QJsonObject &patch, qint64 nowMs)
{
    if (const Result<> allowed = checkPatch(patch); !allowed)
        return fail(allowed.error());
    // What does not fit is not kept any longer: it would refuse each further change.
    QJsonObject change = withPatch(entry.misfit.isEmpty() ? entry.stored : entry.change, patch);
    change.remove(countsFrom);
    if (const auto sound = Schedule::fromJson(withChange(entry.declared, change)); !sound)
        return fail(sound.error());
    if (changesRhythm(patch))
        change.insert(countsFrom, nowMs);
    else if (entry.stored.contains(countsFrom))
        change.insert(countsFrom, entry.stored[countsFrom]);
    return change;
}

void ScheduleBook::change(const QString &id, const QJsonObject &stored, qint64 nowMs)
{
    m_changes.insert(id, stored);
    if (const EntryPointer known = find(id))
        apply(*known, stored, nowMs);
}

void ScheduleBook::forget(const QString &id)
{
    m_changes.remove(id);
    m_entries.erase(id);
}

ScheduleBook::EntryPointer ScheduleBook::find(const QString &id) const
{
    const auto found = m_entries.find(id);
    return found == m_entries.end() ? nullptr : found->second;
}

} // namespace tidekeeper::scheduler
