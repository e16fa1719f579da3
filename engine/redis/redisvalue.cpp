// SPDX-License-Identifier: Apache-2.0
#include "redis/redisvalue.h"

namespace tidekeeper::redis {

qint64 Value::toInteger(qint64 fallback) const
{
    if (type == Type::Integer)
        return integer;
    bool isNumber = false;
    const qint64 number = type == Type::String ? text.toLongLong(&isNumber) : 0;
    return isNumber ? number : fallback;
}

} // namespace tidekeeper::redis
