// SPDX-License-Identifier: Apache-2.0
#include "limits/acquirecall.h"

#include "limits/bucketservice.h"
#include "limits/grantid.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 longestAnswerWayMs = 25; ///< left of a deadline for the answer to arrive
constexpr qsizetype decisionItems = 9;

} // namespace

AcquireCall::AcquireCall(BucketService *owner, std::shared_ptr<Project> where, const QuotaRequest &request,
                         QuotaReply *whom, qint64 nowMonotonicMs)
    : service(owner), account(request.account), lane(request.lane), caller(request.caller), id(request.id),
      cost(request.cost), maxWaitMs(request.maxWaitMs), reply(whom)
{
    project = std::move(where);
    const Keys &names = project->keys;
    keys = {names.account(account), names.project(), names.policy()};
    if (!id.isEmpty())
        keys.append(names.id(account, id));
    if (request.hold)
        keys.append(names.places(names.accountName(account)));
    function = request.hold ? "tidekeeper_hold_v1" : "tidekeeper_acquire_v1";
    arguments = {QByteArray::number(cost), lane.toLatin1(), QByteArray::number(request.maxWaitMs),
                 QByteArray("")};
    if (const QByteArray family = project->policy.familyOf(request.method); !family.isEmpty())
        arguments.append(family);
    items = decisionItems + (request.hold ? 2 : 0);
    endMs = nowMonotonicMs + request.deadlineMs;
    lastStartMs = endMs - std::min(longestAnswerWayMs, request.deadlineMs / 4);
    isRepeatable = !id.isEmpty();
}

void AcquireCall::ended(AnswerKind kind, const Result<redis::Value> &answer)
{
    if (service)
        service->ended(*this, kind, answer);
    else
        reply->finish(failureOf(AnswerKind::Broken, answer), {});
}

QuotaAnswer AcquireCall::decision(const redis::Value &value) const
{
    const auto item = [&value](qsizetype i) { return value.items[i].toInteger(); };
    QuotaAnswer answer;
    answer.granted = item(0) == 1;
    answer.waitMs = item(1);
    answer.retryAfterMs = item(2);
    answer.cost = cost;
    answer.refusedBy = QString::fromLatin1(value.items[3].text);
    answer.accountLevel = item(4);
    answer.accountCapacity = item(5);
    answer.projectLevel = item(6);
    answer.projectCapacity = item(7);
    answer.nowUs = item(8);
    if (answer.refusedBy == "never"_L1)
        answer.largestCost = largestCost();
    if (answer.granted)
        answer.grantId = grantId(answer);
    if (const QByteArray place = value.items.value(decisionItems).text; !place.isEmpty()) {
        answer.holdId = holdIdOf(
            project->limiter, {project->name, project->keys.accountName(account), QString::fromUtf8(place)});
        answer.holdExpiresAt = item(decisionItems + 1) / 1'000;
    }
    return answer;
}

QString AcquireCall::grantId(const QuotaAnswer &answer) const
{
    const qint64 charged = answer.refusedBy.isEmpty() ? cost : 0;
    return grantIdOf(project->limiter, {project->name, account, charged, answer.nowUs, answer.degraded, id});
}

} // namespace tidekeeper::limits
