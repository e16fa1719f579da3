// SPDX-License-Identifier: Apache-2.0
#include "protocol/accountview.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::protocol {

namespace {

QJsonValue toJson(const ErrorView &error)
{
    if (error.errorClass.isEmpty())
        return QJsonValue::Null;
    return QJsonObject{{u"class"_s, error.errorClass},
                       {u"code"_s, error.code},
                       {u"text"_s, error.text},
                       {u"at"_s, error.at}};
}

ErrorView errorFrom(const QJsonObject &json)
{
    return {json[u"class"_s].toString(), json[u"code"_s].toString(), json[u"text"_s].toString(),
            json[u"at"_s].toInteger()};
}

QJsonObject toJson(const PushView &push)
{
    return {{u"state"_s, push.state}, {u"last_push_at"_s, push.lastPushAt}};
}

// What a subscription and, for its Gmail subscription, an account have in common.
void addProgress(QJsonObject &json, const SubscriptionView &s)
{
    json[u"last_success_at"_s] = s.lastSuccessAt;
    json[u"next_target_at"_s] = s.nextTargetAt;
    json[u"next_attempt_at"_s] = s.nextAttemptAt;
    json[u"attempts"_s] = s.attempts;
    json[u"deferrals"_s] = s.deferrals;
    json[u"error"_s] = toJson(s.error);
}

void readProgress(const QJsonObject &json, SubscriptionView &s)
{
    s.lastSuccessAt = json[u"last_success_at"_s].toInteger();
    s.nextTargetAt = json[u"next_target_at"_s].toInteger();
    s.nextAttemptAt = json[u"next_attempt_at"_s].toInteger();
    s.attempts = json[u"attempts"_s].toInt();
    s.deferrals = json[u"deferrals"_s].toInt();
    s.error = errorFrom(json[u"error"_s].toObject());
}

QJsonObject toJson(const SubscriptionView &s)
{
    QJsonObject json{{u"id"_s, s.id},     {u"provider"_s, s.provider},    {u"resource"_s, s.resource},
                     {u"band"_s, s.band}, {u"expires_at"_s, s.expiresAt}, {u"data"_s, s.data}};
    addProgress(json, s);
    return json;
}

SubscriptionView subscriptionFrom(const QJsonObject &json)
{
    SubscriptionView s;
    s.id = json[u"id"_s].toString();
    s.provider = json[u"provider"_s].toString();
    s.resource = json[u"resource"_s].toString();
    s.band = json[u"band"_s].toString();
    s.expiresAt = json[u"expires_at"_s].toInteger();
    s.data = json[u"data"_s].toObject();
    readProgress(json, s);
    return s;
}

QJsonObject toJson(const QMap<QString, qint64> &counts)
{
    QJsonObject json;
    for (auto it = counts.begin(); it != counts.end(); ++it)
        json[it.key()] = it.value();
    return json;
}

QMap<QString, qint64> countsFrom(const QJsonObject &json)
{
    QMap<QString, qint64> counts;
    for (auto it = json.begin(); it != json.end(); ++it)
        counts.insert(it.key(), it.value().toInteger());
    return counts;
}

} // namespace

QJsonObject toJson(const AccountView &account)
{
    QJsonArray subscriptions;
    for (const SubscriptionView &s : account.subscriptions)
        subscriptions.append(toJson(s));
    QJsonObject json{{u"id"_s, account.id},
                     {u"email"_s, account.email},
                     {u"project"_s, account.project},
                     {u"client"_s, account.client},
                     {u"language"_s, account.language},
                     {u"state"_s, account.state},
                     {u"state_reason"_s, account.stateReason},
                     {u"band"_s, account.band},
                     {u"grant_kind"_s, account.grantKind},
                     {u"grant"_s, account.grant},
                     {u"has_refresh_token"_s, account.hasRefreshToken},
                     {u"created_at"_s, account.createdAt},
                     {u"updated_at"_s, account.updatedAt},
                     {u"watch_expires_at"_s, account.gmail.expiresAt},
                     {u"history_id"_s, account.historyId},
                     {u"push"_s, toJson(account.push)},
                     {u"subscriptions"_s, subscriptions}};
    addProgress(json, account.gmail);
    return json;
}

AccountView accountFrom(const QJsonObject &json)
{
    AccountView account;
    account.id = json[u"id"_s].toString();
    account.email = json[u"email"_s].toString();
    account.project = json[u"project"_s].toString();
    account.client = json[u"client"_s].toString();
    account.language = json[u"language"_s].toString();
    account.state = json[u"state"_s].toString();
    account.stateReason = json[u"state_reason"_s].toString();
    account.band = json[u"band"_s].toString();
    account.grantKind = json[u"grant_kind"_s].toString();
    account.grant = json[u"grant"_s].toObject();
    account.hasRefreshToken = json[u"has_refresh_token"_s].toBool();
    account.createdAt = json[u"created_at"_s].toInteger();
    account.updatedAt = json[u"updated_at"_s].toInteger();
    account.push = {json[u"push"_s][u"state"_s].toString(), json[u"push"_s][u"last_push_at"_s].toInteger()};
    account.historyId = json[u"history_id"_s].toString();
    for (const QJsonValue subscription : json[u"subscriptions"_s].toArray()) {
        account.subscriptions.append(subscriptionFrom(subscription.toObject()));
        if (account.subscriptions.constLast().provider == "gmail"_L1)
            account.gmail = account.subscriptions.constLast();
    }
    return account;
}

QJsonObject toJson(const AccountListView &list)
{
    QJsonArray accounts;
    for (const AccountView &account : list.accounts)
        accounts.append(toJson(account));
    return {{u"accounts"_s, accounts},
            {u"total"_s, list.total},
            {u"next_cursor"_s, list.nextCursor.isEmpty() ? QJsonValue() : QJsonValue(list.nextCursor)},
            {u"facets"_s, QJsonObject{{u"band"_s, toJson(list.bands)}, {u"state"_s, toJson(list.states)}}}};
}

AccountListView accountListFrom(const QJsonObject &json)
{
    AccountListView list;
    for (const QJsonValue account : json[u"accounts"_s].toArray())
        list.accounts.append(accountFrom(account.toObject()));
    list.total = json[u"total"_s].toInteger();
    list.nextCursor = json[u"next_cursor"_s].toString();
    const QJsonObject facets = json[u"facets"_s].toObject();
    list.bands = countsFrom(facets[u"band"_s].toObject());
    list.states = countsFrom(facets[u"state"_s].toObject());
    return list;
}

QJsonObject toJson(const ImportView &result)
{
    QJsonArray errors;
    for (const ImportErrorView &error : result.errors) {
        errors.append(QJsonObject{{u"line"_s, error.line},
                                  {u"code"_s, error.code},
                                  {u"field"_s, error.field},
                                  {u"text"_s, error.text}});
    }
    return {{u"created"_s, result.created},
            {u"updated"_s, result.updated},
            {u"unchanged"_s, result.unchanged},
            {u"failed"_s, result.errors.size()},
            {u"errors"_s, errors}};
}

ImportView importFrom(const QJsonObject &json)
{
    ImportView result;
    result.created = json[u"created"_s].toInt();
    result.updated = json[u"updated"_s].toInt();
    result.unchanged = json[u"unchanged"_s].toInt();
    for (const QJsonValue value : json[u"errors"_s].toArray()) {
        const QJsonObject error = value.toObject();
        result.errors.append({error[u"line"_s].toInt(), error[u"code"_s].toString(),
                              error[u"field"_s].toString(), error[u"text"_s].toString()});
    }
    return result;
}

} // namespace tidekeeper::protocol
