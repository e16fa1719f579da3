// SPDX-License-Identifier: Apache-2.0
#include "app/overview.h"

#include "app/part.h"
#include "app/queuehealth.h"

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
    const Result<QJsonObject> accounts = co_await m_store.accounts.summary(nowMs, m_work.renewalWindowMs());
    const QJsonObject listed = co_await m_work.scheduler.list();
    const QJsonArray schedules = listed["schedules"_L1].toArray();
    const QueueAnswer own = co_await asked(m_work.jobs, m_work.worker.get());
    const QueueAnswer ofPlugins = co_await asked(m_work.pluginQueue, m_work.pluginWorker.get());
    const QList<QueueAnswer> queues{own, ofPlugins};

    QJsonArray parts;
    addRedis(parts);
    parts.append(accounts ? sound(u"database"_s, u"The database answers."_s)
                          : part(u"database"_s, false, false, accounts.error().code, accounts.error().text));
    addQueues(parts, queues, schedules, nowMs);
    addDegradedLimiters(parts);
    addPlugins(parts);
    addLimiters(parts);
    addRenewal(parts, schedules);
    addAccounts(parts, accounts.value_or(QJsonObject()));

    QJsonArray problems;
    for (const QJsonValue &entry : parts) {
        if (!entry["ok"_L1].toBool())
            problems.append(entry);
    }
    co_return QJsonObject{{u"version"_s, QStringLiteral(TIDEKEEPER_VERSION)},
                          {u"now"_s, nowMs},
                          {u"leader"_s, m_work.leader.isHeld()},
                          {u"term"_s, m_work.leader.term()},
                          {u"accounts"_s, accounts.value_or(QJsonObject())},
                          {u"queues"_s, queueCounts(queues)},
                          {u"scheduler"_s, schedulerView(schedules)},
                          {u"redis"_s, m_redis.status()},
                          {u"plugins"_s, pluginCounts()},
                          {u"limiters"_s, limiterSwitches()},
                          {u"scan"_s,
                           QJsonObject{{u"last_at"_s, m_work.renewal.lastScan().at},
                                       {u"due"_s, m_work.renewal.lastScan().due},
                                       {u"enqueued"_s, m_work.renewal.lastScan().enqueued}}},
                          {u"renewal"_s, m_work.renewal.status()},
                          {u"parts"_s, parts},
                          {u"problems"_s, problems}};
}

QJsonObject Overview::pluginCounts() const
{
    const std::vector<pluginhost::PluginRecord> records = m_work.plugins.records();
    const auto running =
        std::count_if(records.begin(), records.end(), [](const pluginhost::PluginRecord &record) {
            return record.state == pluginhost::PluginState::Running;
        });
    return {{u"running"_s, qint64(running)}, {u"total"_s, qint64(records.size())}};
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

void Overview::addRenewal(QJsonArray &parts, const QJsonArray &schedules) const
{
    const QString name = u"renewal"_s;
    const qsizetype before = parts.size();
    const bool scanPaused = std::any_of(schedules.begin(), schedules.end(), [](const QJsonValue &schedule) {
        return schedule["id"_L1] == Work::scanScheduleId && schedule["paused"_L1].toBool();
    });
    if (m_work.providers.all().isEmpty())
        parts.append(
            part(name, false, true, u"no_provider"_s,
                 u"Nothing renews watches: no running plugin is a provider. Enable watch-renewal."_s));
    if (scanPaused)
        parts.append(part(name, false, true, u"scan_paused"_s,
                          u"The scan for due accounts is paused: tidekeeper schedules resume %1."_s.arg(
                              Work::scanScheduleId)));
    if (m_work.renewal.status()["mode"_L1] == "observe"_L1 && !m_work.providers.all().isEmpty())
        parts.append(part(name, false, true, u"observing"_s,
                          u"Nothing is renewed: plugins.watch-renewal.mode is \"observe\"."_s));
    if (const QString &error = m_work.renewal.lastScan().errorText; !error.isEmpty())
        parts.append(part(name, false, true, u"scan_failed"_s, error));
    for (const QJsonValue &breaker : m_work.renewal.openBreakers())
        parts.append(part(name, false, false, breaker["code"_L1].toString(),
                          breaker["text"_L1].toString() + u' ' + breaker["remedy"_L1].toString()));
    if (parts.size() == before)
        parts.append(sound(name, u"Accounts are scanned and renewed."_s));
}

/// What only a person can settle.
void Overview::addAccounts(QJsonArray &parts, const QJsonObject &accounts) const
{
    const qint64 parked = accounts["state"_L1]["parked"_L1].toInteger();
    const qint64 critical = accounts["active_band"_L1]["critical"_L1].toInteger();
    if (critical > 0)
        parts.append(
            part(u"accounts"_s, false, true, u"accounts_critical"_s,
                 u"Active accounts whose watch lapses within a day: %1. See tidekeeper accounts list "
                 u"--band critical."_s.arg(critical)));
    if (parked > 0)
        parts.append(
            part(u"accounts"_s, false, true, u"accounts_parked"_s,
                 u"Accounts that are not renewed until somebody looks: %1. See tidekeeper accounts list "
                 u"--state parked."_s.arg(parked)));
}

} // namespace tidekeeper::app
