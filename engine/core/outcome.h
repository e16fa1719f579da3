// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/account.h"

#include <tidekeeper/status.h>

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace tidekeeper::core {

/// What one attempt to renew came to. The first nine are the words of SubscriptionProvider::renew; Local is a
/// fault of our own (a grant that cannot be decrypted): nothing was sent and nothing is held against the account.
enum class OutcomeKind : quint8 {
    Renewed,
    Gone,
    Rate,
    Transient,
    Unauthorized,
    Revoked,
    Configuration,
    Account,
    OwnedElsewhere,
    Local
};

QString
toString(OutcomeKind kind); ///< "renewed", "gone", … , "owned_elsewhere", "local": the error class shown

/// Whom a fault of configuration stops.
enum class FaultScope : quint8 { Client, Project, Domain };

QString toString(FaultScope scope); ///< "client", "project", "domain"

struct Outcome {
    OutcomeKind kind = OutcomeKind::Transient;
    QString code; ///< stable, the other side's own where it has one: "invalid_grant", "http_503"
    QString text; ///< one sentence
    QString remedy; ///< what a human has to do; always there for configuration
    QJsonObject data; ///< merged into the stored data

    qint64 expiresAt = 0; ///< renewed: epoch ms, > 0
    qint64 endedAt = 0; ///< any but renewed: epoch ms since which nothing is alive any more; 0 = as before

    qint64 until = 0; ///< rate: epoch ms, 0 = unknown
    bool wholeProject = false; ///< rate: all accounts of the project were meant
    FaultScope scope = FaultScope::Client; ///< configuration
    AccountState accountState = AccountState::Parked; ///< account: Parked or NeedsReauth

    static Outcome transient(QString code, QString text);
    static Outcome local(QString code, QString text);
    static Outcome rate(QString code, QString text, qint64 until);
    static Outcome revoked(QString code, QString text, QString remedy = {});
    static Outcome configuration(FaultScope scope, QString code, QString text, QString remedy);
    static Outcome account(AccountState state, QString reason, QString text, QString remedy = {});
};

/// A provider's answer in the words of SubscriptionProvider::renew; result may also carry a stable "code". What
/// cannot be understood, and a renewal without a usable expiry, is transient.
Outcome outcomeFrom(const Status &status, const QJsonObject &result);

} // namespace tidekeeper::core
