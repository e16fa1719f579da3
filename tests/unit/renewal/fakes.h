// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/planner.h"
#include "fakeincidents.h"
#include "renewal/renewalengine.h"
#include "support/fakeclock.h"

#include <QtCore/QHash>

#include <algorithm>
#include <deque>
#include <utility>

// The outside world of renewing, in memory. Every fake counts what it is asked and fails when told to.
namespace tidekeeper::renewal::test {

using namespace Qt::StringLiterals;

inline QuotaAnswer granted(qint64 waitMs = 0, const QString &grantId = u"g-1"_s)
{
    QuotaAnswer answer;
    answer.granted = true;
    answer.waitMs = waitMs;
    answer.grantId = grantId;
    return answer;
}

inline store::AccountRow accountRow(const QString &id, const QString &email, qint64 expiresAt)
{
    store::AccountRow row;
    row.account.id = id;
    row.account.email = email;
    row.account.grantKind = core::GrantKind::Stored;
    row.account.hasRefreshToken = true;
    core::Subscription subscription;
    subscription.id = id + u"/gmail"_s;
    subscription.account = id;
    subscription.provider = u"gmail"_s;
    subscription.expiresAt = expiresAt;
    row.subscriptions = {subscription};
    return row;
}

class FakeStore final : public RenewalStore {
public:
    void add(const store::AccountRow &row) { rows.insert(row.account.id, row); }
    core::Subscription &subscription(const QString &account) { return rows[account].subscriptions.first(); }
    const core::Account &account(const QString &id) { return rows[id].account; }
    int count(core::AccountState state) const
    {
        return static_cast<int>(
            std::count_if(rows.begin(), rows.end(),
                          [state](const store::AccountRow &row) { return row.account.state == state; }));
    }

    QCoro::Task<Result<QList<store::DueRow>>> due(qint64 nowMs, int limit) override
    {
        if (dueFails)
            co_return fail(u"database_unavailable"_s, u"The database is away."_s);
        QList<store::DueRow> due;
        for (const store::AccountRow &row : std::as_const(rows)) {
            const core::Subscription &s = row.subscriptions.first();
            if (row.account.state == core::AccountState::Active
                && core::dueAt(s.expiresAt, s.nextTargetAt, s.nextAttemptAt) <= nowMs)
                due.append({s.id, row.account.id, row.account.email, row.account.project, row.account.client,
                            s.expiresAt, s.lastSuccessAt});
        }
        std::sort(due.begin(), due.end(), [](const store::DueRow &a, const store::DueRow &b) {
            return std::pair(a.expiresAt, a.account) < std::pair(b.expiresAt, b.account);
        });
        co_return due.mid(0, limit);
    }

    QCoro::Task<Result<int>> takePaced(core::Pace pace, int wanted, qint64 nowMs) override
    {
        co_return core::takePaced(level, pace, wanted, nowMs);
    }

    QCoro::Task<Result<>> returnPaced(core::Pace pace, int unused) override
    {
        core::returnPaced(level, pace, unused);
        co_return Result<>();
    }

    QCoro::Task<Result<qint64>> activeSubscriptions() override
    {
        co_return count(core::AccountState::Active);
    }

    QCoro::Task<Result<int>> pullForward(QList<store::AccountRow> pulled, qint64 spreadMs,
                                         qint64 nowMs) override
    {
        for (const store::AccountRow &row : pulled)
            subscription(row.account.id).nextTargetAt = core::pulledTarget(row.account.id, nowMs, spreadMs);
        co_return static_cast<int>(pulled.size());
    }

    QCoro::Task<Result<QList<store::AccountRow>>> leaving(qint64, int) override
    {
        QList<store::AccountRow> leaving;
        for (const store::AccountRow &row : std::as_const(rows)) {
            if (row.account.state == core::AccountState::Leaving)
                leaving.append(row);
        }
        co_return leaving;
    }

    QCoro::Task<Result<store::AccountRow>> find(QString account) override
    {
        if (isAway)
            co_return fail(u"database_unavailable"_s, u"The database is away."_s);
        if (!rows.contains(account))
            co_return fail(u"not_found"_s, u"No such account."_s);
        co_return rows.value(account);
    }

