// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include "waiting.h"

#include <QtCore/QJsonDocument>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

const QString queueName = u"faults"_s;
constexpr int batch = 50;
constexpr int settledMs = 60'000;
constexpr int drainedMs = 15'000;

} // namespace

Rig::Rig(unsigned seed, Path path)
    : m_journal(m_folder.filePath(u"journal"_s)), m_random(seed),
      m_redis({u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"always"_s}, path == Path::Proxy)
{
    if (!m_redis.start())
        qFatal("redis-server does not start.");
    QString url = m_redis.url();
    if (path == Path::Proxy) {
        m_proxy = std::make_unique<RedisProxy>(m_redis.port());
        url = u"redis://127.0.0.1:%1"_s.arg(m_proxy->port());
    }
    m_connection = std::make_unique<redis::RedisConnection>(*redis::Endpoint::fromUrl(url));
    m_library =
        std::make_unique<redis::FunctionLibrary>(*m_connection, "tidekeeper_queue", queue::libraryCode());
    m_queue = std::make_unique<queue::JobQueue>(queueName, *m_library);
    m_workers = std::make_unique<Workers>(url, queueName, m_journal);
    m_connection->open();
    QCoro::waitFor(m_connection->waitReady(10'000));
}

Rig::~Rig() = default;

void Rig::addWorkers(int count, const WorkerSettings &settings, const QStringList &faults)
{
    for (int i = 0; i < count; ++i)
        m_workers->add(settings, faults);
}

void Rig::produce(QList<Wish> wishes)
{
    for (Wish &wish : wishes)
        wish.number = static_cast<int>(m_wishes.size() + (&wish - wishes.data())) + 1;
    for (qsizetype from = 0; from < wishes.size(); from += batch) {
        const qsizetype to = std::min(from + batch, wishes.size());
        QList<queue::JobSpec> specs;
        for (qsizetype i = from; i < to; ++i)
            specs.append(wishes[i].spec());
        Result<QList<queue::EnqueueResult>> heard = QCoro::waitFor(m_queue->enqueue(specs));
        const qint64 giveUpAt = steadyMs() + 30'000;
        while (!heard && steadyMs() < giveUpAt) {
            const bool isAmbiguous = heard.error().code != u"redis_unavailable";
            pass(100);
            for (qsizetype i = from; i < to; ++i)
                wishes[i].repeats += isAmbiguous;
            heard = QCoro::waitFor(m_queue->enqueue(specs));
        }
        if (!heard) {
            blame(u"the producer was not heard: "_s + heard.error().text);
            return;
        }
        for (qsizetype i = from; i < to; ++i)
            wishes[i].job = heard->at(i - from).job;
    }
    m_wishes += wishes;
}

QList<Wish> Rig::mixture(int count)
{
    QList<Wish> wishes;
    for (int i = 0; i < count; ++i) {
        Wish wish;
        wish.workMs = between(1, 20);
        switch (i % 8) { // each kind is there, whatever the seed
        case 0:
            wish.fails = between(1, 2);
            break;
        case 1:
            wish.defers = between(1, 2);
            break;
        case 2:
            wish.isHopeless = true;
            break;
        case 3:
            wish.releases = 1;
            break;
        case 4:
            wish.delayMs = between(1, 300);
            break;
        case 5:
            wish.urgent = true;
            break;
        default:
            break;
        }
        wishes.append(wish);
    }
    std::shuffle(wishes.begin(), wishes.end(), m_random);
    return wishes;
}

QJsonObject Rig::counts()
{
    return QCoro::waitFor(m_queue->counts()).value_or(QJsonObject());
}

bool Rig::waitUntilDone(int ms)
{
    return eventually(ms, [this] {
        const QJsonObject now = counts();
        int live = now.isEmpty() ? 1 : 0;
        for (const QString &place : {u"urgent"_s, u"normal"_s, u"delayed"_s, u"claimed"_s, u"running"_s})
            live += now[place].toInt();
        return live == 0;
    });
}

Verdict Rig::judge(const QString &figures, Oracle::Expectation expectation)
{
    if (!waitUntilDone(settledMs)) {
        blame(u"still not done after a minute: "_s
              + QString::fromUtf8(QJsonDocument(counts()).toJson(QJsonDocument::Compact)));
    }
    m_faults += m_workers->terminateAll(drainedMs);
    const Oracle oracle(queueName, *m_library, *m_connection);
    m_faults += oracle.judge(m_wishes, journal(), expectation);
    return {u"%1 jobs, %2"_s.arg(m_wishes.size()).arg(figures), m_faults};
}

} // namespace tidekeeper::faults
