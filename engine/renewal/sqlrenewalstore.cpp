// SPDX-License-Identifier: Apache-2.0
#include "renewal/sqlrenewalstore.h"

#include "core/planner.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

/// The list computes bands, which nobody reads here.
constexpr qint64 anyWindowMs = 6 * core::dayMs;
constexpr int mostOnOneMailbox = 1'000;

} // namespace

QCoro::Task<Result<QList<store::DueRow>>> SqlRenewalStore::due(qint64 nowMs, int limit)
{
    return m_accounts.due(nowMs, limit);
}

QCoro::Task<Result<int>> SqlRenewalStore::takePaced(core::Pace pace, int wanted, qint64 nowMs)
{
    return m_pace.take(pace, wanted, nowMs);
}

QCoro::Task<Result<>> SqlRenewalStore::returnPaced(core::Pace pace, int unused)
{
    return m_pace.giveBack(pace, unused);
}

QCoro::Task<Result<qint64>> SqlRenewalStore::activeSubscriptions()
{
    return m_pace.activeSubscriptions();
}

QCoro::Task<Result<int>> SqlRenewalStore::pullForward(QList<store::AccountRow> rows, qint64 spreadMs,
                                                      qint64 nowMs)
{
    return m_pace.pullForward(std::move(rows), spreadMs, nowMs);
}

QCoro::Task<Result<QList<store::AccountRow>>> SqlRenewalStore::leaving(qint64 nowMs, int limit)
{
    store::AccountFilter filter;
    filter.state = toString(core::AccountState::Leaving);
    filter.limit = limit;
    Result<store::AccountPage> page = co_await m_accounts.list(filter, nowMs, anyWindowMs);
    if (!page)
        co_return fail(page.error());
    co_return page->rows;
}

QCoro::Task<Result<store::AccountRow>> SqlRenewalStore::find(QString account)
{
    return m_accounts.find(std::move(account));
}

QCoro::Task<Result<bool>> SqlRenewalStore::mailboxIsShared(core::Account account, qint64 nowMs)
{
    store::AccountFilter filter;
    filter.text = account.email;
    filter.project = account.project;
    filter.limit = mostOnOneMailbox;
    const Result<store::AccountPage> page = co_await m_accounts.list(filter, nowMs, anyWindowMs);
    if (!page)
        co_return fail(page.error());
    co_return std::any_of(page->rows.begin(), page->rows.end(), [&](const store::AccountRow &row) {
        return row.account.email == account.email && row.account.id != account.id
            && row.account.state != core::AccountState::Leaving;
    });
}

QCoro::Task<Result<core::Subscription>> SqlRenewalStore::save(core::Subscription subscription)
{
    return m_accounts.compareAndSet(std::move(subscription));
}

QCoro::Task<Result<>> SqlRenewalStore::setState(core::Account account, core::AccountState state,
                                                QString reason, qint64 nowMs)
{
    return m_accounts.setState(account.id, state, std::move(reason), account.generation, nowMs);
}

QCoro::Task<Result<>> SqlRenewalStore::retire(core::Account account, QString reason, qint64 nowMs)
{
    // Only a stored token can be set aside; the other kinds of grant are not ours.
    if (account.grantKind != core::GrantKind::Stored)
        return m_accounts.setState(account.id, core::AccountState::NeedsReauth, std::move(reason),
                                   account.generation, nowMs);
    return m_grants.retire(account.id, std::move(reason), account.generation, nowMs);
}

QCoro::Task<Result<>> SqlRenewalStore::purge(QString account)
{
    return m_accounts.purge(std::move(account));
}

} // namespace tidekeeper::renewal
