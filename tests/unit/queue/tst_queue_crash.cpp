// SPDX-License-Identifier: Apache-2.0
#include "queue/worker.h"
#include "queueredis.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

#include <csignal>
#include <cstdlib>

using namespace Qt::StringLiterals;
using namespace std::chrono_literals;
using namespace tidekeeper;
using namespace tidekeeper::queue;
using namespace tidekeeper::test;

/// Workers in processes of their own that are killed: this program with the argument --worker.
class TestQueueCrash : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { QVERIFY((m_redis = std::make_unique<QueueRedis>())->start()); }

    void poisonIsSetAside();
    void killedWorkersLoseNothing();
    void stoppedWorkerComesBackTooLate();
    void takenOverInTime();

private:
    std::unique_ptr<QProcess> spawn(int leaseMs)
    {
        auto process = std::make_unique<QProcess>();
        process->setProcessChannelMode(QProcess::ForwardedErrorChannel);
        process->start(QCoreApplication::applicationFilePath(),
                       {u"--worker"_s, m_redis->server().socketPath(), QString::number(leaseMs)});
        process->waitForStarted();
        return process;
    }
    void enqueue(const QString &type, const QString &id)
    {
        JobSpec spec{.type = type, .payload = {{u"id"_s, id}}, .dedupeKey = {}, .leaseName = {}};
        QVERIFY(QCoro::waitFor(m_redis->queue().enqueue(spec)));
    }
    qint64 runs(const QByteArray &id) { return m_redis->integer({"HGET", "finished", id}); }

    std::unique_ptr<QueueRedis> m_redis;
};

void TestQueueCrash::poisonIsSetAside()
{
    // pipeshub-ai/pipeshub-ai#3037: the handler kills its process before any counter of the handler's could move.
    enqueue(u"good"_s, u"1"_s);
    enqueue(u"poison"_s, u"p"_s);
    for (int i = 2; i <= 5; ++i)
        enqueue(u"good"_s, QString::number(i));
    int crashes = 0;
    std::unique_ptr<QProcess> worker = spawn(400);
    QElapsedTimer timer;
    timer.start();
    while (m_redis->integer({"ZCARD", QueueRedis::key("dead")}) == 0 && timer.elapsed() < 30'000) {
        if (worker->waitForFinished(50)) {
            ++crashes;
            worker = spawn(400); // what the service manager does
        }
    }
    QCOMPARE(crashes, 3); // also for what ran beside it when it first struck
    for (int i = 1; i <= 5; ++i)
        QTRY_COMPARE(runs(QByteArray::number(i)), 1);
    const auto dead = m_redis->command({"ZRANGE", QueueRedis::key("dead"), "0", "-1"});
    QCOMPARE(dead.items.size(), 1);
    QCOMPARE(m_redis->field(dead.items[0].text, "type"), "poison");
    QCOMPARE(m_redis->field(dead.items[0].text, "error_class"), "stalled");
    worker->kill();
    worker->waitForFinished();
}

void TestQueueCrash::killedWorkersLoseNothing()
{
    constexpr int jobs = 60;
    for (int i = 0; i < jobs; ++i)
        enqueue(u"slow"_s, QString::number(i));
    std::vector<std::unique_ptr<QProcess>> workers;
    for (int i = 0; i < 3; ++i)
        workers.push_back(spawn(600));
    for (int round = 0; round < 8; ++round) {
        QTest::qWait(150);
        auto &victim = workers[size_t(round % 3)];
        victim->kill();
        victim->waitForFinished();
        victim = spawn(600);
    }
    const auto finished = [this] { return m_redis->integer({"HLEN", "finished"}); };
    QTRY_COMPARE_WITH_TIMEOUT(finished(), jobs, 30'000);
    const auto counts = [this] { return *QCoro::waitFor(m_redis->queue().counts()); };
    QTRY_COMPARE_WITH_TIMEOUT(
        counts()[u"running"].toInt() + counts()[u"normal"].toInt() + counts()[u"claimed"].toInt(), 0, 10'000);
    QCOMPARE(m_redis->integer({"ZCARD", QueueRedis::key("dead")}), 0);
    for (auto &worker : workers) {
        worker->kill();
        worker->waitForFinished();
    }
}

void TestQueueCrash::stoppedWorkerComesBackTooLate()
{
    // OptimalBits/bull#308: SIGSTOP past the lease, SIGCONT.
    auto first = spawn(500);
    enqueue(u"slow"_s, u"x"_s);
    QTRY_COMPARE(m_redis->integer({"ZCARD", QueueRedis::key("running")}), 1);
    ::kill(pid_t(first->processId()), SIGSTOP);
    auto second = spawn(500);
    QTRY_COMPARE_WITH_TIMEOUT(m_redis->integer({"GET", "acked"}), 1, 10'000);
    ::kill(pid_t(first->processId()), SIGCONT);
    QTRY_COMPARE_WITH_TIMEOUT(m_redis->integer({"GET", "taken_over"}), 1, 10'000);
    QCOMPARE(m_redis->integer({"GET", "acked"}), 1);
    first->kill();
    second->kill();
    first->waitForFinished();
    second->waitForFinished();
}

void TestQueueCrash::takenOverInTime()
{
    // At default settings within 15 s.
    auto first = spawn(10'000);
    enqueue(u"hang"_s, u"x"_s);
    QTRY_COMPARE(m_redis->integer({"ZCARD", QueueRedis::key("running")}), 1);
    auto second = spawn(10'000);
    QElapsedTimer timer;
    timer.start();
    first->kill();
    first->waitForFinished();
    QTRY_COMPARE_WITH_TIMEOUT(m_redis->integer({"GET", "started"}), 2, 15'000);
    QVERIFY(timer.elapsed() <= 15'000);
    second->kill();
    second->waitForFinished();
}

namespace {

QCoro::Task<JobOutcome> work(redis::RedisConnection *redis, Job job)
{
    QList<QByteArray> started{"INCR", "started"};
    co_await redis->command(started);
    if (job.type == u"poison")
        std::abort();
    if (job.type == u"slow")
        co_await QCoro::sleepFor(100ms);
    if (job.type == u"hang")
        co_await QCoro::sleepFor(60s);
    QList<QByteArray> finished{"HINCRBY", "finished", job.payload[u"id"].toString().toUtf8(), "1"};
    co_await redis->command(finished);
    co_return JobOutcome{};
}

int runWorker(const QString &socket, int leaseMs)
{
    redis::Endpoint endpoint;
    endpoint.path = socket;
    redis::RedisConnection connection(endpoint);
    connection.open();
    redis::FunctionLibrary library(connection, "tidekeeper_queue", libraryCode());
    Worker worker(u"test"_s, endpoint, library, {.leaseMs = leaseMs, .heartbeatMs = leaseMs / 3});
    for (const char *type : {"good", "poison", "slow", "hang"})
        worker.handle(QString::fromLatin1(type), [&](Job job) { return work(&connection, std::move(job)); });
    QObject::connect(&worker, &Worker::jobEnded, [&](const Job &, const QString &kind) {
        connection.send({"INCR", kind == u"done" ? "acked" : "taken_over"}, [](const auto &) {});
    });
    worker.start();
    return QCoreApplication::exec();
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    if (argc == 4 && qstrcmp(argv[1], "--worker") == 0)
        return runWorker(QString::fromLocal8Bit(argv[2]), QByteArray(argv[3]).toInt());
    TestQueueCrash test;
    return QTest::qExec(&test, argc, argv);
}

#include "tst_queue_crash.moc"
