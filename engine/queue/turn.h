// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/job.h"
#include "redis/redisvalue.h"

#include <QtCore/QStringList>

#include <optional>

namespace tidekeeper::queue {

/// What a worker tells its queue in one call of tidekeeper_turn_v1, and what it asks for.
struct Turn {
    static constexpr int mostPairs = 500; ///< of ends and of starts
    static constexpr int mostJobs = 1'000; ///< taken

    QByteArray token; ///< a fresh one: the owner tokens that this turn gives out begin with it
    QList<Job> ends = {}; ///< done
    QList<Job> starts = {}; ///< prefetched ones, with the token of their claim
    int take = 0;
    int begin = 0; ///< of those taken, to be started at once

    bool sweep = false; ///< take also what became due, or outlived its lease

    bool isEmpty() const { return ends.isEmpty() && starts.isEmpty() && take == 0; }
    /// The token under which a prefetched job runs once its start is counted.
    QByteArray ownerOfStart(qsizetype index) const { return token + ':' + QByteArray::number(index + 1); }
    QList<QByteArray> arguments(const QByteArray &consumer, int leaseMs, int maxStarts) const;
};

struct TurnAnswer {
    struct Taken {
        Job job; ///< its payload is parsed apart
        QByteArray payload;
        bool begun = false; ///< its start is counted
    };

    QList<bool> ended; ///< for each end; false: it was no longer ours
    QList<int> starts; ///< for each start, how often the job was started; 0: it was no longer ours
    QList<Taken> taken;
    qint64 dueInMs = -1; ///< until the next delayed job; −1 = none, or more may be waiting now
    QList<QByteArray> seen; ///< where to wait for new entries; empty = more may be waiting now
    QStringList lost; ///< jobs without a body
    QStringList stalled; ///< dead letters now

    /// Nothing when this is no answer to that turn.
    static std::optional<TurnAnswer> from(const redis::Value &reply, const Turn &turn);
};

} // namespace tidekeeper::queue
