// SPDX-License-Identifier: Apache-2.0
#include "app/overview.h"

#include "app/part.h"
#include "app/queuehealth.h"
#include "app/renewalhealth.h"
#include "core/planner.h"

#include <QtCore/QHash>
#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

/// What is known of Redis that is not unsafe; what it does not tell is said and is no fault.
QString safetyOf(const QJsonObject &redis)
{
    if (redis["verdict"_L1] == "safe"_L1)
        return u"Redis is connected, and its settings keep jobs safe."_s;
    QString text = u"Redis is connected; whether its settings keep jobs safe is not known."_s;
    for (const QJsonValue &sentence : redis["unknown"_L1].toArray())
        text += u' ' + sentence.toString();
    return text;
}

} // namespace

QCoro::Task<QJsonObject> Overview::read()
{
    const qint64 nowMs = m_work.clock.nowMs();
    const Result<QJsonObject> accounts = co_await m_work.lookout.accounts(m_work.renewalWindowMs());
    const QJsonObject listed = co_await m_work.scheduler.list();
    const QJsonArray schedules = listed["schedules"_L1].toArray();
    const QueueAnswer own = co_await asked(m_work.jobs, m_work.worker.get());
    const QueueAnswer ofPlugins = co_await asked(m_work.pluginQueue, m_work.pluginWorker.get());
    const QList<QueueAnswer> queues{own, ofPlugins};
    const qint64 lastScanMs = co_await m_work.lookout.lastScanMs();

    QJsonObject overview = m_work.lookout.facts();
    overview.insert("version"_L1, QStringLiteral(TIDEKEEPER_VERSION));
    overview.insert("now"_L1, nowMs);
    overview.insert("leader"_L1, m_work.leader.isHeld());
    overview.insert("term"_L1, m_work.leader.term());
    overview.insert("accounts"_L1, accounts.value_or(QJsonObject()));
    overview.insert("queues"_L1, queueCounts(queues));
    overview.insert("scheduler"_L1, schedulerView(schedules));
    overview.insert("redis"_L1, m_redis.status());
    overview.insert("database"_L1,
                    QJsonObject{{u"up"_s, accounts.has_value()},
                                {u"code"_s, accounts ? QString() : accounts.error().code}});
    overview.insert("plugins"_L1, pluginCounts());
    overview.insert("limiters"_L1, limiterSwitches());
    overview.insert("scan"_L1, scanView(schedules, lastScanMs));
    overview.insert("renewal"_L1, renewalView());
    overview.insert("pushes"_L1, m_work.pushProof.status());

    QJsonArray parts;
    addRedis(parts);
    parts.append(accounts ? sound(u"database"_s, u"The database answers."_s)
                          : part(u"database"_s, false, false, accounts.error().code, accounts.error().text));
    addQueues(parts, queues, schedules, nowMs);
    addDegradedLimiters(parts);
    addPlugins(parts);
    addLimiters(parts);
    for (const QJsonValue &one : renewalParts(overview))
        parts.append(one);

    QJsonArray problems;
    for (const QJsonValue &entry : parts) {
        if (!entry["ok"_L1].toBool())
            problems.append(entry);
    }
    overview.insert("parts"_L1, parts);
    overview.insert("problems"_L1, problems);
    co_return overview;
}

QJsonObject Overview::pluginCounts() const
{
    const std::vector<pluginhost::PluginRecord> records = m_work.plugins.records();
    QJsonObject states;
    for (const pluginhost::PluginRecord &record : records)
        states.insert(record.metadata.id, toString(record.state));
    const auto running =
        std::count_if(records.begin(), records.end(), [](const pluginhost::PluginRecord &record) {
            return record.state == pluginhost::PluginState::Running;
        });
    return {{u"running"_s, qint64(running)}, {u"total"_s, qint64(records.size())}, {u"states"_s, states}};
}

QJsonArray Overview::limiterSwitches() const
{
    QJsonArray limiters;
    for (const QString &name : m_work.limiters.names()) {
        QJsonObject limiter{{u"name"_s, name}};
        if (const auto state = m_work.limiterSettings.find(name)) {
            const QJsonObject settings = (*state)->effective();
            for (const QString &key : {u"enabled"_s, u"enforce"_s, u"fail_open"_s, u"local_fallback"_s}) {
                if (settings.contains(key))
                    limiter[key] = settings[key];
            }
        }
        QJsonObject unasked;
        for (auto it = m_work.limiters.ungoverned().begin(); it != m_work.limiters.ungoverned().end(); ++it) {
            if (it.key().first == name)
                unasked[it.key().second] = *it;
        }
        limiter[u"granted_while_disabled"_s] = unasked;
        limiters.append(limiter);
    }
    return limiters;
}

/// What operators switched off, and what of their settings is not in force.
void Overview::addLimiters(QJsonArray &parts) const
{
    for (const QString &name : m_work.limiters.names()) {
        const auto state = m_work.limiterSettings.find(name);
        if (!state)
            continue;
        const QString title = u"limiter "_s + name;
        const QJsonObject settings = (*state)->effective();
        if (settings.value("enabled"_L1) == QJsonValue(false))
            parts.append(
                part(title, false, true, u"limiter_disabled"_s,
                     u"It grants everything and counts nothing. Switch it on: tidekeeper limiter set "
                     u"%1 enabled=true."_s.arg(name)));
        else if (settings.value("enforce"_L1) == QJsonValue(false))
            parts.append(
                part(title, false, true, u"limiter_shadow"_s,
                     u"Shadow mode: it grants everything. Enforce the limits: tidekeeper limiter set "
                     u"%1 enforce=true."_s.arg(name)));
        if (!(*state)->problem.isEmpty() || !(*state)->misfits.isEmpty())
            parts.append(
                part(title, false, true, u"settings_not_in_force"_s,
                     u"Some of its settings have no effect: see tidekeeper limiter show %1."_s.arg(name)));
    }
}

