// SPDX-License-Identifier: Apache-2.0
#include "core/custody.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

Custody custodyOf(const CustodyInput &input)
{
    // A new database, or one of a version that kept no record: nobody else can be told apart.
    if (input.record.engines.isEmpty())
        return Custody::Joins;
    // A Redis that lost everything, or is another one now, takes nothing from an engine that is known.
    if (input.record.engines.contains(input.engine))
        return Custody::Holds;
    // A private Redis is copied together with the database beside it and proves nothing.
    if (!input.redisIsShared)
        return Custody::Copied;
    if (!input.redisCluster)
        return Custody::Unclear;
    return *input.redisCluster == input.record.cluster ? Custody::Joins : Custody::Copied;
}

QString custodyText(Custody custody)
{
    switch (custody) {
    case Custody::Holds:
    case Custody::Joins:
        return {};
    case Custody::Unclear:
        return u"This engine is new to its database, and Redis, which tells whether others work on it, does "
               "not answer yet. Until then nothing is renewed."_s;
    case Custody::Copied:
        return u"The database was made by another engine and may be a copy that it still works on, so "
               "nothing is renewed here. If the other one is gone, run \"tidekeeper accounts adopt\" on this "
               "one; if both are to work, give them the same database and the same redis.url."_s;
    }
    Q_UNREACHABLE();
}

} // namespace tidekeeper::core
