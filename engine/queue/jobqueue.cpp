// SPDX-License-Identifier: Apache-2.0
#include "queue/jobqueue.h"

#include "queue/jobhistory.h"
#include "queue/queuecall.h"
#include "queue/replicatedcalls.h"

#include <QtCore/QJsonDocument>

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

namespace {

constexpr int largestBatch = 500;

/// id, type, payload, dedupe
QList<QByteArray> jobArguments(const JobSpec &spec)
{
    return {randomToken(), spec.type.toUtf8(), QJsonDocument(spec.payload).toJson(QJsonDocument::Compact),
            spec.dedupeKey.toUtf8()};
}

QByteArray flag(bool on)
{
    return on ? "1" : "0";
}

/// 0 stands for "no nominal time yet".
QByteArray nominalText(qint64 ms)
{
    return ms == 0 ? QByteArray("") : QByteArray::number(ms);
}

} // namespace

QByteArray libraryCode()
{
    return redis::FunctionLibrary::embedded(u"queue.lua"_s)
        + redis::FunctionLibrary::embedded(u"queue_work.lua"_s)
        + redis::FunctionLibrary::embedded(u"queue_upkeep.lua"_s);
}

JobQueue::JobQueue(QString name, redis::FunctionLibrary &library, ReplicatedCalls *replicated)
    : m_name(std::move(name)), m_library(library), m_replicated(replicated)
{ }

QCoro::Task<Result<redis::Value>> JobQueue::callDurably(QByteArray function, QList<QByteArray> arguments)
{
    QByteArray key = queuePrefix(m_name);
    Result<redis::Value> reply;
    if (m_replicated)
        reply = co_await m_replicated->call(std::move(function), std::move(key), std::move(arguments));
    else
        reply = co_await callFunction(m_library, std::move(function), std::move(key), std::move(arguments));
    co_return reply;
}

QCoro::Task<Result<EnqueueResult>> JobQueue::enqueue(JobSpec spec)
{
    QList<JobSpec> specs{std::move(spec)};
    const Result<QList<EnqueueResult>> results = co_await enqueue(std::move(specs));
    if (!results)
        co_return fail(results.error());
    co_return results->first();
}

QCoro::Task<Result<QList<EnqueueResult>>> JobQueue::enqueue(QList<JobSpec> specs)
{
    if (specs.isEmpty())
        co_return QList<EnqueueResult>();
    if (specs.size() > largestBatch)
        co_return fail(u"invalid_request"_s, u"At most %1 jobs can be enqueued at once."_s.arg(largestBatch));
    QList<QByteArray> arguments{specs.first().leaseName.toUtf8(), QByteArray::number(specs.first().term)};
    arguments.reserve(2 + 8 * specs.size());
    for (const JobSpec &spec : specs)
        arguments << jobArguments(spec) << QByteArray::number(std::max<qint64>(spec.delayMs, 0))
                  << flag(spec.urgent) << spec.schedule.toUtf8() << nominalText(spec.nominalMs);

    const Result<redis::Value> reply = co_await callDurably("tidekeeper_enqueue_v1", std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    QList<EnqueueResult> results;
    for (qsizetype i = 0; i + 1 < reply->items.size(); i += 2)
        results.append(
            {QString::fromUtf8(reply->items[i].text), QString::fromUtf8(reply->items[i + 1].text)});
    if (results.size() != specs.size())
        co_return fail(u"functions_refused"_s, u"Redis answered an enqueue in an unknown form."_s);
    co_return results;
}

QCoro::Task<Result<FireResult>> JobQueue::fire(Fire fire, std::optional<JobSpec> job)
{
    QList<QByteArray> arguments{fire.schedule.toUtf8(),        nominalText(fire.expectedNominalMs),
                                nominalText(fire.nominalMs),   fire.leaseName.toUtf8(),
                                QByteArray::number(fire.term), fire.queueOne ? "queue-one" : "skip"};
    if (job)
        arguments << jobArguments(*job) << flag(job->urgent);
    else if (fire.passedOver)
        arguments << "passed_over";
    const Result<redis::Value> reply = co_await callDurably("tidekeeper_fire_v1", std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    if (reply->items.size() != 3)
        co_return fail(u"functions_refused"_s, u"Redis answered a fire in an unknown form."_s);
    FireResult result;
    result.fired = reply->items[0].text == "fired";
    if (!result.fired) {
        result.currentNominalMs = reply->items[1].toInteger();
        co_return result;
    }
    result.result = QString::fromUtf8(reply->items[1].text);
    result.job = QString::fromUtf8(reply->items[2].text);
    co_return result;
}

QCoro::Task<Result<QList<ScheduleState>>> JobQueue::scheduleStates(QStringList schedules)
{
    QList<QByteArray> arguments;
    for (const QString &id : schedules)
        arguments.append(id.toUtf8());
    const Result<redis::Value> reply = co_await callFunction(m_library, "tidekeeper_schedules_v1",
                                                             queuePrefix(m_name), std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    QList<ScheduleState> states;
    for (const redis::Value &state : reply->items) {
        const auto &f = state.items;
        if (f.size() != 6)
            break;
        states.append({f[0].toInteger(), f[1].toInteger(), QString::fromUtf8(f[2].text),
                       QString::fromUtf8(f[3].text), f[4].toInteger() == 1, runFrom(f[5].text)});
    }
    if (states.size() != schedules.size())
        co_return fail(u"functions_refused"_s,
                       u"Redis answered the state of schedules in an unknown form."_s);
    co_return states;
}

QCoro::Task<Result<>> JobQueue::forgetSchedule(QString schedule)
{
    QList<QByteArray> arguments{schedule.toUtf8()};
    const Result<redis::Value> reply = co_await callFunction(m_library, "tidekeeper_forget_schedule_v1",
                                                             queuePrefix(m_name), std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    co_return Result<>();
}

QCoro::Task<Result<>> JobQueue::fence(QString leaseName, qint64 term)
{
    QList<QByteArray> arguments{leaseName.toUtf8(), QByteArray::number(term)};
    const Result<redis::Value> reply =
        co_await callFunction(m_library, "tidekeeper_fence_v1", queuePrefix(m_name), std::move(arguments));
    if (!reply)
        co_return fail(reply.error());
    co_return Result<>();
}

QCoro::Task<Result<QJsonObject>> JobQueue::counts()
{
    const Result<redis::Value> reply =
        co_await callFunction(m_library, "tidekeeper_counts_v1", queuePrefix(m_name), QList<QByteArray>());
    if (!reply)
        co_return fail(reply.error());
    static const QStringList names{u"urgent"_s,  u"normal"_s, u"delayed"_s,   u"claimed"_s,
                                   u"running"_s, u"dead"_s,   u"discarded"_s, u"oldest_waiting_ms"_s,
                                   u"lost"_s};
    QJsonObject counts{{u"name"_s, m_name}};
    for (qsizetype i = 0; i < std::min(names.size(), reply->items.size()); ++i)
        counts.insert(names[i], reply->items[i].toInteger());
    co_return counts;
}

} // namespace tidekeeper::queue
