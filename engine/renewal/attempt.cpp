// SPDX-License-Identifier: Apache-2.0
#include "renewal/attempt.h"

#include "pluginhost/pendingreply.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr int callDeadlineMs = 10'000;
constexpr qint64 longestQuotaWaitMs = 10'000;
/// The decision itself; the limiter's own deadline is shorter.
constexpr int quotaDeadlineMs = 2'000;
/// Whoever waited longer than this asks again with cost 0 before calling: the scope may be frozen by now.
constexpr qint64 unaskedWaitMs = 1'000;

QJsonObject jsonOf(const core::Subscription &row, const core::Account &account)
{
    return {{u"id"_s, row.id},
            {u"account"_s, row.account},
            {u"project"_s, account.project},
            {u"resource"_s, row.resource},
            {u"external_id"_s, row.externalId},
            {u"expires_at"_s, row.expiresAt},
            {u"last_success_at"_s, row.lastSuccessAt},
            {u"data"_s, row.data}};
}

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

/// Ends when the call may be made; otherwise says why not.
QCoro::Task<std::optional<core::Outcome>> acquireQuota(const Ports &ports, const Provider &provider,
                                                       Verb verb, core::Account account)
{
    if (provider.limiter.isEmpty())
        co_return std::nullopt;
    QuotaRequest request;
    request.account = account.email;
    request.project = account.project;
    request.method = verb == Verb::Renew ? provider.method : provider.removeMethod;
    request.lane = u"renewal"_s;
    request.maxWaitMs = longestQuotaWaitMs;
    request.caller = u"renewal"_s;
    request.deadlineMs = quotaDeadlineMs / 2;
    Result<QuotaAnswer> answer = co_await ask(ports, provider, request);
    if (answer && answer->granted && answer->waitMs > 0) {
        co_await ports.sleep(answer->waitMs);
        if (answer->waitMs > unaskedWaitMs) {
            request.method.clear();
            request.cost = 0;
            request.maxWaitMs = 0;
            answer = co_await ask(ports, provider, request);
        }
    }
    if (!answer)
        co_return limiterFault(answer.error());
    if (!answer->granted)
        co_return refusedBy(*answer, ports.clock.nowMs());
    co_return std::nullopt;
}

QCoro::Task<core::Outcome> call(const Provider &provider, Verb verb, QJsonObject subscription, QString token)
{
    SubscriptionProvider *plugin = provider.plugin;
    const auto begin = [plugin, verb, subscription, token](Reply *reply) {
        if (verb == Verb::Renew)
            plugin->renew(subscription, token, reply);
        else
            plugin->remove(subscription, token, reply);
    };
    const Result<QJsonObject> result = co_await pluginhost::call(callDeadlineMs, begin, provider.callOptions);
    co_return result ? core::outcomeFrom(Status::success(), *result) : core::outcomeFrom(result.error(), {});
}

} // namespace

QCoro::Task<Attempted> attempt(const Ports &ports, Provider provider, Verb verb, core::Account account,
                               core::Subscription subscription)
{
    QString rejected;
    bool freshToken = false;
    for (int calls = 0; calls < 2; ++calls) {
        const oauth::TokenResult token = co_await ports.token(account, rejected);
        if (!token)
            co_return Attempted{token.error(), Step::Token, freshToken};
        freshToken = freshToken || !token->kept;

        const std::optional<core::Outcome> refusal = co_await acquireQuota(ports, provider, verb, account);
        if (refusal)
            co_return Attempted{*refusal, Step::Quota, freshToken};

        core::Outcome outcome = co_await call(provider, verb, jsonOf(subscription, account), token->token);
        if (outcome.kind != core::OutcomeKind::Unauthorized)
            co_return Attempted{outcome, Step::Watch, freshToken};
        rejected = token->token;
    }
    const core::Outcome unauthorized = core::Outcome::transient(
        u"unauthorized"_s, u"A fresh access token was not accepted either; tried again later."_s);
    co_return Attempted{unauthorized, Step::Watch, true};
}

} // namespace tidekeeper::renewal
