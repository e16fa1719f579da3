// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/work.h"

namespace tidekeeper::app {

/// The state of the whole engine in one object, and what in it needs a person. Main thread.
class Overview {
public:
    Overview(RedisParts &redis, StoreParts &store, Work &work) : m_redis(redis), m_store(store), m_work(work)
    { }

    /// {"version", "now", "leader", "term", "accounts": {…}, "queues": [{"name", …counts, "taking"}],
    ///  "scheduler": {as Scheduler::health(), "schedules": how many, "last_tick_at"},
    ///  "redis": {…}, "plugins": {"running", "total", "states": {id: state}},
    ///  "limiters": [{"name", "enabled", "enforce", "fail_open", "local_fallback",
    ///                "granted_while_disabled": {lane: calls}}],
    ///  "scan": {"last_at": in any engine, "due", "enqueued", "schedule", "scheduled", "paused", "interval_ms"},
    ///  "renewal": {as RenewalEngine::status(), "has_provider"}, "pushes": {as PushProof::status()}, "database": {"up", "code"},
    ///  as Lookout::facts(): "started_at", "coverage", "clock_skew_ms", "hints", "parts": [{"name", "ok", "ready", "code", "text"}], "problems": [the parts not ok]}
    QCoro::Task<QJsonObject> read();

private:
    struct QueueAnswer {
        QString name;
        Result<QJsonObject> counts;
        bool isTaking = false;
    };

    static QCoro::Task<QueueAnswer> asked(queue::JobQueue &queue, const queue::Worker *worker);
    static QJsonArray queueCounts(const QList<QueueAnswer> &queues);
    QJsonObject schedulerView(const QJsonArray &schedules) const;
    QJsonObject pluginCounts() const;
    void addRedis(QJsonArray &parts) const;
    void addLimiters(QJsonArray &parts) const;
    void addPlugins(QJsonArray &parts) const;
    QJsonArray limiterSwitches() const;
    void addDegradedLimiters(QJsonArray &parts) const;
    QJsonObject scanView(const QJsonArray &schedules, qint64 lastAtMs) const;
    QJsonObject renewalView() const;
    void addQueues(QJsonArray &parts, const QList<QueueAnswer> &queues, const QJsonArray &schedules,
                   qint64 nowMs) const;

    RedisParts &m_redis;
    StoreParts &m_store;
    Work &m_work;
};

} // namespace tidekeeper::app
