// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/redisparts.h"
#include "app/statedir.h"
#include "app/storeparts.h"
#include "config/config.h"

#include <QCoro/QCoroTask>

namespace tidekeeper::app {

struct Front;
struct Work;
struct Api;

/// The composition root: the only place where everything meets. Objects are made in order, each with what it needs,
/// and end in reverse. Main thread.
class Engine : public QObject {
    Q_OBJECT

public:
    Engine(config::Config config, StateDir state);
    ~Engine() override;

    /// Ends when the API answers. A failure is final: call stop(), then exit. "stopping" when stop() came first.
    QCoro::Task<Result<>> start();
    /// Orderly, within 15 s: no new requests, running jobs finish or go back, plugins stop, then Redis. A start that
    /// is under way ends at its next step.
    QCoro::Task<> stop();
    bool isStopping() const { return m_isStopping; }

    QString url() const; ///< of the API

private:
    QCoro::Task<Result<>> startParts();
    void keepHouse();

    bool m_isStopping = false; ///< first: what is still under way looks at it while the rest ends
    const config::Config m_config;
    StateDir m_state;
    std::unique_ptr<Front> m_front;
    RedisParts m_redis;
    StoreParts m_store;
    std::unique_ptr<Work>
        m_work; ///< everything between Redis and database on one side and the API on the other
    std::unique_ptr<Api> m_api;
    QTimer m_housekeeping;
};

} // namespace tidekeeper::app
