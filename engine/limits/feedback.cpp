// SPDX-License-Identifier: Apache-2.0
#include "limits/feedback.h"

#include "limits/units.h"
#include "redis/callbackawaiter.h"

#include <algorithm>
#include <functional>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 answerMs = 500;
constexpr qint64 shortestFreezeMs = 1'000; // as in lua/quota.lua
constexpr qint64 longestFreezeMs = 24 * 3'600'000;
constexpr qsizetype mostMissed = 1'000;
constexpr qint64 tellAgainMs = 1'000;

/// A call whose end is awaited.
struct AwaitedCall final : QuotaCall {
    std::function<void(Result<redis::Value>)> done;

    void ended(AnswerKind kind, const Result<redis::Value> &answer) override
    {
        done(kind == AnswerKind::Answer ? answer : fail(failureOf(kind, answer)));
    }
};

QJsonObject nothingBack(const QString &reason)
{
    QString text = u"This grant charged nothing, so there is nothing to give back."_s;
    if (reason == "degraded"_L1)
        text =
            u"This grant was made without Redis, and nothing of it is left in this engine's own buckets."_s;
    else if (reason == "already"_L1)
        text = u"This grant was given back before; that happens once."_s;
    else if (reason == "late"_L1)
        text = u"A grant can be given back within 60 s; this one is older."_s;
    return {{u"refunded"_s, false},
            {u"account_units"_s, 0},
            {u"project_units"_s, 0},
            {u"reason"_s, reason},
            {u"text"_s, text}};
}

} // namespace

