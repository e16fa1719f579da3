// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduleview.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::scheduler {

namespace {

QString sentenceOfOrphan(const Entry &entry, qint64 nowMs)
{
    if (!entry.orphaned)
        return {};
    if (entry.runsElsewhere(nowMs))
        return u"The plugin \"%1\", which declares it, does not run in this engine; another engine fires it."_s
            .arg(entry.plugin);
    return u"The plugin \"%1\", which declared it, does not run in this engine, and no other engine was seen "
           u"to "
           u"fire it. Bring the plugin back, or forget the schedule."_s.arg(entry.plugin);
}

} // namespace

qint64 nextFireMs(const Entry &entry, qint64 nowMs)
{
    const Schedule &schedule = entry.schedule;
    if (schedule.paused || entry.orphaned)
        return 0;
    const auto next = schedule.trigger.next(nowMs - schedule.offsetMs);
    return next ? *next + schedule.offsetMs : 0;
}

QJsonObject viewOf(const Entry &entry, qint64 nowMs, qint64 overdueSinceMs)
{
    const queue::ScheduleState &state = entry.state;
    const QJsonObject standing{
        {u"plugin"_s, entry.plugin},
        {u"changed"_s, !entry.change.isEmpty()},
        {u"misfit"_s, entry.misfit},
        {u"jitter_offset_ms"_s, entry.schedule.offsetMs},
        {u"next_at"_s, nextFireMs(entry, nowMs)},
        {u"running"_s, state.active},
        {u"last_nominal_at"_s, state.nominalMs},
        {u"last_at"_s, state.firedAt},
        {u"last_result"_s, state.result},
        {u"last_job"_s, state.job},
        {u"last_run"_s, state.lastRun},
        {u"overdue_since"_s, overdueSinceMs},
        {u"orphaned"_s, entry.orphaned && !entry.runsElsewhere(nowMs)},
        {u"orphaned_text"_s, sentenceOfOrphan(entry, nowMs)},
    };
    QJsonObject view = withDefaults(withChange(entry.declared, entry.change));
    for (auto field = standing.begin(); field != standing.end(); ++field)
        view.insert(field.key(), *field);
    return view;
}

QString sentenceOfRun(const QString &result)
{
    static const QHash<QString, QString> sentences{
        {u"added"_s, u"It runs as soon as a worker is free."_s},
        {u"promoted"_s, u"It was waiting already, and is now the first to run."_s},
        {u"waiting"_s, u"It is waiting already, and runs as soon as a worker is free."_s},
        {u"delayed"_s, u"It is held back already by a failure or a limit, and runs when that ends."_s},
        {u"running"_s, u"It is running already; no second run was queued."_s},
    };
    return sentences.value(result);
}

} // namespace tidekeeper::scheduler
