// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/leases.h"
#include "queue/replicatedcalls.h"
#include "queueredis.h"
#include "scheduler/scheduler.h"

#include <QCoro/QCoroTask>
#include <QtCore/QPointer>

namespace tidekeeper::test {

constexpr qint64 minute = 60'000;
constexpr qint64 start = 1'800'000'000'000; ///< a whole minute, at which the tests' clocks begin

/// A schedule with an interval of a minute and a job, and these fields besides.
inline QJsonObject everyMinute(const QJsonObject &more = {})
{
    QJsonObject schedule{
        {QStringLiteral("id"), QStringLiteral("s")},
        {QStringLiteral("interval_ms"), minute},
        {QStringLiteral("job"), QJsonObject{{QStringLiteral("type"), QStringLiteral("work")}}}};
    for (auto field = more.begin(); field != more.end(); ++field)
        schedule.insert(field.key(), *field);
    return schedule;
}

/// One engine's scheduler: its own connection, lease and queues ("test" and "second") on a Redis of the test's.
struct SchedulerSide {
    redis::RedisConnection connection;
    redis::FunctionLibrary queueLibrary;
    redis::FunctionLibrary leaseLibrary;
    queue::Leases leases;
    std::unique_ptr<queue::ReplicatedCalls> replicated;
    queue::JobQueue jobs;
    queue::JobQueue second;
    queue::LeaderLease lease;
    scheduler::Scheduler scheduler;

    SchedulerSide(QueueRedis &redis, const Clock &clock, int ttlMs = 60'000, bool isReplicated = false)
        : connection(redis.endpoint(), {.commandTimeoutMs = 5'000}),
          queueLibrary(connection, "tidekeeper_queue", queue::libraryCode()),
          leaseLibrary(connection, "tidekeeper_lease",
                       redis::FunctionLibrary::embedded(QStringLiteral("lease.lua"))),
          leases(leaseLibrary),
          replicated(isReplicated ? std::make_unique<queue::ReplicatedCalls>(redis.endpoint()) : nullptr),
          jobs(QStringLiteral("test"), queueLibrary, replicated.get()),
          second(QStringLiteral("second"), queueLibrary),
          lease(leases, {QStringLiteral("scheduler"), ttlMs, 20}), scheduler(clock, {&jobs, &second}, lease)
    {
        connection.open();
        QCoro::waitFor(connection.waitReady(5'000));
    }

    void run()
    {
        lease.start();
        scheduler.start();
    }

    QJsonObject find(const QString &id) { return QCoro::waitFor(scheduler.find(id)).value_or(QJsonObject()); }
};

/// Keeps changes in memory, for all engines that it serves.
class MemoryKeeper final : public scheduler::ChangeKeeper {
public:
    QJsonObject changes;
    QJsonObject declarations;
    int othersToCome = 0; ///< so many times somebody else pauses the schedule just before

    void serve(scheduler::Scheduler &scheduler)
    {
        scheduler.setKeeper(this);
        m_served.append(&scheduler);
        tellAll();
    }
    /// As a plugin's declarations are kept while its engine runs.
    void remember()
    {
        for (const auto &served : m_served) {
            const QJsonObject declared = served ? served->declarations() : QJsonObject();
            for (auto each = declared.begin(); each != declared.end(); ++each)
                declarations.insert(each.key(), *each);
        }
    }

    QCoro::Task<Result<>> keepChange(QString id, QJsonObject before, QJsonObject after, QString) override
    {
        if (othersToCome > 0) {
            --othersToCome;
            QJsonObject others = changes[id].toObject();
            others.insert(QStringLiteral("misfire_cap"), 100 + othersToCome);
            changes.insert(id, others);
        }
        const bool isAsExpected = changes[id].toObject() == before;
        if (isAsExpected)
            changes.insert(id, after);
        tellAll();
        if (!isAsExpected)
            co_return fail(QStringLiteral("setting_changed"), QStringLiteral("Somebody was quicker."));
        co_return Result<>();
    }
    QCoro::Task<Result<>> forget(QString id, QString) override
    {
        changes.remove(id);
        declarations.remove(id);
        tellAll();
        co_return Result<>();
    }

private:
    void tellAll()
    {
        for (const auto &served : m_served) {
            if (served)
                served->restore(changes, declarations);
        }
    }

    QList<QPointer<scheduler::Scheduler>> m_served;
};

} // namespace tidekeeper::test