QCoro::Task<Result<QJsonObject>> Feedback::report(QString limiter, QJsonObject json)
{
    const Result<Verdict> verdict = Verdict::from(limiter, json);
    if (!verdict)
        co_return fail(verdict.error());
    const auto project = projectOf(limiter, verdict->project);
    if (!project)
        co_return fail(project.error());

    const Result<redis::Value> answer = co_await tell(*project, *verdict);
    if (!answer) {
        freezeLocally(*project, *verdict);
        co_return fail(answer.error());
    }
    if (!verdict->rate)
        co_return QJsonObject();
    const auto item = [&answer](qsizetype i) { return answer->items[i].toInteger(); };
    co_return QJsonObject{{u"frozen_until"_s, (item(1) + 999) / 1'000},
                          {u"retry_after_ms"_s, item(2)},
                          {u"pace"_s, double(item(3)) / 1'000}};
}

QCoro::Task<Result<redis::Value>> Feedback::tell(std::shared_ptr<Project> project, Verdict verdict)
{
    const Keys &names = project->keys;
    const QByteArrayList keys{names.account(verdict.account), names.project(), names.policy()};
    const Result<redis::Value> answer =
        co_await ask(project, "tidekeeper_report_v1", keys, verdict.arguments(), 5);
    if (!answer)
        co_return answer;
    Usage &usage = m_usage[project->limiter];
    ++usage.reports[verdict.rate ? verdict.scope : u"ok"_s];
    if (verdict.isChargedButRefused())
        usage.chargedButRefused.add(verdict.grant->cost);
    if (verdict.rate && verdict.scope == "account"_L1) {
        const Policy::Scope &limits = project->policy.account;
        const bool isNameEnough = names.accountNames().tellAddresses();
        project->active.emptied(keys.at(0), limits.capacity * 1000, limits.refillPerMinute,
                                answer->items[4].toInteger(), isNameEnough ? QString() : verdict.account);
    }
    co_return answer;
}

void Feedback::tellMissed()
{
    m_tellAgainMs = m_clock.monotonicMs() + tellAgainMs;
    const QHash<QByteArray, Missed> missed = std::exchange(m_missed, {});
    for (const Missed &one : missed)
        tellAgain(one);
}

/// With what is left of the time that the API asked for.
QCoro::Task<> Feedback::tellAgain(Missed missed)
{
    missed.verdict.retryAfterMs = missed.untilMs - m_clock.monotonicMs();
    if (missed.verdict.retryAfterMs <= 0)
        co_return;
    const Result<redis::Value> answer = co_await tell(missed.project, missed.verdict);
    if (!answer)
        freezeLocally(missed.project, missed.verdict);
}

QCoro::Task<Result<QJsonObject>> Feedback::refund(QString limiter, QString grantId)
{
    const Result<Grant> grant = grantFrom(limiter, grantId);
    if (!grant)
        co_return fail(grant.error());
    const auto project = projectOf(limiter, grant->project);
    if (!project)
        co_return fail(project.error());
    if (grant->cost == 0)
        co_return nothingBack(u"free"_s);
    if (grant->degraded)
        co_return refundDegraded(**project, *grant, grantId);

    const Keys &names = (*project)->keys;
    QByteArrayList keys{names.account(grant->account), names.project(), names.policy(),
                        names.refund(grant->account, grant->nowUs)};
    if (!grant->id.isEmpty())
        keys.append(names.id(grant->account, grant->id));
    const QByteArrayList charge{QByteArray::number(grant->cost), QByteArray::number(grant->nowUs)};
    const Result<redis::Value> answer = co_await ask(*project, "tidekeeper_refund_v1", keys, charge, 5);
    if (!answer)
        co_return fail(answer.error());
    if (answer->items[0].toInteger() == 0)
        co_return nothingBack(QString::fromLatin1(answer->items[3].text));
    const qint64 accountUnits = wholeUnits(answer->items[1].toInteger());
    m_usage[limiter].refunds.add(accountUnits);
    co_return QJsonObject{{u"refunded"_s, true},
                          {u"account_units"_s, accountUnits},
                          {u"project_units"_s, wholeUnits(answer->items[2].toInteger())},
                          {u"reason"_s, QString()}};
}

/// Once and within 60 s, as in Redis; nothing when Redis was told of the charge meanwhile.
QJsonObject Feedback::refundDegraded(Project &project, const Grant &grant, const QString &grantId)
{
    const qint64 nowUs = m_clock.monotonicMs() * 1000;
    const qint64 ageUs = std::max<qint64>(0, m_clock.nowMs() * 1000 - grant.nowUs);
    if (ageUs > RefundedGrants::keptMs * 1000)
        return nothingBack(u"late"_s);
    if (!m_refunded.add(grantId, m_clock.monotonicMs()))
        return nothingBack(u"already"_s);
    const LocalBuckets::Amounts back =
        project.local.refund(project.keys.account(grant.account), grant.cost * 1000, nowUs - ageUs, nowUs);
    if (back.isNothing())
        return nothingBack(u"degraded"_s);
    const qint64 accountUnits = wholeUnits(back.accountMilli);
    m_usage[project.limiter].refunds.add(accountUnits);
    return {{u"refunded"_s, true},
            {u"account_units"_s, accountUnits},
            {u"project_units"_s, wholeUnits(back.projectMilli)},
            {u"reason"_s, QString()}};
}

/// Redis cannot be told now, but this engine need not go on calling: it decides alone meanwhile.
void Feedback::freezeLocally(const std::shared_ptr<Project> &project, const Verdict &verdict)
{
    if (!verdict.rate)
        return;
    const qint64 nowMs = m_clock.monotonicMs();
    const qint64 untilMs = nowMs + std::clamp(verdict.retryAfterMs, shortestFreezeMs, longestFreezeMs);
    const bool isProject = verdict.scope == "project"_L1;
    const QByteArray key = isProject ? project->keys.project() : project->keys.account(verdict.account);
    if (m_missed.size() < mostMissed)
        m_missed.insert(key + ' ' + verdict.family.toUtf8(), {project, verdict, untilMs});
    // A freeze of one family would freeze all the others too.
    if (verdict.family.isEmpty())
        project->local.freeze(isProject ? QByteArray() : key, untilMs * 1000, nowMs * 1000);
}

QCoro::Task<Result<QJsonObject>> Feedback::release(QString limiter, QString holdId)
{
    const Result<Hold> hold = holdFrom(limiter, holdId);
    if (!hold)
        co_return fail(hold.error());
    const auto project = projectOf(limiter, hold->project);
    if (!project)
        co_return fail(project.error());
    const QByteArrayList keys{(*project)->keys.places(hold->accountName)};
    const QByteArrayList places{hold->place.toUtf8()};
    const Result<redis::Value> answer = co_await ask(*project, "tidekeeper_release_v1", keys, places, 0);
    if (!answer)
        co_return fail(answer.error());
    co_return QJsonObject{{u"released"_s, answer->integer == 1}};
}

Result<std::shared_ptr<Project>> Feedback::projectOf(const QString &limiter, const QString &name) const
{
    if (m_projects.of(limiter).isEmpty())
        return fail(u"unknown_limiter"_s, u"There is no limiter of this name with buckets."_s);
    std::shared_ptr<Project> project = m_projects.find(limiter, name);
    if (!project)
        return fail(Projects::unknown());
    return project;
}

QCoro::Task<Result<redis::Value>> Feedback::ask(std::shared_ptr<Project> project, QByteArray function,
                                                QByteArrayList keys, QByteArrayList arguments,
                                                qsizetype items)
{
    const auto call = std::make_shared<AwaitedCall>();
    call->project = std::move(project);
    call->function = std::move(function);
    call->keys = std::move(keys);
    call->arguments = std::move(arguments);
    call->items = items;
    call->endMs = m_clock.monotonicMs() + answerMs;
    auto ended = redis::awaitCallback<Result<redis::Value>>([this, &call](auto done) {
        call->done = std::move(done);
        m_caller.send(call);
    });
    Result<redis::Value> answer = co_await ended;
    co_return answer;
}

} // namespace tidekeeper::limits
