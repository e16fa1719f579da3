// SPDX-License-Identifier: Apache-2.0
#include "http/accountview.h"

#include "core/band.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

protocol::SubscriptionView subscriptionView(const core::Subscription &s, core::Band band)
{
    protocol::SubscriptionView view;
    view.id = s.id;
    view.provider = s.provider;
    view.resource = s.resource;
    view.band = core::toString(band);
    view.expiresAt = s.expiresAt;
    view.lastSuccessAt = s.lastSuccessAt;
    view.nextTargetAt = s.nextTargetAt;
    view.nextAttemptAt = s.nextAttemptAt;
    view.attempts = s.attempts;
    view.deferrals = s.deferrals;
    view.error = {s.errorClass, s.errorCode, s.errorText, s.errorAt};
    view.data = s.data;
    return view;
}

QMap<QString, qint64> counts(const QJsonObject &json)
{
    QMap<QString, qint64> result;
    for (auto it = json.begin(); it != json.end(); ++it)
        result.insert(it.key(), it.value().toInteger());
    return result;
}

} // namespace

protocol::AccountView accountView(const store::AccountRow &row, qint64 nowMs, qint64 windowMs,
                                  const core::PushLimits &pushLimits)
{
    const core::Account &account = row.account;
    protocol::AccountView view;
    view.id = account.id;
    view.email = account.email;
    view.project = account.project;
    view.client = account.client;
    view.language = account.language;
    view.state = core::toString(account.state);
    view.stateReason = account.stateReason;
    view.grantKind = core::toString(account.grantKind);
    view.grant = account.grant;
    view.hasRefreshToken = account.hasRefreshToken;
    view.createdAt = account.createdAt;
    view.updatedAt = account.updatedAt;
    core::Band worst = row.subscriptions.isEmpty() ? core::Band::None : core::Band::Healthy;
    for (const core::Subscription &subscription : row.subscriptions) {
        const core::Band band = core::bandOf(subscription.expiresAt, nowMs, windowMs);
        worst = std::max(worst, band);
        view.subscriptions.append(subscriptionView(subscription, band));
        if (subscription.provider == store::gmailProvider) {
            view.gmail = view.subscriptions.constLast();
            view.historyId = subscription.data[u"history_id"_s].toString();
        }
    }
    view.band = core::toString(worst);
    const core::PushState push =
        core::pushStateOf(view.gmail.lastSuccessAt, row.lastPushAt, row.pushesSince, nowMs, pushLimits);
    view.push = {core::toString(push), row.lastPushAt};
    return view;
}

protocol::AccountListView accountListView(const store::AccountPage &page, qint64 nowMs, qint64 windowMs,
                                          const core::PushLimits &pushLimits)
{
    protocol::AccountListView view;
    for (const store::AccountRow &row : page.rows)
        view.accounts.append(accountView(row, nowMs, windowMs, pushLimits));
    view.total = page.total;
    view.nextCursor = page.nextCursor;
    view.bands = counts(page.facets[u"band"_s].toObject());
    view.states = counts(page.facets[u"state"_s].toObject());
    return view;
}

} // namespace tidekeeper::http
