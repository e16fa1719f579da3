// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtSql/QSqlDatabase>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace tidekeeper::store {

/// Cuts the connection of a PostgreSQL server that does not answer. libpq waits for an answer without end, and a
/// server that is stopped, swapped out or behind a dead network keeps no statement_timeout either.
class StallGuard {
public:
    StallGuard();
    ~StallGuard();

    /// Database thread: from now on the connection has this long, until end().
    void begin(const QSqlDatabase &db, std::chrono::milliseconds time);
    /// Database thread.
    void end();

private:
    void watch(std::stop_token stop);

    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    std::optional<std::chrono::steady_clock::time_point> m_deadline;
    int m_socket = -1;
    std::jthread m_watcher; // last, so that it ends first
};

} // namespace tidekeeper::store
