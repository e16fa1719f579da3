// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"
#include "core/result.h"
#include "core/subscription.h"

#include <QtCore/QList>

#include <optional>

// What a PUT, PATCH, import line or pause makes of an account and its subscriptions. Pure: no SQL, no clock.
namespace tidekeeper::store {

/// A secret value that travels from the API to the seal and nowhere else.
struct GrantChange {
    enum class Kind : quint8 {
        Keep,
        Remove, ///< the stored token when grantKind is Stored, whatever grant there is when it is None
        Set,
    };
    Kind kind = Kind::Keep;
    core::GrantKind grantKind = core::GrantKind::Stored;
    QByteArray sealedRefreshToken; ///< already sealed; the store never sees the plain text
    QString keyId;
    QString fingerprint; ///< keyed hash of the token: tells a new one from the one in use
    QJsonObject grant; ///< for http and delegated
};

/// What a PUT or PATCH may carry; what is left out keeps its value.
struct AccountChange {
    std::optional<QString> email;
    std::optional<QString> project;
    std::optional<QString> client;
    std::optional<QString> language;
    std::optional<core::AccountState> state; ///< paused, active or leaving
    std::optional<QString> stateReason;
    bool pausedIfNew = false; ///< an account that is not there yet begins paused; others keep their state
    std::optional<qint64> watchExpiresAt;
    std::optional<QString> historyId; ///< empty = forget it
    QJsonObject
        watchData; ///< what every watch is to ask for: topic, label_ids, label_filter_behavior; null = forget it
    GrantChange grant;
};

struct AccountRow {
    core::Account account;
    QList<core::Subscription> subscriptions;
    QString grantFingerprint; ///< of the refresh token in use
    qint64 lastPushAt = 0; ///< the newest proof that its watch delivers; epoch ms, 0 = never
    qint64 pushesSince = 0; ///< when the first push of anybody was reported; 0 = never
};

/// The provider of the subscription that every account has, "<account id>/gmail".
extern const QString gmailProvider;
QString gmailSubscriptionId(const QString &accountId);

/// The Gmail subscription of a row, or null.
const core::Subscription *gmailSubscription(const AccountRow &row);

struct Changed {
    AccountRow row;
    bool account = false; ///< which parts differ from before and are to be saved
    bool subscriptions = false;
    bool grant = false;
};

// Failure: conflict, when the state does not allow it; the text says what to do. Generations are left to the store.

/// A new account: active, with its Gmail subscription and first target.
Result<Changed> created(const QString &id, const AccountChange &change, qint64 nowMs);
/// Calls back an account that was leaving.
Result<Changed> put(const AccountRow &before, const AccountChange &change, qint64 nowMs);
/// Refuses an account that is leaving.
Result<Changed> patched(const AccountRow &before, const AccountChange &change, qint64 nowMs);

} // namespace tidekeeper::store
