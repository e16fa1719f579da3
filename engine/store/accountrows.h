// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/accountchange.h"
#include "store/statement.h"

// Rows of accounts and subscriptions ↔ structs, for every statement that reads or writes them.
namespace tidekeeper::store {

/// What accountRow() reads: "SELECT " + accountColumns + " FROM accounts a" + accountJoins.
extern const QString accountColumns;
extern const QString accountJoins; ///< " LEFT JOIN grants g … LEFT JOIN pushes p …"
constexpr int accountColumnCount = 16;
AccountRow accountRow(const Statement &row); ///< without its subscriptions

/// "SELECT … FROM subscriptions s" with the columns that subscription() reads.
extern const QString selectSubscriptions;
core::Subscription subscriptionOf(const Statement &row);

/// ?, ?, … for n values.
QString placeholders(qsizetype n);

Result<> insertSubscription(Statement &insert, const core::Subscription &subscription, bool active);
extern const QString insertSubscriptionSql;

/// Compare-and-set on the generation that the struct carries; counts the rows changed.
extern const QString updateSubscriptionSql;
Result<qint64> updateSubscription(Statement &update, const core::Subscription &subscription);

QString compactJson(const QJsonObject &object);
QJsonObject jsonOf(const QString &text);

} // namespace tidekeeper::store
