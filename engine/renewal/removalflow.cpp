// SPDX-License-Identifier: Apache-2.0
#include "renewal/removalflow.h"

#include "renewal/attempt.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr int mostAttempts = 3;

bool mayComeRight(const core::Outcome &outcome)
{
    return outcome.kind == core::OutcomeKind::Transient || outcome.kind == core::OutcomeKind::Rate
        || outcome.kind == core::OutcomeKind::Configuration;
}

queue::JobOutcome later(const QString &errorClass, const QString &text)
{
    return {queue::JobOutcome::Kind::Retry, -1, errorClass, text};
}

} // namespace

QCoro::Task<queue::JobOutcome> RemovalFlow::run(queue::Job job)
{
    const QString accountId = job.payload.value("account"_L1).toString();
    const Result<store::AccountRow> known = co_await m_ports.store.find(accountId);
    if (!known)
        co_return known.error().code == "not_found"_L1 ? queue::JobOutcome{}
                                                       : later(u"store"_s, known.error().text);
    const Result<MailboxHold> hold = co_await m_ports.leases.take(mailboxKey(known->account.email));
    if (!hold || !*hold)
        co_return queue::JobOutcome{queue::JobOutcome::Kind::Release, 1'000, {}, {}};

    const Result<store::AccountRow> row = co_await m_ports.store.find(accountId);
    if (!row || row->account.state != core::AccountState::Leaving)
        co_return queue::JobOutcome{}; // purged already, or called back
    const Result<bool> shared = co_await m_ports.store.mailboxIsShared(row->account, m_ports.clock.nowMs());
    if (!shared)
        co_return later(u"store"_s, shared.error().text);
    if (!*shared) {
        const std::optional<core::Outcome> failure = co_await stopAll(*row);
        if (failure && mayComeRight(*failure) && job.attempts + 1 < mostAttempts)
            co_return later(toString(failure->kind), failure->text);
    }
    const Result<> purged = co_await m_ports.store.purge(accountId);
    if (!purged && purged.error().code == "database_unavailable"_L1)
        co_return later(u"store"_s, purged.error().text);
    if (purged)
        m_ports.publish(u"account.removed"_s, {{u"account"_s, accountId}});
    co_return queue::JobOutcome{};
}

/// The first outcome that left something behind at a provider.
QCoro::Task<std::optional<core::Outcome>> RemovalFlow::stopAll(store::AccountRow row)
{
    std::optional<core::Outcome> failure;
    for (const core::Subscription &subscription : row.subscriptions) {
        const Provider *provider = m_providers.find(subscription.provider);
        const bool mayLive = subscription.lastSuccessAt > 0 || subscription.expiresAt > m_ports.clock.nowMs();
        if (!provider || provider->observe || !mayLive)
            continue;
        const Attempted attempted =
            co_await attempt(m_ports, *provider, Verb::Remove, row.account, subscription);
        if (attempted.outcome.kind != core::OutcomeKind::Gone && !failure)
            failure = attempted.outcome;
    }
    co_return failure;
}

} // namespace tidekeeper::renewal
