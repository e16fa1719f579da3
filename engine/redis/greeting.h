// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/endpoint.h"
#include "redis/redisvalue.h"

namespace tidekeeper::redis {

/// What a new connection says first: AUTH and SELECT when asked for, CLIENT SETNAME, a PING that shows that the server
/// serves, and TIME.
QList<QList<QByteArray>> greetingCommands(const Endpoint &endpoint, const QByteArray &clientName);

/// Why the connection is of no use after this reply to that command; empty when it goes on.
QString greetingObjection(const QList<QByteArray> &command, const Value &reply);

} // namespace tidekeeper::redis
