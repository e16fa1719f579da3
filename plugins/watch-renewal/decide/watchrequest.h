// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace watchrenewal {

/// How long Gmail grants a watch for.
constexpr qint64 lifetimeMs = 7LL * 24 * 3'600'000;

/// Whether the subscription names a topic of its own.
bool hasOwnTopic(const QJsonObject &subscription);

/// The topic of a subscription: its own, or else the project's. Empty when neither has one.
QString topicOf(const QJsonObject &subscription, const QString &projectTopic);

/// The body of users.watch. The customer's label filter is sent as it is stored: a renewal without it would widen the
/// watch to the whole mailbox.
QJsonObject watchBody(const QJsonObject &subscription, const QString &topic);

} // namespace watchrenewal