    QCoro::Task<Result<bool>> mailboxIsShared(core::Account account, qint64) override
    {
        co_return std::any_of(rows.begin(), rows.end(), [&](const store::AccountRow &row) {
            return row.account.id != account.id && row.account.email == account.email;
        });
    }

    QCoro::Task<Result<core::Subscription>> save(core::Subscription subscription) override
    {
        ++saves;
        if (!saveFailures.empty()) {
            const QString code = saveFailures.front();
            saveFailures.pop_front();
            co_return fail(code, u"Told to fail."_s);
        }
        core::Subscription &stored = this->subscription(subscription.account);
        if (stored.generation != subscription.generation)
            co_return fail(u"conflict"_s, u"Changed meanwhile."_s);
        ++subscription.generation;
        stored = subscription;
        co_return subscription;
    }

    QCoro::Task<Result<>> setState(core::Account account, core::AccountState state, QString reason,
                                   qint64) override
    {
        core::Account &stored = rows[account.id].account;
        if (stored.generation != account.generation)
            co_return fail(u"conflict"_s, u"Changed meanwhile."_s);
        stored.state = state;
        stored.stateReason = reason;
        ++stored.generation;
        co_return Result<>();
    }

    QCoro::Task<Result<>> retire(core::Account account, QString reason, qint64 nowMs) override
    {
        ++retired;
        return setState(std::move(account), core::AccountState::NeedsReauth, std::move(reason), nowMs);
    }

    QCoro::Task<Result<>> purge(QString account) override
    {
        rows.remove(account);
        co_return Result<>();
    }

    QHash<QString, store::AccountRow> rows;
    core::PaceLevel level;
    std::deque<QString> saveFailures;
    bool dueFails = false;
    bool isAway = false; ///< for find()
    int saves = 0;
    int retired = 0;
};

class FakeLeases final : public MailboxLeases {
public:
    QCoro::Task<Result<MailboxHold>> take(QString mailbox) override
    {
        taken.append(mailbox);
        if (onTake)
            onTake();
        if (busy)
            co_return MailboxHold();
        ++held;
        co_return MailboxHold(this, [](FakeLeases *leases) { --leases->held; });
    }

    QStringList taken;
    bool busy = false;
    int held = 0;
    std::function<void()> onTake;
};

class FakeLimiters final : public Limiters {
public:
    void acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply) override
    {
        Q_UNUSED(limiter)
        requests.append(request);
        reply->finish(status, next.isEmpty() ? granted() : next.takeFirst());
    }

    QList<QuotaRequest> requests;
    QList<QuotaAnswer> next;
    Status status;
};

class FakeProvider final : public SubscriptionProvider {
public:
    QJsonObject describe() const override
    {
        return {{u"provider"_s, u"gmail"_s},
                {u"lifetime_ms"_s, 7 * core::dayMs},
                {u"window_ms"_s, 6 * core::dayMs},
                {u"limiter"_s, u"gmail"_s},
                {u"method"_s, u"gmail.users.watch"_s},
                {u"remove_method"_s, u"gmail.users.stop"_s},
                {u"cursor_keys"_s, QJsonArray{u"history_id"_s}},
                {u"batch_size"_s, batchSize},
                {u"cost"_s, cost},
                {u"mode"_s, mode}};
    }

    void renew(const QJsonObject &subscription, const QString &accessToken, Reply *reply) override
    {
        renewed.append(subscription);
        tokens.append(accessToken);
        if (onRenew)
            onRenew();
        reply->finish(Status::success(), next.isEmpty() ? usual : next.takeFirst());
    }

    void remove(const QJsonObject &subscription, const QString &, Reply *reply) override
    {
        removed.append(subscription);
        reply->finish(Status::success(), removal);
    }