void Overview::addRedis(QJsonArray &parts) const
{
    const QString name = u"redis"_s;
    const QJsonObject status = m_redis.status();
    if (!status["connected"_L1].toBool()) {
        parts.append(part(name, false, false, u"redis_unavailable"_s,
                          u"Redis at %1 does not answer: no job runs, and limits follow fail_open."_s.arg(
                              status["url"_L1].toString())));
        return;
    }
    const QJsonArray findings = status["findings"_L1].toArray();
    for (const QJsonValue &finding : findings)
        parts.append(part(name, false, true, u"redis_unsafe"_s, finding.toString()));
    if (findings.isEmpty())
        parts.append(sound(name, safetyOf(status)));
}

/// How the limiters decide while Redis cannot.
void Overview::addDegradedLimiters(QJsonArray &parts) const
{
    static const QHash<QString, QString> consequences{
        {u"local"_s,
         u"calls pass as far as this engine's own buckets allow, and are settled when Redis is back."_s},
        {u"open"_s, u"all calls pass, without any bound: local_fallback is off. Google may refuse some."_s},
        {u"closed"_s, u"no call passes: fail_open is off."_s},
    };
    for (const QJsonValue project : m_work.buckets.decidedWithoutRedis()) {
        parts.append(
            part(u"limiter "_s + project["limiter"_L1].toString(), false, true, u"limiter_without_redis"_s,
                 u"Project \"%1\" is decided without Redis: %2"_s.arg(
                     project["project"_L1].toString(), consequences.value(project["how"_L1].toString()))));
    }
}

void Overview::addPlugins(QJsonArray &parts) const
{
    for (const pluginhost::PluginRecord &record : m_work.plugins.records()) {
        if (record.failure)
            parts.append(part(u"plugin "_s + record.metadata.id, false, true,
                              toString(record.failure->reason),
                              record.failure->text + u' ' + record.failure->remedy));
    }
}

QCoro::Task<Overview::QueueAnswer> Overview::asked(queue::JobQueue &queue, const queue::Worker *worker)
{
    const Result<QJsonObject> counts = co_await queue.counts();
    co_return QueueAnswer{queue.name(), counts, worker && worker->isTaking()};
}

QJsonArray Overview::queueCounts(const QList<QueueAnswer> &queues)
{
    QJsonArray list;
    for (const QueueAnswer &queue : queues) {
        QJsonObject counts = queue.counts.value_or(QJsonObject{{u"name"_s, queue.name}});
        counts.insert("taking"_L1, queue.isTaking);
        list.append(counts);
    }
    return list;
}

QJsonObject Overview::schedulerView(const QJsonArray &schedules) const
{
    QJsonObject view = m_work.scheduler.health();
    qint64 lastTick = 0;
    for (const QJsonValue &schedule : schedules)
        lastTick = std::max(lastTick, schedule["last_at"_L1].toInteger());
    view.insert("schedules"_L1, schedules.size());
    view.insert("last_tick_at"_L1, lastTick);
    return view;
}

void Overview::addQueues(QJsonArray &parts, const QList<QueueAnswer> &queues, const QJsonArray &schedules,
                         qint64 nowMs) const
{
    if (!m_redis.connection().isReady())
        return; // said already
    QJsonArray found = schedulerParts(m_work.scheduler.health(), schedules, nowMs);
    for (const QueueAnswer &queue : queues) {
        for (const QJsonValue &one : queueParts(queue.name, queue.counts, queue.isTaking))
            found.append(one);
    }
    for (const QJsonValue &one : std::as_const(found))
        parts.append(one);
}

/// Not of this engine alone: any of them may have run the job.
QJsonObject Overview::scanView(const QJsonArray &schedules, qint64 lastAtMs) const
{
    const auto scan = std::find_if(schedules.begin(), schedules.end(), [](const QJsonValue &schedule) {
        return schedule["id"_L1] == Work::scanScheduleId;
    });
    const bool scheduled = scan != schedules.end();
    const QJsonObject schedule = scheduled ? scan->toObject() : QJsonObject();
    qint64 intervalMs = schedule["interval_ms"_L1].toInteger();
    const qint64 lastFire = schedule["last_at"_L1].toInteger();
    if (intervalMs == 0 && lastFire > 0) // a cron pattern: from one to the next
        intervalMs = schedule["next_at"_L1].toInteger() - lastFire;
    const renewal::ScanResult &here = m_work.renewal.lastScan();
    return {{u"last_at"_s, std::max(lastAtMs, here.errorText.isEmpty() ? here.at : 0)},
            {u"due"_s, here.due},
            {u"enqueued"_s, here.enqueued},
            {u"schedule"_s, Work::scanScheduleId},
            {u"scheduled"_s, scheduled},
            {u"paused"_s, schedule["paused"_L1].toBool()},
            {u"interval_ms"_s, std::max<qint64>(intervalMs, core::minuteMs)}};
}

QJsonObject Overview::renewalView() const
{
    QJsonObject view = m_work.renewal.status();
    view.insert("has_provider"_L1, !m_work.providers.all().isEmpty());
    return view;
}

} // namespace tidekeeper::app
