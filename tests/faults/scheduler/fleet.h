// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commandlog.h"
#include "engineprocess.h"
#include "support/testredis.h"

#include <QtCore/QDeadlineTimer>

#include <functional>
#include <memory>
#include <vector>

namespace tidekeeper::faults {

/// Some engines that share one real Redis, and one or more schedules. No worker takes the jobs: each stays in its
/// queue, to be counted.
class Fleet {
public:
    struct Options {
        int engines = 3;
        int leaseMs = 2'000;
        int everyMs = 300;
        QList<QJsonObject> schedules = {};
    };

    explicit Fleet(Options options);

    bool startRedis();
    /// SIGKILL and start, on the same data.
    bool restartRedis();
    /// SIGSTOP, and SIGCONT after ms: what was sent meanwhile is executed then.
    void stallRedis(int ms);
    EngineProcess &engine(int i) { return *m_engines[size_t(i)]; }
    int engineCount() const { return m_options.engines; }
    int leaseMs() const { return m_options.leaseMs; }

    /// The engine that said that it leads with the term that Redis holds now; −1 = none.
    int leader();

    /// Continues engines that have been held for two lease lengths, and calls restart for those that are no more.
    /// Reads the command log. To be called often.
    void tend(const std::function<void(int engine)> &restart);
    /// Continues all that is held and lets them work for a moment; false when one of them did not end in order then.
    bool stopEngines();

    redis::RedisConnection &connection() { return *m_connection; }
    redis::Value command(const QList<QByteArray> &arguments);
    CommandLog &commands() { return m_commands; }
    int held = 0; ///< engines that were continued after a hold
    int died = 0; ///< engines that were no more

    /// Looks every 20 ms, tending meanwhile, until condition holds; false after ms.
    bool eventually(int ms, const std::function<bool()> &condition,
                    const std::function<void(int)> &restart = {});

private:
    Options m_options;
    test::TestRedis m_redis;
    QTemporaryDir m_folder;
    std::unique_ptr<redis::RedisConnection> m_connection;
    CommandLog m_commands;
    std::vector<std::unique_ptr<EngineProcess>> m_engines;
    std::vector<std::optional<QDeadlineTimer>> m_heldUntil; ///< by engine
    QDeadlineTimer m_nextRead{0};
};

} // namespace tidekeeper::faults
