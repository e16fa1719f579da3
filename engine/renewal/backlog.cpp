// SPDX-License-Identifier: Apache-2.0
#include "renewal/backlog.h"

#include "core/band.h"
#include "core/planner.h"
#include "log/log.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr qint64 countedForMs = 50'000; // once for each scan of a minute
constexpr std::size_t measuredRenewals = 200;
constexpr qint64 assumedMs = 1'000;

} // namespace

bool Backlog::isUrgent(const store::DueRow &row) const
{
    const Provider *provider = m_providers.find(row.subscription.section(u'/', -1));
    if (!provider)
        return false;
    const qint64 lifetimeMs = core::lifetimeMs(row.expiresAt, row.lastSuccessAt, provider->lifetimeMs);
    const qint64 windowMs = core::effectiveWindowMs(provider->windowMs, lifetimeMs);
    return core::bandOf(row.expiresAt, m_ports.clock.nowMs(), windowMs) >= core::Band::Late;
}

QCoro::Task<Backlog::Admitted> Backlog::admit(QList<store::DueRow> due)
{
    co_await count();
    const auto calm = static_cast<int>(
        std::count_if(due.begin(), due.end(), [this](const store::DueRow &row) { return !isUrgent(row); }));
    Admitted admitted;
    if (calm > 0) {
        const Result<int> taken = co_await m_ports.store.takePaced(pace(), calm, m_ports.clock.nowMs());
        if (taken)
            admitted.paced = *taken;
        else // the urgent ones do not wait for it
            log::warning(u"renewal"_s, taken.error().text);
    }
    admitted.held = calm - admitted.paced;
    int left = admitted.paced;
    for (const store::DueRow &row : due) {
        if (isUrgent(row) || left-- > 0)
            admitted.rows.append(row);
    }
    co_return admitted;
}

QCoro::Task<> Backlog::giveBack(int unused)
{
    if (unused <= 0)
        co_return;
    const Result<> returned = co_await m_ports.store.returnPaced(pace(), unused);
    if (!returned)
        log::warning(u"renewal"_s, returned.error().text);
}

void Backlog::measured(qint64 tookMs)
{
    m_tookMs.push_back(tookMs);
    if (m_tookMs.size() > measuredRenewals)
        m_tookMs.pop_front();
}

qint64 Backlog::estimateMs(qint64 renewals) const
{
    const Provider *provider = strictest();
    const qint64 each = medianMs() > 0 ? medianMs() : assumedMs;
    return renewals * each / (provider ? provider->consumers : 1);
}

core::BulkPlan Backlog::planOf(const QMap<QString, qint64> &renewals) const
{
    core::BulkInput input;
    input.renewals = renewals;
    input.workMs = estimateMs(std::accumulate(renewals.begin(), renewals.end(), qint64(0)));
    if (const Provider *provider = strictest()) {
        input.costUnits = provider->costUnits;
        if (m_ports.quotas)
            input.quotas = m_ports.quotas(provider->limiter);
    }
    return core::bulkPlan(input);
}

QJsonObject Backlog::capacity() const
{
    const Provider *provider = strictest();
    if (!provider || !m_subscriptions)
        return {};
    core::CapacityInput input;
    input.subscriptions = *m_subscriptions;
    input.windowMs = core::effectiveWindowMs(provider->windowMs, provider->lifetimeMs);
    input.batchSize = provider->batchSize;
    input.scanIntervalMs = provider->scanIntervalMs;
    input.consumers = provider->consumers;
    input.medianMs = medianMs();
    input.costUnits = provider->costUnits;
    input.dayBudget = m_ports.dayBudget ? m_ports.dayBudget(provider->limiter) : 0;
    return core::capacityObject(input);
}

QCoro::Task<> Backlog::count()
{
    const qint64 nowMs = m_ports.clock.monotonicMs();
    if (m_subscriptions && nowMs - m_countedAtMs < countedForMs)
        co_return;
    const Result<qint64> counted = co_await m_ports.store.activeSubscriptions();
    if (!counted)
        co_return; // the last count is near enough
    m_subscriptions = *counted;
    m_countedAtMs = nowMs;
}

core::Pace Backlog::pace() const
{
    // The one that renews most often sets the mean: rather too fast than too slow.
    qint64 cycleMs = core::dayMs;
    for (const Provider &provider : m_providers.all()) {
        const qint64 windowMs = core::effectiveWindowMs(provider.windowMs, provider.lifetimeMs);
        cycleMs = std::min(cycleMs, provider.lifetimeMs - windowMs);
    }
    return core::backlogPace(m_subscriptions.value_or(0), cycleMs);
}

/// The provider with the least time to renew everybody in.
const Provider *Backlog::strictest() const
{
    const auto &all = m_providers.all();
    const auto least = std::min_element(all.begin(), all.end(), [](const Provider &a, const Provider &b) {
        return std::pair(a.windowMs, a.name) < std::pair(b.windowMs, b.name);
    });
    return least == all.end() ? nullptr : &*least;
}

qint64 Backlog::medianMs() const
{
    if (m_tookMs.empty())
        return 0;
    std::vector<qint64> sorted(m_tookMs.begin(), m_tookMs.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return std::max<qint64>(1, *middle);
}

} // namespace tidekeeper::renewal
