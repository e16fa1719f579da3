// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QJsonValue>
#include <QtCore/QStringList>

#include <optional>

// Single fields of an account's JSON, checked. Failure: invalid_request with the field; never with its value.
namespace tidekeeper::http {

tl::unexpected<Error> badField(const QString &field, const QString &text);

/// Refuses what is not in known, with the nearest name, and what is readOnly, with a sentence.
Result<> checkFieldNames(const QJsonObject &body, const QStringList &known, const QStringList &readOnly);

enum class Null : quint8 { Refused, Empty };

/// A string of at most `most` UTF-8 bytes without control characters. Null, where allowed, is the empty string;
/// an empty string itself is only allowed where null is.
Result<QString> textField(const QString &field, const QJsonValue &value, qsizetype most, Null null);

/// A token: a string of at most 4096 bytes without any space.
Result<QString> secretField(const QString &field, const QJsonValue &value);

/// Epoch milliseconds; null, 0 and negative numbers mean unknown and give 0.
Result<qint64> instantField(const QString &field, const QJsonValue &value);

/// A string of digits, an unsigned 64 bit number; null and "" give an empty string.
Result<QString> historyIdField(const QString &field, const QJsonValue &value);

/// "projects/PROJECT/topics/TOPIC"; null and "" give null: the project's topic.
Result<QJsonValue> topicField(const QString &field, const QJsonValue &value);

/// Gmail label ids: an array of strings or, as in a column of a table, one string with commas. Null and none at all
/// give null: the whole mailbox.
Result<QJsonValue> labelIdsField(const QString &field, const QJsonValue &value);

/// "include" or "exclude"; null and "" give null.
Result<QJsonValue> labelBehaviorField(const QString &field, const QJsonValue &value);

/// A language tag such as "ko" or "pt-BR"; null and "" give an empty string.
Result<QString> languageField(const QString &field, const QJsonValue &value);

/// https, or http to this machine.
Result<QString> tokenUrlField(const QString &field, const QJsonValue &value);

} // namespace tidekeeper::http
