// SPDX-License-Identifier: Apache-2.0
#include "renewal/attempt.h"

#include "pluginhost/pendingreply.h"
#include "renewal/callquota.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr int callDeadlineMs = 10'000;

QJsonObject jsonOf(const core::Subscription &row, const core::Account &account, const Wishes &wishes)
{
    QJsonObject json{{u"id"_s, row.id},
                     {u"account"_s, row.account},
                     {u"project"_s, account.project},
                     {u"resource"_s, row.resource},
                     {u"external_id"_s, row.externalId},
                     {u"expires_at"_s, row.expiresAt},
                     {u"last_success_at"_s, row.lastSuccessAt},
                     {u"data"_s, row.data}};
    if (wishes.takeOver)
        json.insert(u"take_over"_s, true);
    if (wishes.repair)
        json.insert(u"repair"_s, true);
    return json;
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
                               core::Subscription subscription, Wishes wishes)
{
    QString rejected;
    bool freshToken = false;
    for (int calls = 0; calls < 2; ++calls) {
        const oauth::TokenResult token = co_await ports.token(account, rejected);
        if (!token)
            co_return Attempted{token.error(), Step::Token, freshToken};
        freshToken = freshToken || !token->kept;

        const CallQuota quota = co_await acquireQuota(ports, provider, verb, account);
        if (quota.refusal)
            co_return Attempted{*quota.refusal, Step::Quota, freshToken};

        core::Outcome outcome =
            co_await call(provider, verb, jsonOf(subscription, account, wishes), token->token);
        reportOutcome(ports, provider, account, quota, outcome);
        if (outcome.kind != core::OutcomeKind::Unauthorized)
            co_return Attempted{outcome, Step::Watch, freshToken};
        rejected = token->token;
    }
    const core::Outcome unauthorized = core::Outcome::transient(
        u"unauthorized"_s, u"A fresh access token was not accepted either; tried again later."_s);
    co_return Attempted{unauthorized, Step::Watch, true};
}

} // namespace tidekeeper::renewal
