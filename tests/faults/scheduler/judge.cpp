// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include "queue/jobqueue.h"

#include <QtCore/QJsonDocument>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

const QString byHand = u"by-hand"_s; // a schedule and its jobs
const QString staleTerm = u"stale_term"_s;

} // namespace

const QStringList queueNames{u"renew"_s, u"plugins"_s};

QByteArray queuePrefix(const QString &queue)
{
    return "tk:{q:" + queue.toLatin1() + '}';
}

QJsonObject secondly(const QString &id, const QString &queue)
{
    return {{u"id"_s, id},
            {u"interval_ms"_s, 1'000},
            {u"misfire"_s, u"each"_s},
            {u"misfire_cap"_s, 1'000},
            {u"job"_s, QJsonObject{{u"type"_s, id}, {u"queue"_s, queue}, {u"dedupe"_s, QString()}}}};
}

QMap<qint64, int> jobsByNominalMs(Fleet &fleet, const QString &queue, const QString &schedule)
{
    QMap<qint64, int> jobs;
    for (const char *const lane : {"urgent", "normal"}) {
        const redis::Value entries =
            fleet.command({"XRANGE", queuePrefix(queue) + ":stream:" + lane, "-", "+"});
        for (const redis::Value &entry : entries.items) {
            const QByteArray key = queuePrefix(queue) + ":job:" + entry.items[1].items[1].text;
            const redis::Value job = fleet.command({"HMGET", key, "type", "payload"});
            if (job.items.size() != 2 || job.items[0].text != schedule.toUtf8())
                continue;
            const QJsonObject payload = QJsonDocument::fromJson(job.items[1].text).object();
            ++jobs[payload["nominal_ms"_L1].toInteger()];
        }
    }
    return jobs;
}

QStringList judgeTicks(const QMap<qint64, int> &jobs, int ticks, qint64 fromMs, qint64 untilMs)
{
    if (jobs.isEmpty())
        return {u"not one tick"_s};
    QStringList faults;
    const qint64 first = jobs.firstKey();
    const qint64 last = std::max(jobs.lastKey(), first + (ticks - 1) * 1'000);
    if (first < fromMs || jobs.lastKey() > untilMs)
        faults.append(u"a tick of another time than the run's: %1 to %2"_s.arg(first).arg(jobs.lastKey()));
    int missing = 0, doubled = 0;
    for (qint64 tick = first; tick <= last; tick += 1'000) {
        missing += jobs.value(tick) == 0;
        doubled += std::max(jobs.value(tick) - 1, 0);
    }
    if (missing > 0)
        faults.append(u"%1 ticks without a job"_s.arg(missing));
    if (doubled > 0)
        faults.append(u"%1 jobs too many for a tick"_s.arg(doubled));
    if (jobs.size() + missing != (last - first) / 1'000 + 1)
        faults.append(u"ticks between the seconds"_s);
    return faults;
}

QStringList judgeCommands(const CommandLog &commands)
{
    QStringList faults;
    QMap<QByteArray, qint64> newest;
    for (const CommandLog::Fire &fire : commands.fires()) {
        const QString what = u"%1 of %2 with term %3"_s.arg(QString::fromLatin1(fire.schedule))
                                 .arg(fire.nominalMs)
                                 .arg(fire.term);
        if (fire.isStale && (fire.moved || fire.enqueued > 0))
            faults.append(u"an old term fired: "_s + what);
        if (!fire.moved && fire.enqueued > 0)
            faults.append(u"a job without its tick: "_s + what);
        if (!fire.moved)
            continue;
        qint64 &last = newest[fire.schedule];
        if (fire.nominalMs <= last)
            faults.append(u"fired again: "_s + what);
        last = std::max(last, fire.nominalMs);
    }
    return faults;
}

QStringList replayOldTerms(Fleet &fleet, const QList<qint64> &terms)
{
    QStringList faults;
    redis::FunctionLibrary library(fleet.connection(), "tidekeeper_queue", queue::libraryCode());
    for (const QString &name : queueNames) {
        queue::JobQueue queue(name, library);
        for (const qint64 term : terms.mid(0, terms.size() - 1)) {
            queue::JobSpec job;
            job.type = byHand;
            job.leaseName = u"scheduler"_s;
            job.term = term;
            queue::Fire fire;
            fire.schedule = byHand;
            fire.nominalMs = 1'000;
            fire.leaseName = job.leaseName;
            fire.term = term;
            const auto fired = QCoro::waitFor(queue.fire(fire, job));
            const auto enqueued = QCoro::waitFor(queue.enqueue(job));
            if (fired || fired.error().code != staleTerm)
                faults.append(u"%1 let the old term %2 fire"_s.arg(name).arg(term));
            if (enqueued || enqueued.error().code != staleTerm)
                faults.append(u"%1 let the old term %2 enqueue"_s.arg(name).arg(term));
        }
        if (!jobsByNominalMs(fleet, name, byHand).isEmpty()
            || fleet.command({"EXISTS", queuePrefix(name) + ":schedule:" + byHand.toUtf8()}).toInteger() != 0)
            faults.append(u"an old term left something behind in "_s + name);
    }
    return faults;
}

QStringList judgeEvents(Fleet &fleet)
{
    static const QStringList codes{staleTerm, u"redis_unavailable"_s, u"redis_timeout"_s, u"redis_closed"_s};
    QStringList faults;
    QMap<qint64, int> leaders; // by term
    for (int i = 0; i < fleet.engineCount(); ++i) {
        for (const QJsonObject &event : fleet.engine(i).events()) {
            const QString kind = event["event"_L1].toString();
            if (kind == u"refused" && !codes.contains(event["code"_L1].toString()))
                faults.append(u"a fire failed with "_s + event["code"_L1].toString());
            const qint64 term = event["term"_L1].toInteger();
            if (kind == u"leads" && leaders.value(term, i) != i)
                faults.append(u"two engines led with the term %1"_s.arg(term));
            if (kind == u"leads")
                leaders.insert(term, i);
            if (kind == u"log"
                && !event["text"_L1].toString().contains(u"edis"_s)) // of what lies between them
                faults.append(event["text"_L1].toString());
        }
    }
    return faults;
}

} // namespace tidekeeper::faults
