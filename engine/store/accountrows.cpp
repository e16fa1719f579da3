// SPDX-License-Identifier: Apache-2.0
#include "store/accountrows.h"

#include "core/planner.h"

#include <QtCore/QJsonDocument>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::store {

const QString accountColumns =
    u"a.id, a.email, a.project, a.client, a.language, a.state, a.state_reason, a.grant_kind, a.grant_data,"
    " a.created_at, a.updated_at, a.generation, COALESCE(g.fingerprint, ''),"
    " CASE WHEN g.account IS NULL THEN 0 ELSE 1 END, COALESCE(p.last_push_at, 0),"
    " (SELECT value FROM settings WHERE name = 'pushes.since')"_s;

const QString accountJoins = u" LEFT JOIN grants g ON g.account = a.id AND g.retired_at = 0"
                             " LEFT JOIN pushes p ON p.account = a.id"_s;

const QString selectSubscriptions =
    u"SELECT s.id, s.account, s.provider, s.resource, s.external_id, s.expires_at, s.last_success_at,"
    " s.next_target_at, s.next_attempt_at, s.due_at, s.attempts, s.deferrals, s.error_class, s.error_code,"
    " s.error_text, s.error_at, s.data, s.generation FROM subscriptions s"_s;

const QString insertSubscriptionSql =
    u"INSERT INTO subscriptions (resource, external_id, expires_at, last_success_at, next_target_at,"
    " next_attempt_at, due_at, attempts, deferrals, error_class, error_code, error_text, error_at, data,"
    " id, account, provider, active, generation)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"_s;

const QString updateSubscriptionSql =
    u"UPDATE subscriptions SET resource = ?, external_id = ?, expires_at = ?, last_success_at = ?,"
    " next_target_at = ?, next_attempt_at = ?, due_at = ?, attempts = ?, deferrals = ?, error_class = ?,"
    " error_code = ?, error_text = ?, error_at = ?, data = ?, generation = generation + 1"
    " WHERE id = ? AND generation = ?"_s;

namespace {

// What both statements above begin with.
QVariantList stateOf(const core::Subscription &s)
{
    const qint64 expiresAt = std::max<qint64>(0, s.expiresAt);
    return {s.resource,
            s.externalId,
            expiresAt,
            s.lastSuccessAt,
            s.nextTargetAt,
            s.nextAttemptAt,
            core::dueAt(expiresAt, s.nextTargetAt, s.nextAttemptAt),
            s.attempts,
            s.deferrals,
            s.errorClass,
            s.errorCode,
            s.errorText,
            s.errorAt,
            compactJson(s.data)};
}

} // namespace

AccountRow accountRow(const Statement &row)
{
    AccountRow result;
    core::Account &account = result.account;
    account.id = row.text(0);
    account.email = row.text(1);
    account.project = row.text(2);
    account.client = row.text(3);
    account.language = row.text(4);
    account.state = core::accountStateFrom(row.text(5)).value_or(core::AccountState::Paused);
    account.stateReason = row.text(6);
    account.grantKind = core::grantKindFrom(row.text(7)).value_or(core::GrantKind::None);
    account.grant = jsonOf(row.text(8));
    account.createdAt = row.integer(9);
    account.updatedAt = row.integer(10);
    account.generation = row.integer(11);
    result.grantFingerprint = row.text(12);
    account.hasRefreshToken = row.integer(13) != 0;
    result.lastPushAt = row.integer(14);
    result.pushesSince = row.integer(15);
    return result;
}

core::Subscription subscriptionOf(const Statement &row)
{
    core::Subscription s;
    s.id = row.text(0);
    s.account = row.text(1);
    s.provider = row.text(2);
    s.resource = row.text(3);
    s.externalId = row.text(4);
    s.expiresAt = row.integer(5);
    s.lastSuccessAt = row.integer(6);
    s.nextTargetAt = row.integer(7);
    s.nextAttemptAt = row.integer(8);
    s.dueAt = row.integer(9);
    s.attempts = static_cast<int>(row.integer(10));
    s.deferrals = static_cast<int>(row.integer(11));
    s.errorClass = row.text(12);
    s.errorCode = row.text(13);
    s.errorText = row.text(14);
    s.errorAt = row.integer(15);
    s.data = jsonOf(row.text(16));
    s.generation = row.integer(17);
    return s;
}

QString placeholders(qsizetype n)
{
    return QStringList(n, u"?"_s).join(u", "_s);
}

Result<> insertSubscription(Statement &insert, const core::Subscription &subscription, bool active)
{
    const QVariantList values = stateOf(subscription)
        + QVariantList{subscription.id, subscription.account, subscription.provider, active ? 1 : 0};
    return insert.run(values);
}

Result<qint64> updateSubscription(Statement &update, const core::Subscription &subscription)
{
    return update.change(stateOf(subscription) + QVariantList{subscription.id, subscription.generation});
}

QString compactJson(const QJsonObject &object)
{
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

QJsonObject jsonOf(const QString &text)
{
    return QJsonDocument::fromJson(text.toUtf8()).object();
}

} // namespace tidekeeper::store
