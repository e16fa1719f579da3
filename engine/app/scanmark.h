// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"

namespace tidekeeper::app {

/// When any engine's scan for due accounts succeeded last: scans are jobs, so each engine does only some of them.
/// Main thread.
class ScanMark {
public:
    explicit ScanMark(redis::RedisConnection &connection) : m_connection(connection) { }

    void note(qint64 atMs); ///< nobody waits for it
    /// Epoch ms; 0 = never, or not known now.
    QCoro::Task<qint64> read();

private:
    redis::RedisConnection &m_connection;
};

} // namespace tidekeeper::app
