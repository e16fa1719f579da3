// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis/redisconnection.h"

#include <QtCore/QThread>

#include <memory>

namespace tidekeeper::queue {

/// Extends the leases of a worker's jobs from a thread and a connection of its own, so that a busy main thread
/// does not lose them. Any thread.
class Heartbeat {
public:
    struct Options {
        QString queue;
        int leaseMs = 10'000;
        int everyMs = 3'000;
        qint64 longestRunMs = 15 * 60'000; ///< a job beyond this is let go, to be taken over
    };

    Heartbeat(redis::Endpoint endpoint, Options options);
    ~Heartbeat(); ///< stops the thread; the leases run out by themselves

    /// From now on extends what this owner holds; a second call for a job counts its run from now. nextOwner: a
    /// token that may already have taken the owner's place, while the answer that says so is under way.
    void add(const QString &job, const QByteArray &owner, const QByteArray &nextOwner = {});
    /// What another owner holds by now is kept.
    void remove(const QString &job, const QByteArray &owner);

private:
    class Beat;

    QThread m_thread;
    std::unique_ptr<Beat> m_beat; ///< lives in m_thread
};

} // namespace tidekeeper::queue
