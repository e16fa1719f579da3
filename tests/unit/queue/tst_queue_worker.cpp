// SPDX-License-Identifier: Apache-2.0
#include "queue/worker.h"
#include "queueredis.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QElapsedTimer>
#include <QtCore/QThread>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace std::chrono_literals;
using namespace tidekeeper;
using namespace tidekeeper::queue;
using namespace tidekeeper::test;

namespace {

/// A worker with what its jobs did.
struct Bench {
    Worker worker;
    QStringList ended; ///< "type kind"
    QStringList started;

    Bench(QueueRedis &redis, WorkerOptions options = {})
        : worker(u"test"_s, redis.endpoint(), redis.library(), options)
    {
        QObject::connect(&worker, &Worker::jobEnded, &worker, [this](const Job &job, const QString &kind) {
            ended.append(job.type + u' ' + kind);
        });
    }
    ~Bench() { stop(0); }
    void stop(int graceMs)
    {
        if (!std::exchange(m_stopped, true))
            QCoro::waitFor(worker.stop(graceMs));
    }

    /// Ends with this outcome after a while.
    void answer(const QString &type, JobOutcome outcome, std::chrono::milliseconds after = 0ms)
    {
        worker.handle(type,
                      [this, outcome, after](Job job) { return run(this, std::move(job), outcome, after); });
    }

private:
    static QCoro::Task<JobOutcome> run(Bench *self, Job job, JobOutcome outcome,
                                       std::chrono::milliseconds after)
    {
        self->started.append(job.type);
        if (after > 0ms)
            co_await QCoro::sleepFor(after);
        co_return outcome;
    }

    bool m_stopped = false;
};

JobSpec spec(const QString &type, qint64 delayMs = 0)
{
    return {.type = type, .payload = {}, .dedupeKey = {}, .delayMs = delayMs, .leaseName = {}};
}

constexpr auto Done = JobOutcome::Kind::Done;

} // namespace

class TestQueueWorker : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.clear(); }

    void startsWithinFiftyMilliseconds();
    void delayedJobsAreOnTime();
    void outcomes_data();
    void outcomes();
    void handlerThatThrows();
    void unparsablePayload();
    void noMoreThanItsConsumers();
    void drainsWithinTheBound();
    void slowJobIsGivenBackUncounted();
    void blockedThreadKeepsItsJobs();
    void longestRunIsAnEnd();
    void survivesRedisRestart();
    void idleIsCheap();

private:
    void enqueue(const JobSpec &job) { QVERIFY(QCoro::waitFor(m_redis.queue().enqueue(job))); }
    qint64 count(const QByteArray &set) { return m_redis.integer({"ZCARD", QueueRedis::key(set)}); }

    QueueRedis m_redis;
};

