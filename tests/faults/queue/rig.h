// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oracle.h"
#include "queue/jobqueue.h"
#include "redisproxy.h"
#include "rounds.h"
#include "support/testredis.h"
#include "wish.h"
#include "workers.h"

#include <QtCore/QTemporaryDir>

#include <memory>
#include <random>

namespace tidekeeper::faults {

/// One queue in a Redis of its own that loses nothing it has acknowledged (append-only, synced with each write), a
/// producer in this process, and worker processes.
class Rig {
public:
    enum class Path : quint8 { Direct, Proxy };

    /// path: of the workers and of the producer.
    explicit Rig(unsigned seed, Path path = Path::Direct);
    ~Rig();

    test::TestRedis &redis() { return m_redis; }
    RedisProxy &proxy() { return *m_proxy; }
    Workers &workers() { return *m_workers; }
    std::mt19937 &random() { return m_random; }
    int between(int least, int most) { return std::uniform_int_distribution(least, most)(m_random); }

    void addWorkers(int count, const WorkerSettings &settings, const QStringList &faults = {});
    /// Enqueues until it is heard, for at most 30 s; numbers the wishes.
    void produce(QList<Wish> wishes);
    void produce(const Wish &wish, int count) { produce(QList<Wish>(count, wish)); }
    /// All sorts: they succeed, fail first, are deferred, released, delayed, urgent, hopeless.
    QList<Wish> mixture(int count);

    QJsonObject counts(); ///< empty when Redis does not answer
    bool waitUntilDone(int ms); ///< no job waits, is delayed or in hands
    QList<JournalLine> journal() const { return Journal::read(m_journal); }

    void blame(const QString &fault) { m_faults += fault; }
    /// Waits for the end of all jobs, drains the workers, and lets the oracle judge.
    Verdict judge(const QString &figures, Oracle::Expectation expectation = {});

private:
    QTemporaryDir m_folder;
    QString m_journal;
    std::mt19937 m_random;
    test::TestRedis m_redis;
    std::unique_ptr<RedisProxy> m_proxy;
    std::unique_ptr<redis::RedisConnection> m_connection;
    std::unique_ptr<redis::FunctionLibrary> m_library;
    std::unique_ptr<queue::JobQueue> m_queue;
    std::unique_ptr<Workers> m_workers;
    QList<Wish> m_wishes;
    QStringList m_faults;
};

} // namespace tidekeeper::faults
