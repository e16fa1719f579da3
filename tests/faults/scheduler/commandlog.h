// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"

#include <QtCore/QMap>

namespace tidekeeper::faults {

/// Every fire that a Redis was asked for, in the order in which it was executed: read from its slow log, which holds
/// each command when it is started with the arguments below. A function's own writes stand before its call.
class CommandLog {
public:
    struct Fire {
        QByteArray queue; ///< prefix of its keys
        QByteArray schedule;
        qint64 nominalMs = 0;
        qint64 term = 0;
        bool moved = false; ///< the nominal time was written
        int enqueued = 0; ///< entries added to the streams of jobs
        bool isStale = false; ///< this queue had seen a newer term
    };

    static QStringList serverArguments();

    /// Takes what came since the last time. Before the server is stopped, too: it keeps its slow log in memory.
    void read(redis::RedisConnection &connection);

    const QList<Fire> &fires() const { return m_fires; }
    /// The terms that were used at all, in order.
    QList<qint64> terms() const { return m_terms.keys(); }

private:
    void take(const QList<QByteArray> &command);
    void takeFire(const QList<QByteArray> &command);
    void see(const QByteArray &queue, qint64 term);

    QList<QList<QByteArray>> m_writes; ///< by the function that is being executed
    QMap<QByteArray, qint64> m_newest; ///< by queue
    QMap<qint64, int> m_terms;
    QList<Fire> m_fires;
};

} // namespace tidekeeper::faults