void TestQueueWorker::startsWithinFiftyMilliseconds()
{
    Bench bench(m_redis);
    bench.answer(u"work"_s, {Done, -1, {}, {}});
    bench.worker.start();
    QSignalSpy ended(&bench.worker, &Worker::jobEnded);
    QTest::qWait(100); // it waits for work now
    for (int i = 0; i < 10; ++i) {
        QElapsedTimer timer;
        timer.start();
        enqueue(spec(u"work"_s));
        QVERIFY(ended.size() > i || ended.wait(1'000));
        QVERIFY2(timer.elapsed() <= 50, qPrintable(QString::number(timer.elapsed())));
    }
}

void TestQueueWorker::delayedJobsAreOnTime()
{
    Bench bench(m_redis);
    bench.answer(u"work"_s, {Done, -1, {}, {}});
    bench.worker.start();
    QSignalSpy ended(&bench.worker, &Worker::jobEnded);
    QTest::qWait(100);
    QElapsedTimer timer;
    timer.start();
    enqueue(spec(u"work"_s, 300)); // sooner than the worker's next look
    QVERIFY(ended.wait(2'000));
    QVERIFY(timer.elapsed() >= 299);
    QVERIFY2(timer.elapsed() <= 350, qPrintable(QString::number(timer.elapsed())));
}

void TestQueueWorker::outcomes_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("said");
    QTest::addColumn<QByteArray>("place");
    QTest::addColumn<int>("attempts");
    QTest::addColumn<int>("deferrals");
    using Kind = JobOutcome::Kind;
    QTest::newRow("retry") << int(Kind::Retry) << u"retry"_s << QByteArray("delayed") << 1 << 0;
    QTest::newRow("defer") << int(Kind::Defer) << u"defer"_s << QByteArray("delayed") << 0 << 1;
    QTest::newRow("release") << int(Kind::Release) << u"release"_s << QByteArray("delayed") << 0 << 0;
    QTest::newRow("dead") << int(Kind::Dead) << u"dead"_s << QByteArray("dead") << 0 << 0;
}

void TestQueueWorker::outcomes()
{
    QFETCH(int, kind);
    QFETCH(QString, said);
    QFETCH(QByteArray, place);
    QFETCH(int, attempts);
    QFETCH(int, deferrals);
    Bench bench(m_redis);
    bench.answer(u"work"_s, {JobOutcome::Kind(kind), 60'000, u"class"_s, u"why"_s});
    bench.worker.start();
    enqueue(spec(u"work"_s));
    QTRY_COMPARE(bench.ended, QStringList{u"work "_s + said});
    const auto members = m_redis.command({"ZRANGE", QueueRedis::key(place), "0", "-1"});
    QCOMPARE(members.items.size(), 1);
    const QByteArray id = members.items[0].text;
    QCOMPARE(m_redis.counter(id, "attempts"), attempts);
    QCOMPARE(m_redis.counter(id, "deferrals"), deferrals);
    QCOMPARE(m_redis.placesOf(id), QStringList{QString::fromLatin1(place)});
}

void TestQueueWorker::handlerThatThrows()
{
    Bench bench(m_redis);
    bench.worker.handle(u"work"_s, [](Job) -> QCoro::Task<JobOutcome> {
        throw std::runtime_error("no answer for ada@example.com");
        co_return JobOutcome{};
    });
    bench.worker.start();
    enqueue(spec(u"work"_s));
    QTRY_COMPARE(bench.ended, QStringList{u"work retry"_s});
    const QByteArray id = m_redis.command({"ZRANGE", QueueRedis::key("delayed"), "0", "0"}).items[0].text;
    const QByteArray told = m_redis.field(id, "error_text");
    QVERIFY2(told.startsWith("no answer for ") && !told.contains("ada@"), told); // no address is kept
}

void TestQueueWorker::unparsablePayload()
{
    // eggai-tech/EggAI#191, pathosDev/actor-ts#991: at once, with its raw bytes.
    Bench bench(m_redis);
    bench.answer(u"work"_s, {Done, -1, {}, {}});
    bench.worker.start();
    const QByteArray five(5 * 1024 * 1024, 'x');
    const QList<QByteArray> payloads{"{\"a\":", "", QByteArray("\x00\xff\xfe", 3), "[1]", five};
    for (int i = 0; i < payloads.size(); ++i)
        m_redis.call("enqueue", {"", "0", QByteArray::number(i), "work", payloads[i], "", "0", "0", "", ""});
    QTRY_COMPARE(count("dead"), payloads.size());
    for (int i = 0; i < payloads.size(); ++i) {
        QCOMPARE(m_redis.field(QByteArray::number(i), "payload"), payloads[i]);
        QCOMPARE(m_redis.field(QByteArray::number(i), "error_class"), "unparsable");
    }
    QVERIFY(bench.started.isEmpty());
    enqueue(spec(u"work"_s));
    QTRY_COMPARE(bench.started.size(), 1);
}

void TestQueueWorker::noMoreThanItsConsumers()
{
    Bench bench(m_redis, {.consumers = 2, .prefetch = 2});
    bench.answer(u"work"_s, {Done, -1, {}, {}}, 100ms);
    bench.worker.start();
    for (int i = 0; i < 10; ++i)
        enqueue(spec(u"work"_s));
    qsizetype most = 0;
    qint64 mostInHand = 0;
    while (bench.ended.size() < 10) {
        most = std::max(most, bench.started.size() - bench.ended.size());
        mostInHand = std::max(mostInHand, count("running") + count("claimed"));
        QTest::qWait(5);
    }
    QCOMPARE(most, 2);
    QCOMPARE(mostInHand, 4);
}

void TestQueueWorker::drainsWithinTheBound()
{
    // langfuse/langfuse#16966, rails/solid_queue#568
    Bench bench(m_redis);
    bench.answer(u"work"_s, {Done, -1, {}, {}}, 200ms);
    bench.worker.start();
    for (int i = 0; i < 6; ++i)
        enqueue(spec(u"work"_s));
    QTRY_COMPARE(bench.started.size(), 2);
    QElapsedTimer timer;
    timer.start();
    bench.stop(5'000);
    QVERIFY(timer.elapsed() < 1'000);
    QCOMPARE(bench.ended.size(), 2);
    QCOMPARE(count("claimed") + count("running"), 0);
    const auto counts = QCoro::waitFor(m_redis.queue().counts());
    QCOMPARE((*counts)[u"normal"].toInt(), 4);
    for (const auto &job : m_redis.take(10))
        QCOMPARE(job.starts, 0);
    // Nothing was pending, so the consumer is gone ("c1" is this test's own).
    const auto consumers =
        m_redis.command({"XINFO", "CONSUMERS", QueueRedis::key("stream:normal"), "workers"});
    QCOMPARE(consumers.items.size(), 1);
}

void TestQueueWorker::slowJobIsGivenBackUncounted()
{
    Bench bench(m_redis);
    bench.answer(u"slow"_s, {Done, -1, {}, {}}, 700ms);
    bench.worker.start();
    enqueue(spec(u"slow"_s));
    QTRY_COMPARE(bench.started.size(), 1);
    QElapsedTimer timer;
    timer.start();
    bench.stop(100);
    QVERIFY(timer.elapsed() < 500);
    const auto taken = m_redis.take(1);
    QCOMPARE(taken.size(), 1);
    QCOMPARE(taken[0].starts, 0);
    QTest::qWait(900); // its handler ends after the worker let go of it
    QVERIFY(bench.ended.isEmpty());
    QCOMPARE(m_redis.placesOf(taken[0].id), QStringList{u"claimed"_s});
}

void TestQueueWorker::blockedThreadKeepsItsJobs()
{
    // learningequality/studio#3395, celery/celery#5935: longer than the lease, once.
    Bench bench(m_redis, {.leaseMs = 400, .heartbeatMs = 100});
    std::unique_ptr<QThread> rival;
    bench.worker.handle(u"block"_s, [&](Job) -> QCoro::Task<JobOutcome> {
        bench.started.append(u"block"_s);
        rival->start();
        QThread::msleep(2'000);
        co_return JobOutcome{};
    });
    enqueue(spec(u"block"_s));
    enqueue(spec(u"next"_s));
    bench.answer(u"next"_s, {Done, -1, {}, {}});
    int takenAway = 0;
    rival.reset(QThread::create([&] {
        for (int i = 0; i < 30; ++i) {
            QThread::msleep(50);
            const QByteArray reply = m_redis.server().cli({u"fcall"_s, u"tidekeeper_turn_v1"_s, u"1"_s,
                                                           u"tk:{q:test}"_s, u"rival"_s, u"t"_s, u"10000"_s,
                                                           u"3"_s, u"5"_s, u"0"_s, u"1"_s, u"0"_s});
            takenAway += reply.contains("block") || reply.contains("next");
        }
    }));
    bench.worker.start();
    QTRY_COMPARE_WITH_TIMEOUT(bench.ended.size(), 2, 10'000);
    rival->wait();
    QCOMPARE(takenAway, 0);
    QCOMPARE(bench.started.count(u"block"_s), 1);
    QVERIFY(bench.ended.contains(u"block done"_s));
}

void TestQueueWorker::longestRunIsAnEnd()
{
    // A handler that never comes back is not kept for ever.
    Bench bench(m_redis, {.leaseMs = 200, .heartbeatMs = 50, .longestRunMs = 300, .longestWaitMs = 50});
    bench.answer(u"hang"_s, {Done, -1, {}, {}}, 3'000ms);
    bench.worker.start();
    enqueue(spec(u"hang"_s));
    QTRY_COMPARE(bench.started.size(), 1);
    QCOMPARE(m_redis.takeSoon(1, 10'000, "other").size(), 1);
    QTRY_COMPARE_WITH_TIMEOUT(bench.ended, QStringList{u"hang taken_over"_s}, 6'000);
}

void TestQueueWorker::survivesRedisRestart()
{
    QueueRedis durable({u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"always"_s});
    QVERIFY(durable.start());
    Bench bench(durable, {.leaseMs = 1'000, .heartbeatMs = 300});
    bench.answer(u"work"_s, {Done, -1, {}, {}}, 100ms);
    bench.worker.start();
    QList<JobSpec> specs;
    for (int i = 0; i < 20; ++i)
        specs.append(spec(u"work"_s));
    QVERIFY(QCoro::waitFor(durable.queue().enqueue(specs)));
    QTRY_VERIFY(bench.ended.size() >= 3);
    durable.server().kill();
    QTest::qWait(300);
    QVERIFY(durable.server().start());
    QTRY_VERIFY_WITH_TIMEOUT(QCoro::waitFor(durable.connection().waitReady(100)), 10'000);
    const auto isEmpty = [&durable] {
        const auto counts = QCoro::waitFor(durable.queue().counts());
        return counts
            && (*counts)[u"normal"].toInt() + (*counts)[u"running"].toInt() + (*counts)[u"claimed"].toInt()
            == 0;
    };
    QTRY_VERIFY_WITH_TIMEOUT(isEmpty(), 20'000);
    QVERIFY(bench.ended.size() >= 20);
    QCOMPARE(durable.integer({"ZCARD", QueueRedis::key("dead")}), 0);
}

void TestQueueWorker::idleIsCheap()
{
    Bench bench(m_redis);
    bench.worker.start();
    QTest::qWait(200);
    const auto commands = [this] {
        const QByteArray stats = m_redis.command({"INFO", "stats"}).text;
        const qsizetype at = stats.indexOf("total_commands_processed:") + 25;
        return stats.mid(at, stats.indexOf('\r', at) - at).toLongLong();
    };
    const qint64 before = commands();
    QTest::qWait(2'000);
    QVERIFY(commands() - before <= 40); // a look a second; what a function calls inside counts too
}

QTEST_GUILESS_MAIN(TestQueueWorker)
#include "tst_queue_worker.moc"
