// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/functionlibrary.h"

#include <QCoro/QCoroTask>

namespace tidekeeper::queue {

/// "tk:{q:<name>}": the prefix of all keys of a queue, with its hash tag.
QByteArray queuePrefix(const QString &name);

/// "tk:{lease:<name>}"
QByteArray leaseKey(const QString &name);

/// A random token of 96 bits, 16 characters.
QByteArray randomToken();

/// The server takes no writes now, and refused the call before it ran any of it.
bool isRefusedUnseen(const QByteArray &errorReply);

/// Calls one function with one key. The server's refusals become failures: stale_term (details "term"),
/// redis_unavailable (out of memory, loading, read-only, too few replicas), otherwise functions_refused.
QCoro::Task<Result<redis::Value>> callFunction(redis::FunctionLibrary &library, QByteArray function,
                                               QByteArray key, QList<QByteArray> arguments);

/// A reply {"field", "value", "field", …} as an object of strings.
QJsonObject fieldsOf(const redis::Value &flat);

} // namespace tidekeeper::queue
