// SPDX-License-Identifier: Apache-2.0
#include "limits/bucketservice.h"

#include "core/account.h"
#include "limits/quotacheck.h"
#include "limits/units.h"

#include <QtCore/QJsonArray>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 publishMs = 2'000;

Status unavailable(const QString &text)
{
    return Status::failure(u"limiter_unavailable"_s, text);
}

} // namespace

BucketService::BucketService(redis::RedisConnection &connection, redis::FunctionLibrary &library,
                             const Clock &clock, QObject *parent)
    : QObject(parent), m_connection(connection), m_clock(clock),
      m_projects(connection, library, clock, m_serverClock),
      m_settlement(connection, library, m_projects, clock),
      m_caller(connection, library, m_projects, clock, m_serverClock),
      m_feedback(m_caller, m_projects, clock, m_usage)
{
    // It may be another server than before, and the first request needs its clock already.
    connect(&connection, &redis::RedisConnection::ready, this, [this, &connection] {
        m_serverClock = ServerClock();
        if (const auto nowUs = connection.greetedAtUs())
            m_serverClock.seen(*nowUs, m_clock.monotonicMs());
        m_feedback.tellMissed();
    });
}

BucketService::~BucketService() = default;

void BucketService::publish(const QString &limiter, const QString &project, const QJsonObject &policy,
                            Reply *reply)
{
    const Result<Policy> checked = Policy::from(policy);
    const Result<AccountNames> names = accountNames(limiter, project, policy);
    if (!checked)
        reply->finish(checked.error(), {});
    else if (!names)
        reply->finish(names.error(), {});
    else
        publishNow(m_projects.take(limiter, project, *checked, *names), reply);
}

/// Read once: with other names every account would have another bucket.
Result<AccountNames> BucketService::accountNames(const QString &limiter, const QString &project,
                                                 const QJsonObject &policy) const
{
    const std::shared_ptr<Project> known = m_projects.find(limiter, project);
    return known ? known->keys.accountNames() : AccountNames::from(policy);
}

QCoro::Task<> BucketService::publishNow(std::shared_ptr<Project> project, Reply *reply)
{
    const QStringList warnings =
        project->policy.warnings(project->name) + project->keys.accountNames().warnings();
    const Result<redis::Value> answer =
        co_await m_projects.publish(project, m_clock.monotonicMs() + publishMs);
    const bool isAway =
        kindOf(answer, 2) == AnswerKind::Away; // Redis has it as soon as it takes writes again
    if (!isAway && answer && answer->isError())
        reply->finish(Status::failure(u"invalid_policy"_s, QString::fromUtf8(answer->text)), {});
    else if (!isAway && !answer)
        reply->finish(answer.error(), {});
    else
        reply->finish(Status::success(), {{u"warnings"_s, QJsonArray::fromStringList(warnings)}});
}

void BucketService::acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply)
{
    std::shared_ptr<Project> project = m_projects.find(limiter, request.project);
    if (!project) {
        reply->finish(Projects::unknown(), {});
        return;
    }
    QuotaRequest checked = request;
    checked.account = core::normalizedEmail(request.account);
    if (checked.lane.isEmpty())
        checked.lane = u"realtime"_s;
    if (const Status status = checkQuota(checked); !status.ok()) {
        reply->finish(status, {});
        return;
    }
    const auto call =
        std::make_shared<AcquireCall>(this, std::move(project), checked, reply, m_clock.monotonicMs());
    if (m_connection.isReady() && !m_connection.isBreakerOpen())
        m_feedback.catchUp();
    m_settlement.settle(call->project, call->keys.at(0));
    m_caller.send(call);
}

void BucketService::ended(AcquireCall &call, AnswerKind kind, const Result<redis::Value> &answer)
{
    if (kind == AnswerKind::Answer)
        decided(call, *answer);
    else if (kind == AnswerKind::Away)
        redisIsAway(call, answer ? QString::fromUtf8(answer->text) : answer.error().text);
    else
        call.reply->finish(failureOf(kind, answer), {});
}

void BucketService::decided(AcquireCall &call, const redis::Value &decision)
{
    const QuotaAnswer answer = call.decision(decision);
    m_serverClock.seen(answer.nowUs, m_clock.monotonicMs());

    // Late although there is time: the server's clock was stepped forward, and now we know.
    if (answer.refusedBy == "late"_L1 && !call.clockCorrected && m_clock.monotonicMs() < call.lastStartMs) {
        call.clockCorrected = true;
        m_caller.send(call.shared_from_this());
        return;
    }
    const bool isNameEnough = call.project->keys.accountNames().tellAddresses();
    call.project->active.decided({call.keys.at(0), answer.accountLevel, answer.accountCapacity,
                                  call.project->policy.account.refillPerMinute, answer.nowUs, call.lane,
                                  call.caller, answer.granted ? call.cost : 0, !answer.granted,
                                  call.isRepeatable, isNameEnough ? QString() : call.account});
    rememberForOutage(call, answer);
    finish(call, answer);
}