    QList<QJsonObject> renewed;
    QList<QJsonObject> removed;
    QStringList tokens;
    QList<QJsonObject> next;
    QJsonObject usual;
    QJsonObject removal{{u"outcome"_s, u"gone"_s}};
    std::function<void()> onRenew;
    int batchSize = 500;
    int cost = 0;
    QString mode = u"renew"_s;
};

/// Everything above, wired; the engine is made by the test once it has said how its provider describes itself.
struct World {
    tidekeeper::test::FakeClock clock;
    FakeStore store;
    FakeIncidents incidents;
    FakeLeases leases;
    FakeLimiters limiters;
    FakeProvider provider;
    Providers providers;
    oauth::TokenResult token = oauth::AccessToken{u"ya29.first"_s, 0, {}};
    QHash<QString, oauth::TokenResult> tokenOf; ///< of single accounts
    QStringList rejectedTokens; ///< as asked for, one per token call
    QList<queue::JobSpec> enqueued;
    QList<qint64> sleepsMs;
    QList<QJsonObject> verdicts; ///< as the limiter was told
    QStringList refunded;
    QList<core::EndedAttempt> shared; ///< with other engines
    QStringList events;
    QHash<QString, QJsonObject> lastEvent;
    std::unique_ptr<RenewalEngine> engine;

    World()
    {
        provider.usual = {{u"outcome"_s, u"renewed"_s}, {u"expires_at"_s, clock.nowMs() + 7 * core::dayMs}};
    }

    RenewalEngine &start()
    {
        providers.add(&provider);
        engine = std::make_unique<RenewalEngine>(ports(), providers);
        return *engine;
    }

    Ports ports()
    {
        return {store,
                incidents,
                leases,
                limiters,
                clock,
                [this](core::Account account, QString rejected) {
                    return answerToken(std::move(account), std::move(rejected));
                },
                [this](QList<queue::JobSpec> specs) { return take(std::move(specs)); },
                [this](const QString &type, const QJsonObject &event) {
                    events.append(type);
                    lastEvent.insert(type, event);
                },
                [this](const QString &, const QJsonObject &verdict) { verdicts.append(verdict); },
                [this](const QString &, const QString &grantId) { refunded.append(grantId); },
                [this](const core::EndedAttempt &attempt) { shared.append(attempt); },
                [this](qint64 ms) { return sleep(ms); },
                [] { return 0.5; }};
    }

    QCoro::Task<oauth::TokenResult> answerToken(core::Account account, QString rejected)
    {
        rejectedTokens.append(rejected);
        if (tokenOf.contains(account.id))
            co_return tokenOf.value(account.id);
        if (token && !rejected.isEmpty())
            co_return oauth::AccessToken{u"ya29.fresh"_s, 0, {}};
        co_return token;
    }

    QCoro::Task<Result<QList<queue::EnqueueResult>>> take(QList<queue::JobSpec> specs)
    {
        QList<queue::EnqueueResult> results;
        for (const queue::JobSpec &spec : specs) {
            const bool live = std::any_of(enqueued.begin(), enqueued.end(), [&](const queue::JobSpec &other) {
                return other.dedupeKey == spec.dedupeKey;
            });
            results.append({spec.dedupeKey, live ? u"waiting"_s : u"added"_s});
            if (!live)
                enqueued.append(spec);
        }
        co_return results;
    }

    QCoro::Task<> sleep(qint64 ms)
    {
        sleepsMs.append(ms);
        clock.advance(ms);
        co_return;
    }

    queue::JobOutcome renew(const QString &account, bool force = false)
    {
        queue::Job job;
        job.type = RenewalEngine::renewJob;
        job.payload = {
            {u"account"_s, account}, {u"subscription"_s, account + u"/gmail"_s}, {u"force"_s, force}};
        return QCoro::waitFor(engine->run(job));
    }

    /// Runs everything that was enqueued, as a worker does.
    void work()
    {
        const QList<queue::JobSpec> specs = std::exchange(enqueued, {});
        for (const queue::JobSpec &spec : specs) {
            queue::Job job;
            job.type = spec.type;
            job.payload = spec.payload;
            QCoro::waitFor(engine->run(job));
        }
    }
};

} // namespace tidekeeper::renewal::test
