// SPDX-License-Identifier: Apache-2.0
#include "renewal/renewalflow.h"

#include "core/planner.h"

#include <algorithm>
#include <array>
#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr qint64 releaseDelayMs = 1'000;

std::optional<core::Subscription> subscriptionOf(const store::AccountRow &row, const QString &id)
{
    const auto found = std::find_if(row.subscriptions.begin(), row.subscriptions.end(),
                                    [&](const core::Subscription &s) { return s.id == id; });
    return found == row.subscriptions.end() ? std::nullopt : std::optional(*found);
}

bool isDue(const core::Subscription &row, qint64 nowMs, bool force)
{
    // Not even an operator overrules a rate answer: each early call can push Google's lock-out further away.
    if (force && row.errorClass != toString(core::OutcomeKind::Rate))
        return true;
    return core::dueAt(row.expiresAt, row.nextTargetAt, row.nextAttemptAt) <= nowMs;
}

queue::JobOutcome release(const Error &why)
{
    return {queue::JobOutcome::Kind::Release, releaseDelayMs, why.code, why.text};
}

} // namespace

QCoro::Task<queue::JobOutcome> RenewalFlow::run(queue::Job job)
{
    const QString accountId = job.payload.value("account"_L1).toString();
    const Result<store::AccountRow> known = co_await m_ports.store.find(accountId);
    if (!known)
        co_return known.error().code == "not_found"_L1 ? queue::JobOutcome{} : release(known.error());

    const Result<MailboxHold> hold = co_await m_ports.leases.take(mailboxKey(known->account.email));
    if (!hold)
        co_return release(hold.error());
    if (!*hold)
        co_return release({u"mailbox_busy"_s, u"Another worker holds this mailbox."_s, {}});

    // Whoever held the mailbox before may have done it all: from here on only the row read now counts.
    const Result<store::AccountRow> row = co_await m_ports.store.find(accountId);
    if (!row)
        co_return row.error().code == "not_found"_L1 ? queue::JobOutcome{} : release(row.error());
    const auto subscription = subscriptionOf(*row, job.payload.value("subscription"_L1).toString());
    const Wishes wishes{job.payload.value("force"_L1).toBool(), job.payload.value("take_over"_L1).toBool(),
                        job.payload.value("repair"_L1).toBool()};
    const bool movedAway = row->account.email != known->account.email;
    if (!subscription || movedAway || row->account.state != core::AccountState::Active
        || !isDue(*subscription, m_ports.clock.nowMs(), wishes.force))
        co_return queue::JobOutcome{};
    const Provider *provider = m_providers.find(subscription->provider);
    if (!provider || provider->observe)
        co_return queue::JobOutcome{};
    const queue::JobOutcome outcome = co_await renew(*row, *subscription, *provider, wishes);
    co_return outcome;
}

