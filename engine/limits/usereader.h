// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/keys.h"
#include "limits/uses.h"
#include "redis/redisconnection.h"

#include <QtCore/QHash>

namespace tidekeeper::limits {

using UsesByAccount = QHash<QByteArray, MinuteOfUses>;

/// What all engines were seen to grant in the last minute to these accounts (names as in Keys; "*" = all accounts together).
/// Accounts of which nothing is known have no entry. What Redis does not answer is left out.
QCoro::Task<UsesByAccount> readUses(redis::RedisConnection &connection, Keys keys, QByteArrayList accounts,
                                    qint64 nowMs);

} // namespace tidekeeper::limits
