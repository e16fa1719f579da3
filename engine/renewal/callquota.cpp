// SPDX-License-Identifier: Apache-2.0
#include "renewal/callquota.h"

#include "pluginhost/pendingreply.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr qint64 longestQuotaWaitMs = 10'000;
/// The decision itself; the limiter's own deadline is shorter.
constexpr int quotaDeadlineMs = 2'000;
/// Whoever waited longer than this asks again with cost 0 before calling: the scope may be frozen by now.
constexpr qint64 unaskedWaitMs = 1'000;

core::Outcome refusedBy(const QuotaAnswer &answer, qint64 nowMs)
{
    if (answer.refusedBy == "never"_L1)
        return core::Outcome::configuration(
            core::FaultScope::Project, u"cost_exceeds_capacity"_s,
            u"The project's bucket never holds the %1 units that one renewal costs."_s.arg(answer.cost),
            u"Raise account_capacity and project_capacity to at least %1."_s.arg(answer.cost));
    const qint64 until = answer.retryAfterMs > 0 ? nowMs + answer.retryAfterMs : 0;
    return core::Outcome::rate(u"quota_refused"_s,
                               u"The quota limiter refused the call (%1)."_s.arg(answer.refusedBy), until);
}

core::Outcome limiterFault(const Error &error)
{
    const bool ours = error.code == "unknown_project"_L1 || error.code == "unknown_limiter"_L1
        || error.code == "unknown_method"_L1 || error.code == "invalid_request"_L1;
    if (ours)
        return core::Outcome::configuration(
            core::FaultScope::Project, error.code, error.text,
            u"Check the project's section and that the limiter's plugin runs."_s);
    return core::Outcome::rate(error.code, error.text, 0); // our limiter is away: deferred, not failed
}

QCoro::Task<Result<QuotaAnswer>> ask(const Ports &ports, const Provider &provider, QuotaRequest request)
{
    Limiters &limiters = ports.limiters;
    const QString limiter = provider.limiter;
    return pluginhost::callQuota(
        quotaDeadlineMs,
        [&limiters, limiter, request](QuotaReply *reply) { limiters.acquire(limiter, request, reply); },
        provider.callOptions);
}

QuotaRequest requestFor(const Provider &provider, Verb verb, const core::Account &account)
{
    QuotaRequest request;
    request.account = account.email;
    request.project = account.project;
    request.method = verb == Verb::Renew ? provider.method : provider.removeMethod;
    request.lane = u"renewal"_s;
    request.maxWaitMs = longestQuotaWaitMs;
    request.caller = u"renewal"_s;
    request.deadlineMs = quotaDeadlineMs / 2;
    return request;
}

/// Whether the API answered the call as such, whatever it said.
bool isServed(core::OutcomeKind kind)
{
    using Kind = core::OutcomeKind;
    return kind == Kind::Renewed || kind == Kind::Gone || kind == Kind::Account || kind == Kind::Configuration
        || kind == Kind::OwnedElsewhere;
}

} // namespace

QCoro::Task<CallQuota> acquireQuota(const Ports &ports, Provider provider, Verb verb, core::Account account)
{
    if (provider.limiter.isEmpty())
        co_return CallQuota();
    QuotaRequest request = requestFor(provider, verb, account);
    Result<QuotaAnswer> answer = co_await ask(ports, provider, request);
    const QString grantId = answer ? answer->grantId : QString();
    if (answer && answer->granted && answer->waitMs > 0) {
        co_await ports.sleep(answer->waitMs);
        if (answer->waitMs > unaskedWaitMs) {
            request.method.clear();
            request.cost = 0;
            request.maxWaitMs = 0;
            answer = co_await ask(ports, provider, request);
            if (!grantId.isEmpty() && !(answer && answer->granted))
                ports.refund(provider.limiter, grantId);
        }
    }
    if (!answer)
        co_return CallQuota{limiterFault(answer.error()), {}};
    if (!answer->granted)
        co_return CallQuota{refusedBy(*answer, ports.clock.nowMs()), {}};
    co_return CallQuota{std::nullopt, grantId};
}

void reportOutcome(const Ports &ports, const Provider &provider, const core::Account &account,
                   const CallQuota &quota, const core::Outcome &outcome)
{
    const bool isRate = outcome.kind == core::OutcomeKind::Rate;
    if (provider.limiter.isEmpty() || (!isRate && !isServed(outcome.kind)))
        return;
    QJsonObject verdict{{u"account"_s, account.email}, {u"project"_s, account.project}, {u"rate"_s, isRate}};
    if (isRate) {
        verdict[u"scope"_s] = outcome.wholeProject ? u"project"_s : u"account"_s;
        const qint64 untilMs = outcome.until - ports.clock.nowMs();
        verdict[u"retry_after_ms"_s] = outcome.until > 0 ? std::max<qint64>(untilMs, 1) : 0;
    }
    if (!quota.grantId.isEmpty())
        verdict[u"grant_id"_s] = quota.grantId;
    ports.report(provider.limiter, verdict);
}

} // namespace tidekeeper::renewal