void BucketService::rememberForOutage(const AcquireCall &call, const QuotaAnswer &answer)
{
    Project &project = *call.project;
    const qint64 nowUs = m_clock.monotonicMs() * 1000;
    project.awaySinceMs = 0;
    m_settlement.goOn(project);
    project.local.seen(
        call.keys.at(0),
        {answer.accountLevel, answer.accountCapacity, answer.projectLevel, answer.projectCapacity}, nowUs);
    // A freeze of one family would freeze all the others too.
    if (answer.refusedBy.endsWith("_frozen"_L1) && !call.hasFamily()) {
        const bool isProject = answer.refusedBy == "project_frozen"_L1;
        project.local.freeze(isProject ? QByteArray() : call.keys.at(0), nowUs + answer.retryAfterMs * 1000,
                             nowUs);
    }
}

void BucketService::redisIsAway(const AcquireCall &call, const QString &why)
{
    Project &project = *call.project;
    if (project.awaySinceMs == 0)
        project.awaySinceMs = m_clock.nowMs();
    if (project.policy.failOpen) {
        finish(call, withoutRedis(call));
        return;
    }
    ++m_usage[project.limiter].decisions[{call.lane, u"unavailable"_s}];
    const QString cause = why.endsWith(u'.') ? why.chopped(1) : why;
    call.reply->finish(
        unavailable(u"Redis cannot decide now: %1. With fail_open off nothing is granted."_s.arg(cause)), {});
}

QuotaAnswer BucketService::withoutRedis(const AcquireCall &call)
{
    Project &project = *call.project;
    const Policy &policy = project.policy;
    const qint64 largestCost = call.largestCost();
    QuotaAnswer answer;
    if (call.cost > largestCost) {
        answer.refusedBy = u"never"_s;
        answer.largestCost = largestCost;
        answer.granted = !policy.enforce;
    } else if (policy.localFallback) {
        const core::TokenRequest request{call.cost * 1000, call.lane == "bulk"_L1, call.maxWaitMs};
        answer = project.local.acquire(call.keys.at(0), request, m_clock.monotonicMs() * 1000);
    } else {
        answer.granted = true;
        answer.accountCapacity = policy.account.capacity * 1000;
        answer.projectCapacity = policy.project.capacity * 1000;
    }
    answer.degraded = true;
    answer.cost = call.cost;
    // No two alike: a grant is named by it.
    answer.nowUs = m_lastDegradedUs = std::max(m_clock.nowMs() * 1000, m_lastDegradedUs + 1);
    if (answer.granted)
        answer.grantId = call.grantId(answer);
    return answer;
}

void BucketService::finish(const AcquireCall &call, const QuotaAnswer &answer)
{
    Usage &usage = m_usage[call.project->limiter];
    const QString outcome = !answer.granted ? answer.refusedBy
        : answer.degraded                   ? u"degraded"_s
                                            : u"granted"_s;
    ++usage.decisions[{call.lane, outcome}];
    if (answer.granted)
        usage.granted(call.caller, answer.cost);
    call.reply->finish(Status::success(), answer);
}

void BucketService::setLiveEngines(const QString &limiter, const QString &project, int engines)
{
    if (const std::shared_ptr<Project> known = m_projects.find(limiter, project))
        known->local.setLiveEngines(engines);
}

QJsonArray BucketService::decidedWithoutRedis() const
{
    const bool isAway = !m_connection.isReady() || m_connection.isBreakerOpen();
    QJsonArray all;
    for (const std::shared_ptr<Project> &project : m_projects.all()) {
        if (!isAway && project->awaySinceMs == 0)
            continue;
        const Policy &policy = project->policy;
        const QString how = !policy.failOpen ? u"closed"_s : policy.localFallback ? u"local"_s : u"open"_s;
        all.append(QJsonObject{{u"limiter"_s, project->limiter},
                               {u"project"_s, project->name},
                               {u"since"_s, project->awaySinceMs},
                               {u"how"_s, how}});
    }
    return all;
}

void BucketService::report(const QString &limiter, const QJsonObject &verdict, Reply *reply)
{
    reportTo(reply, limiter, verdict);
}

QCoro::Task<> BucketService::reportTo(Reply *reply, QString limiter, QJsonObject verdict)
{
    const Result<QJsonObject> result = co_await m_feedback.report(std::move(limiter), std::move(verdict));
    if (result)
        reply->finish(Status::success(), *result);
    else
        reply->finish(result.error(), {});
}

QCoro::Task<Result<QJsonObject>> BucketService::refund(QString limiter, QString grantId)
{
    return m_feedback.refund(std::move(limiter), std::move(grantId));
}

QCoro::Task<Result<QJsonObject>> BucketService::release(QString limiter, QString holdId)
{
    return m_feedback.release(std::move(limiter), std::move(holdId));
}

} // namespace tidekeeper::limits
