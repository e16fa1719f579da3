// SPDX-License-Identifier: Apache-2.0
// RenewalEngine::explain() and status().
#include "core/explain.h"
#include "renewal/renewalengine.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

core::StopKind stopKindOf(BreakerKind kind)
{
    switch (kind) {
    case BreakerKind::Configuration:
        return core::StopKind::Configuration;
    case BreakerKind::Transient:
        return core::StopKind::Pause;
    case BreakerKind::Wave:
        return core::StopKind::Wave;
    }
    Q_UNREACHABLE();
}

} // namespace

QCoro::Task<Result<QJsonObject>> RenewalEngine::explain(QString account)
{
    const Result<store::AccountRow> row = co_await m_ports.store.find(account);
    if (!row)
        co_return fail(row.error());
    QJsonArray subscriptions;
    for (const core::Subscription &subscription : row->subscriptions) {
        const Provider *provider = m_providers.find(subscription.provider);
        const auto stop = m_incidents.stopOf(row->account, heldFor(subscription));
        core::ExplainInput input{row->account, subscription, m_ports.clock.nowMs()};
        input.hasProvider = provider != nullptr;
        if (provider) {
            input.observe = provider->observe;
            input.observeReason = m_providers.heldBecause();
            input.windowMs = provider->windowMs;
            input.declaredLifetimeMs = provider->lifetimeMs;
        }
        if (stop) {
            input.stop = stopKindOf(stop->kind);
            input.stopText = stop->text;
            input.stopWaitMs = stop->waitMs;
        }
        input.waveText = m_incidents.holdingWave(row->account, heldFor(subscription));
        input.heldBack = m_lastScan.held;
        input.lastPushAt = row->lastPushAt;
        input.pushState =
            core::pushStateOf(subscription.lastSuccessAt, row->lastPushAt, row->pushesSince, input.nowMs, {});
        if (m_ports.grantHint)
            input.grantHint = m_ports.grantHint(row->account.project, row->account.client);
        subscriptions.append(core::explain(input));
    }
    co_return QJsonObject{{u"account"_s, row->account.id},
                          {u"state"_s, toString(row->account.state)},
                          {u"subscriptions"_s, subscriptions}};
}

QJsonObject RenewalEngine::status() const
{
    const QJsonObject lastScan{{u"at"_s, m_lastScan.at},
                               {u"due"_s, m_lastScan.due},
                               {u"enqueued"_s, m_lastScan.enqueued},
                               {u"held"_s, m_lastScan.held},
                               {u"leaving"_s, m_lastScan.leaving},
                               {u"took_ms"_s, m_lastScan.tookMs},
                               {u"error"_s, m_lastScan.errorText}};
    return {{u"mode"_s, everyProviderObserves() ? u"observe"_s : u"renew"_s},
            {u"mode_reason"_s, m_providers.heldBecause()},
            {u"last_scan"_s, lastScan},
            {u"capacity"_s, m_backlog.capacity()},
            {u"breakers"_s, m_incidents.openBreakers()},
            {u"waves"_s, m_incidents.openWaves()},
            {u"pauses"_s, m_incidents.pauses()}};
}

} // namespace tidekeeper::renewal
