// SPDX-License-Identifier: Apache-2.0
#include "app/queuehealth.h"

#include "app/part.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

QString minutes(qint64 ms)
{
    return u"%1 min"_s.arg(std::max<qint64>(1, ms / 60'000));
}

/// "a, b, c and 4 more"
QString someOf(const QStringList &names)
{
    constexpr qsizetype most = 3;
    const QString first = names.mid(0, most).join(u", "_s);
    return names.size() <= most ? first : u"%1 and %2 more"_s.arg(first).arg(names.size() - most);
}

} // namespace

/// Redis may answer questions and yet take no work: full, read-only, or loading.
QJsonArray queueParts(const QString &queue, const Result<QJsonObject> &counts, bool isTaking)
{
    const QString name = u"queue "_s + queue;
    if (!counts)
        return {part(name, false, false, counts.error().code, counts.error().text)};
    QJsonArray parts;
    if (!isTaking)
        parts.append(
            part(name, false, false, u"queue_unavailable"_s,
                 u"Redis hands out no jobs: it is full, read-only or just starting. Nothing is done."_s));
    const qint64 waitingMs = counts->value("oldest_waiting_ms"_L1).toInteger();
    const qint64 waiting = counts->value("urgent"_L1).toInteger() + counts->value("normal"_L1).toInteger();
    if (isTaking && waitingMs > waitingTooLongMs)
        parts.append(
            part(name, false, true, u"jobs_waiting"_s,
                 u"%1 jobs wait, the oldest for %2: the workers do not keep up. See how long jobs "
                 u"take with tidekeeper queue jobs --queue %3, and run more consumers or engines."_s.arg(
                     QString::number(waiting), minutes(waitingMs), queue)));
    if (const qint64 dead = counts->value("dead"_L1).toInteger(); dead > 0)
        parts.append(part(name, false, true, u"dead_letters"_s,
                          u"Jobs that will not run again by themselves: %1. See tidekeeper queue dead "
                          u"--queue %2, then requeue or discard them."_s.arg(QString::number(dead), queue)));
    if (parts.isEmpty())
        parts.append(sound(name, u"Jobs are taken from the queue."_s));
    return parts;
}

QJsonArray schedulerParts(const QJsonObject &health, const QJsonArray &schedules, qint64 nowMs)
{
    const QString name = u"scheduler"_s;
    QJsonArray parts;
    if (health["no_leader"_L1].toBool())
        parts.append(
            part(name, false, true, u"no_leader"_s,
                 u"No engine holds the lease of the scheduler, so no schedule fires. It is taken "
                 u"within seconds once Redis accepts writes; if this stays, see this engine's log."_s));
    else if (health["leader"_L1].toBool() && !health["ready"_L1].toBool())
        parts.append(part(name, false, true, u"leader_not_ready"_s,
                          u"This engine leads, but Redis does not tell where the schedules stand, so none "
                          u"fires. It goes on asking; if this stays, see this engine's log."_s));
    if (health["stuck"_L1].toBool())
        parts.append(
            part(name, false, false, u"scheduler_stuck"_s,
                 u"This engine's scheduler does not look any more which schedules are due. Restart the "
                 u"engine; another one takes the lead meanwhile."_s));
    QStringList orphans;
    for (const QJsonValue &schedule : schedules) {
        const QString id = schedule["id"_L1].toString();
        if (schedule["orphaned"_L1].toBool())
            orphans.append(id);
        if (const qint64 since = schedule["overdue_since"_L1].toInteger(); since > 0)
            parts.append(
                part(name, false, true, u"schedule_overdue"_s,
                     u"The schedule \"%1\" was due %2 ago and did not run. See tidekeeper schedules show %1; "
                     u"run it by hand with tidekeeper schedules run %1."_s.arg(id, minutes(nowMs - since))));
    }
    if (!orphans.isEmpty())
        parts.append(
            part(name, false, true, u"schedules_orphaned"_s,
                 u"Schedules that no plugin declares any more, so they do not run: %1. Bring the "
                 u"plugin back, or drop them with tidekeeper schedules forget ID."_s.arg(someOf(orphans))));
    if (parts.isEmpty())
        parts.append(sound(name, u"Schedules run when they are due."_s));
    return parts;
}

} // namespace tidekeeper::app
