// SPDX-License-Identifier: Apache-2.0
#include "queue/heartbeat.h"

#include "queue/jobqueue.h"
#include "queue/queuecall.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QHash>
#include <QtCore/QMutex>
#include <QtCore/QTimer>

using namespace Qt::StringLiterals;

namespace tidekeeper::queue {

class Heartbeat::Beat : public QObject {
public:
    struct Holding {
        QByteArray owner;
        QByteArray nextOwner;
        QDeadlineTimer until;
    };

    Beat(redis::Endpoint endpoint, Options options)
        : m_options(std::move(options)), m_endpoint(std::move(endpoint))
    { }

    const Options &options() const { return m_options; }

    QMutex mutex; ///< guards jobs
    QHash<QString, Holding> jobs;

    /// In the thread of the beat.
    void begin()
    {
        redis::ConnectionOptions connection;
        connection.clientName = "tidekeeper-heartbeat";
        m_connection = std::make_unique<redis::RedisConnection>(m_endpoint, connection);
        m_library =
            std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_queue", libraryCode());
        m_timer = std::make_unique<QTimer>();
        connect(m_timer.get(), &QTimer::timeout, this, &Beat::beat);
        m_timer->start(m_options.everyMs);
        m_connection->open();
    }

    void end()
    {
        m_timer.reset();
        m_connection->close();
        m_library.reset();
        m_connection.reset();
    }

private:
    /// One that fails is followed by the next; a job that is no longer ours shows when it ends.
    void beat()
    {
        QList<QByteArray> pairs{QByteArray::number(m_options.leaseMs)};
        const QMutexLocker lock(&mutex);
        for (auto it = jobs.cbegin(); it != jobs.cend(); ++it) {
            if (it->until.hasExpired())
                continue;
            pairs << it.key().toUtf8() << it->owner;
            if (!it->nextOwner.isEmpty())
                pairs << it.key().toUtf8() << it->nextOwner;
        }
        if (pairs.size() == 1)
            return;
        constexpr int timeoutMs = 1'000;
        m_library->call(
            "tidekeeper_heartbeat_v1", {queuePrefix(m_options.queue)}, pairs,
            [](const Result<redis::Value> &) {}, timeoutMs);
    }

    Options m_options;
    redis::Endpoint m_endpoint;
    std::unique_ptr<redis::RedisConnection> m_connection;
    std::unique_ptr<redis::FunctionLibrary> m_library;
    std::unique_ptr<QTimer> m_timer;
};

Heartbeat::Heartbeat(redis::Endpoint endpoint, Options options)
    : m_beat(std::make_unique<Beat>(std::move(endpoint), std::move(options)))
{
    m_thread.setObjectName(u"heartbeat"_s);
    m_beat->moveToThread(&m_thread);
    QObject::connect(&m_thread, &QThread::started, m_beat.get(), &Beat::begin);
    m_thread.start();
}

Heartbeat::~Heartbeat()
{
    QMetaObject::invokeMethod(m_beat.get(), &Beat::end, Qt::BlockingQueuedConnection);
    m_thread.quit();
    m_thread.wait();
}

void Heartbeat::add(const QString &job, const QByteArray &owner, const QByteArray &nextOwner)
{
    const QMutexLocker lock(&m_beat->mutex);
    m_beat->jobs.insert(job, {owner, nextOwner, QDeadlineTimer(m_beat->options().longestRunMs)});
}

void Heartbeat::remove(const QString &job, const QByteArray &owner)
{
    const QMutexLocker lock(&m_beat->mutex);
    const auto found = m_beat->jobs.constFind(job);
    if (found != m_beat->jobs.cend() && (found->owner == owner || found->nextOwner == owner))
        m_beat->jobs.erase(found);
}

} // namespace tidekeeper::queue