QCoro::Task<queue::JobOutcome> RenewalFlow::renew(store::AccountRow row, core::Subscription subscription,
                                                  Provider provider, Wishes wishes)
{
    const core::Account account = row.account;
    const QString metCode = heldFor(subscription);
    const Breakers::Ticket ticket = co_await m_incidents.admit(account, metCode, wishes.force);
    if (!ticket.admitted) {
        const core::Subscription later = core::postponed(subscription, m_ports.clock.nowMs(), ticket.waitMs);
        const Result<core::Subscription> saved = co_await m_ports.store.save(later);
        co_return saved || saved.error().code == "conflict"_L1 ? queue::JobOutcome{} : release(saved.error());
    }

    const qint64 begunMs = m_ports.clock.monotonicMs();
    const Attempted attempted =
        co_await attempt(m_ports, provider, Verb::Renew, account, subscription, wishes);
    const core::Outcome outcome = attempted.outcome;
    measure(subscription, outcome, m_ports.clock.monotonicMs() - begunMs);

    const Incidents::Verdict verdict = co_await m_incidents.judge(row, metCode, ticket, attempted);
    const core::ApplyContext context{m_ports.clock.nowMs(), provider.windowMs, provider.lifetimeMs,
                                     provider.cursorKeys,   m_ports.random(),  verdict.waitMs,
                                     verdict.hold};
    const Result<core::Applied> applied = co_await save(subscription, outcome, context);
    if (!applied && applied.error().code == "not_found"_L1)
        co_return queue::JobOutcome{}; // forgotten meanwhile
    if (!applied)
        co_return queue::JobOutcome{queue::JobOutcome::Kind::Retry, -1, u"store"_s, applied.error().text};
    if (applied->accountState) {
        const Result<> changed = co_await changeState(account, outcome, *applied->accountState);
        // A conflict means that somebody changed the account meanwhile, for example with a new token: that wins.
        if (!changed)
            co_return changed.error().code == "conflict"_L1 ? queue::JobOutcome{} : release(changed.error());
    }
    for (const core::Notice &notice : applied->notices)
        m_ports.publish(notice.type, notice.event);
    if (outcome.kind == core::OutcomeKind::Revoked && applied->accountState)
        co_return queue::JobOutcome{queue::JobOutcome::Kind::Dead, -1, toString(outcome.kind), outcome.text};
    co_return queue::JobOutcome{};
}

void RenewalFlow::measure(const core::Subscription &before, const core::Outcome &outcome, qint64 tookMs) const
{
    if (!m_ports.measure)
        return;
    AttemptMeasure measured{outcome.kind, outcome.code, tookMs};
    const qint64 lagMs = m_ports.clock.nowMs() - before.nextTargetAt;
    if (outcome.kind == core::OutcomeKind::Renewed && before.nextTargetAt > 0 && lagMs >= 0)
        measured.lagMs = lagMs;
    m_ports.measure(measured);
}

/// The provider has answered: whatever happens now, only the saving is repeated, never the call, until the database is
/// back or the engine stops. Nothing else could be begun meanwhile, since every job reads its row first. A row that can
/// be read and for half a minute not be written is given up: it must not hold a worker for ever.
QCoro::Task<Result<core::Applied>> RenewalFlow::save(core::Subscription subscription, core::Outcome outcome,
                                                     core::ApplyContext context)
{
    constexpr std::array<qint64, 8> pausesMs{100, 200, 500, 1'000, 2'000, 5'000, 10'000, 20'000};
    for (size_t failures = 0;;) {
        core::Applied applied = core::applyOutcome(subscription, outcome, context);
        const Result<core::Subscription> saved = co_await m_ports.store.save(applied.subscription);
        if (saved)
            co_return applied;
        if (saved.error().code == "not_found"_L1)
            co_return fail(saved.error());
        if (saved.error().code == "conflict"_L1) {
            // Somebody wrote the row meanwhile: the outcome is applied to what stands there now.
            const Result<store::AccountRow> row = co_await m_ports.store.find(subscription.account);
            const auto fresh = row ? subscriptionOf(*row, subscription.id) : std::nullopt;
            if (fresh) {
                subscription = *fresh;
                continue;
            }
            if (row || row.error().code == "not_found"_L1)
                co_return fail(u"not_found"_s, u"The subscription was removed while it was renewed."_s);
        }
        if (failures >= pausesMs.size()) {
            const Result<store::AccountRow> row = co_await m_ports.store.find(subscription.account);
            if (row)
                co_return fail(saved.error());
        }
        co_await m_ports.sleep(pausesMs.at(std::min(failures++, pausesMs.size() - 1)));
    }
}

QCoro::Task<Result<>> RenewalFlow::changeState(core::Account account, core::Outcome outcome,
                                               core::AccountState state)
{
    const qint64 nowMs = m_ports.clock.nowMs();
    if (outcome.kind == core::OutcomeKind::Revoked)
        return m_ports.store.retire(account, outcome.code, nowMs);
    return m_ports.store.setState(account, state, outcome.code, nowMs);
}

} // namespace tidekeeper::renewal
