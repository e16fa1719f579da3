// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/jobqueue.h"
#include "support/testredis.h"

#include <memory>

namespace tidekeeper::test {

/// A queue named "test" in a real Redis of the test's own, with its functions callable one by one.
class QueueRedis {
public:
    explicit QueueRedis(QStringList serverArguments = {});

    bool start();
    void clear() { command({"FLUSHALL"}); }

    /// FCALL tidekeeper_<function>_v1 on the queue.
    redis::Value call(const QByteArray &function, const QList<QByteArray> &arguments);
    redis::Value command(const QList<QByteArray> &arguments);
    qint64 integer(const QList<QByteArray> &arguments) { return command(arguments).toInteger(); }
    QByteArray field(const QByteArray &job, const QByteArray &name); ///< of a job's hash
    int counter(const QByteArray &job, const QByteArray &name) { return field(job, name).toInt(); }

    struct Taken {
        QByteArray id;
        QByteArray owner;
        int starts;
    };
    /// One job without delay; answers what enqueue answers for it.
    QByteArray add(const QByteArray &id, const QByteArray &dedupe = {}, qint64 delayMs = 0,
                   bool urgent = false);
    QList<Taken> take(int count, int leaseMs = 10'000, const QByteArray &consumer = "c1");
    /// Takes again and again until there is something, for at most 5 s.
    QList<Taken> takeSoon(int count, int leaseMs = 10'000, const QByteArray &consumer = "c1");
    /// One turn of a worker; a fresh token unless one is given.
    struct Turn {
        QByteArray consumer = "c1";
        QByteArray token = {};
        int leaseMs = 10'000;
        int take = 0;
        int begin = 0;
        QList<std::pair<QByteArray, QByteArray>> ends = {}; ///< id, owner
        QList<std::pair<QByteArray, QByteArray>> starts = {};
    };
    redis::Value turn(const Turn &turn);
    /// Starts what this owner has claimed, from then on as "own-<id>:1" (ownerOf); how often it was started, or 0.
    int start(const QByteArray &id, const QByteArray &owner, int leaseMs = 10'000);
    /// Takes (soon) and starts what comes first.
    QByteArray startOne(int leaseMs = 10'000);
    static QByteArray ownerOf(const QByteArray &id) { return "own-" + id + ":1"; }

    /// The places that hold this job, sorted: "waiting", "claimed", "running", "delayed", "dead", "discarded".
    QStringList placesOf(const QByteArray &id);

    static QByteArray key(const QByteArray &name) { return "tk:{q:test}:" + name; }
    TestRedis &server() { return m_server; }
    redis::Endpoint endpoint() const;
    redis::FunctionLibrary &library() { return *m_library; }
    redis::FunctionLibrary &leaseLibrary() { return *m_leaseLibrary; }
    queue::JobQueue &queue() { return *m_queue; }
    redis::RedisConnection &connection() { return *m_connection; }

private:
    TestRedis m_server;
    std::unique_ptr<redis::RedisConnection> m_connection;
    std::unique_ptr<redis::FunctionLibrary> m_library;
    std::unique_ptr<redis::FunctionLibrary> m_leaseLibrary;
    std::unique_ptr<queue::JobQueue> m_queue;
};

} // namespace tidekeeper::test
