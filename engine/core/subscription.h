// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace tidekeeper::core {

/// What expires. Instants are epoch milliseconds UTC; 0 means "never happened" or "unknown", and an unknown
/// expiry is due now.
struct Subscription {
    QString id; ///< "<account id>/<provider>" for providers with one per account
    QString account; ///< account id
    QString provider; ///< "gmail"
    QString resource; ///< provider's own, may be empty
    QString externalId;
    qint64 expiresAt = 0;
    qint64 lastSuccessAt = 0;
    qint64 nextTargetAt = 0; ///< when the planner wants it renewed
    qint64 nextAttemptAt = 0; ///< back-off or deferral; 0 = none
    qint64 dueAt = 0; ///< max(nextTargetAt, nextAttemptAt): what the scan's index is on
    int attempts = 0; ///< real failures since the last success
    int deferrals = 0; ///< limiter or 429 since the last success
    QString errorClass; ///< rate, transient, revoked, configuration, account, owned_elsewhere; empty = none
    QString errorCode;
    QString errorText;
    qint64 errorAt = 0;
    qint64 generation = 0; ///< compare-and-set
    QJsonObject
        data; ///< Gmail: topic, label_ids, label_filter_behavior, history_id (string, unsigned 64 bit)
};

} // namespace tidekeeper::core
