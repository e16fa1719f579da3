// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>
#include <QtCore/QList>

namespace tidekeeper::redis {

/// One RESP2 value as the server sent it.
struct Value {
    enum class Type : quint8 { Nil, Integer, String, Status, Error, Array };

    Type type = Type::Nil;
    qint64 integer = 0;
    QByteArray text; ///< String, Status, Error
    QList<Value> items;

    bool isNil() const { return type == Type::Nil; }
    bool isError() const { return type == Type::Error; }
    /// The value as a whole number: Integer, or a String of digits; otherwise fallback.
    qint64 toInteger(qint64 fallback = 0) const;
};

} // namespace tidekeeper::redis
