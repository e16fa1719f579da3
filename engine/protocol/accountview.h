// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QList>
#include <QtCore/QMap>
#include <QtCore/QString>

// Accounts as they travel over the API. Instants are epoch milliseconds UTC, 0 = never or unknown. Reading is
// lenient: what is missing or unknown keeps its default, so that a console can speak to an engine of another version.
namespace tidekeeper::protocol {

struct ErrorView {
    QString
        errorClass; ///< rate, transient, revoked, configuration, account, owned_elsewhere; empty = no error
    QString code;
    QString text;
    qint64 at = 0;
};

struct SubscriptionView {
    QString id;
    QString provider;
    QString resource;
    QString band;
    qint64 expiresAt = 0;
    qint64 lastSuccessAt = 0;
    qint64 nextTargetAt = 0;
    qint64 nextAttemptAt = 0;
    int attempts = 0;
    int deferrals = 0;
    ErrorView error;
    QJsonObject data; ///< the provider's own
};

/// Whether the Gmail watch is seen to deliver.
struct PushView {
    QString state; ///< proven, unproven, silent
    qint64 lastPushAt = 0;
};

struct AccountView {
    QString id;
    QString email;
    QString project;
    QString client;
    QString language;
    QString state;
    QString stateReason;
    QString band;
    QString grantKind;
    QJsonObject grant; ///< without secrets
    bool hasRefreshToken = false;
    qint64 createdAt = 0;
    qint64 updatedAt = 0;
    PushView push;
    QString historyId; ///< unsigned 64 bit; empty = unknown
    SubscriptionView gmail; ///< its fields stand beside those of the account: watch_expires_at, attempts …
    QList<SubscriptionView> subscriptions;
};

struct AccountListView {
    QList<AccountView> accounts;
    qint64 total = 0;
    QString nextCursor; ///< empty on the last page
    QMap<QString, qint64> bands;
    QMap<QString, qint64> states;
};

struct ImportErrorView {
    int line = 0; ///< from 1
    QString code;
    QString field; ///< may be empty
    QString text;
};

struct ImportView {
    int created = 0;
    int updated = 0;
    int unchanged = 0;
    QList<ImportErrorView> errors;
};

QJsonObject toJson(const AccountView &account);
QJsonObject toJson(const AccountListView &list);
QJsonObject toJson(const ImportView &result);
AccountView accountFrom(const QJsonObject &json);
AccountListView accountListFrom(const QJsonObject &json);
ImportView importFrom(const QJsonObject &json);

} // namespace tidekeeper::protocol
