// SPDX-License-Identifier: Apache-2.0
// A primary and a replica that takes its place: what an acknowledged job is worth.
#include "queue/jobqueue.h"
#include "queue/replicatedcalls.h"
#include "support/testredis.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::queue;

namespace {

JobSpec job(int number)
{
    JobSpec spec;
    spec.type = u"work"_s;
    spec.dedupeKey = u"work:%1"_s.arg(number);
    return spec;
}

/// An engine's view of one server.
struct Engine {
    explicit Engine(const test::TestRedis &server, bool isReplicated)
        : endpoint(redis::Endpoint::fromUrl(server.url()).value()), connection(endpoint),
          library(connection, "tidekeeper_queue", libraryCode()),
          calls(isReplicated ? std::make_unique<ReplicatedCalls>(endpoint) : nullptr),
          queue(u"test"_s, library, calls.get())
    {
        connection.open();
    }
    bool isReady() { return QCoro::waitFor(connection.waitReady(5'000)); }
    qint64 waiting()
    {
        const Result<QJsonObject> counts = QCoro::waitFor(queue.counts());
        return counts ? (*counts)["normal"_L1].toInteger() : -1;
    }

    redis::Endpoint endpoint;
    redis::RedisConnection connection;
    redis::FunctionLibrary library;
    std::unique_ptr<ReplicatedCalls> calls;
    JobQueue queue;
};

} // namespace

class TestQueueReplication : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void confirmed();
    void sharedConfirmations();
    void notConfirmed();
    void fireNotConfirmed();
    void withoutReplica();
    void acknowledgedJobsOutliveTheirPrimary();
    void primaryGoneWhileItWaits();
    void endsWhileItIsNotConnected();
    void localLosesTheLastMomentAndTheNextScanHealsIt();

private:
    qint64 waitCalls() const;
    void promoteReplica();

    std::unique_ptr<test::TestRedis> m_primary;
    std::unique_ptr<test::TestRedis> m_replica;
};

void TestQueueReplication::init()
{
    // After a sync by file the replica confirms at once, not only from its next round on, a second later.
    m_primary = std::make_unique<test::TestRedis>(QStringList{u"--repl-diskless-sync"_s, u"no"_s}, true);
    QVERIFY(m_primary->start());
    m_replica = std::make_unique<test::TestRedis>(
        QStringList{u"--replicaof"_s, u"127.0.0.1"_s, QString::number(m_primary->port())});
    QVERIFY(m_replica->start());
    const auto isInStep = [this] {
        return m_primary->cli({u"info"_s, u"replication"_s}).contains("state=online")
            && m_replica->cli({u"info"_s, u"replication"_s}).contains("master_link_status:up");
    };
    QTRY_VERIFY_WITH_TIMEOUT(isInStep(), 10'000);
}

qint64 TestQueueReplication::waitCalls() const
{
    const QByteArray stats = m_primary->cli({u"info"_s, u"commandstats"_s});
    const qsizetype at = stats.indexOf("cmdstat_wait:calls=");
    return at < 0 ? 0 : stats.mid(at + 19, 10).split(',').first().toLongLong();
}

void TestQueueReplication::promoteReplica()
{
    m_primary->kill();
    m_replica->cli({u"replicaof"_s, u"no"_s, u"one"_s});
}

void TestQueueReplication::confirmed()
{
    Engine engine(*m_primary, true);
    QVERIFY(engine.isReady());
    const auto added = QCoro::waitFor(engine.queue.enqueue(job(1)));
    QVERIFY2(added, added ? "" : qPrintable(added.error().text));
    QCOMPARE(added->result, u"added"_s);
    QCOMPARE(QCoro::waitFor(engine.queue.enqueue(job(1)))->result, u"waiting"_s);
    QCOMPARE(waitCalls(), 2);
    // Reading asks no replica.
    QCOMPARE(engine.waiting(), 1);
    QCOMPARE(waitCalls(), 2);
}

void TestQueueReplication::sharedConfirmations()
{
    Engine engine(*m_primary, true);
    QVERIFY(engine.isReady());
    QVERIFY(QCoro::waitFor(engine.queue.enqueue(job(0))));
    constexpr int jobs = 200;
    std::vector<QCoro::Task<Result<EnqueueResult>>> underWay;
    for (int i = 1; i <= jobs; ++i)
        underWay.push_back(engine.queue.enqueue(job(i)));
    for (auto &task : underWay)
        QCOMPARE(QCoro::waitFor(std::move(task))->result, u"added"_s);
    QVERIFY2(waitCalls() < jobs / 4, qPrintable(QString::number(waitCalls())));
}

void TestQueueReplication::notConfirmed()
{
    Engine engine(*m_primary, true);
    QVERIFY(engine.isReady());
    QVERIFY(QCoro::waitFor(engine.queue.enqueue(job(1))));
    m_replica->pause();
    QElapsedTimer timer;
    timer.start();
    const auto refused = QCoro::waitFor(engine.queue.enqueue(job(2)));
    QVERIFY2(timer.elapsed() >= 490 && timer.elapsed() < 1'000, qPrintable(QString::number(timer.elapsed())));
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, u"not_replicated"_s);
    QCOMPARE(refused.error().text,
             u"Queued, but no replica confirmed it within 500 ms. Repeating it with the same dedupe key is "
             "harmless."_s);
    QCOMPARE(engine.waiting(), 2);

    // Other work does not wait behind it.
    auto third = engine.queue.enqueue(job(3));
    timer.restart();
    QVERIFY(engine.waiting() >= 2);
    QVERIFY(timer.elapsed() < 300);
    QCOMPARE(QCoro::waitFor(std::move(third)).error().code, u"not_replicated"_s);

    m_replica->resume();
    QCOMPARE(QCoro::waitFor(engine.queue.enqueue(job(2)))->result, u"waiting"_s); // repeated: no second one
    QCOMPARE(engine.waiting(), 3);
}

void TestQueueReplication::fireNotConfirmed()
{
    Engine engine(*m_primary, true);
    QVERIFY(engine.isReady());
    Fire fire;
    fire.schedule = u"hourly"_s;
    fire.nominalMs = 3'600'000;
    JobSpec spec = job(1);
    spec.dedupeKey.clear();
    const auto fired = QCoro::waitFor(engine.queue.fire(fire, spec));
    QVERIFY2(fired, fired ? "" : qPrintable(fired.error().text));
    QVERIFY(fired->fired);

    m_replica->pause();
    fire.expectedNominalMs = 3'600'000;
    fire.nominalMs = 7'200'000;
    QCOMPARE(QCoro::waitFor(engine.queue.fire(fire, spec)).error().code, u"not_replicated"_s);
    m_replica->resume();
    // As the scheduler does it: once more, and it learns that the tick has its job.
    const auto again = QCoro::waitFor(engine.queue.fire(fire, spec));
    QVERIFY(again && !again->fired);
    QCOMPARE(again->currentNominalMs, 7'200'000);
    QCOMPARE(engine.waiting(), 2);
}

void TestQueueReplication::withoutReplica()
{
    m_replica->kill();
    Engine engine(*m_primary, true);
    QVERIFY(engine.isReady());
    QCOMPARE(QCoro::waitFor(engine.queue.enqueue(job(1))).error().code, u"not_replicated"_s);
    QCOMPARE(engine.waiting(), 1);
}

void TestQueueReplication::acknowledgedJobsOutliveTheirPrimary()
{
    constexpr int jobs = 300;
    QSet<QString> acknowledged;
    {
        Engine engine(*m_primary, true);
        QVERIFY(engine.isReady());
        std::vector<QCoro::Task<Result<EnqueueResult>>> underWay;
        for (int i = 0; i < jobs; ++i) {
            underWay.push_back(engine.queue.enqueue(job(i)));
            if (i == jobs / 2) {
                for (auto &task : std::exchange(underWay, {})) {
                    const auto result = QCoro::waitFor(std::move(task));
                    QVERIFY2(result, result ? "" : qPrintable(result.error().text));
                    acknowledged.insert(result->job);
                }
                m_replica->pause(); // from here on nothing reaches it
            }
        }
        QTRY_COMPARE(engine.waiting(), jobs);
        m_primary->kill();
        for (auto &task : underWay)
            QVERIFY(!QCoro::waitFor(std::move(task))); // none of these was promised
    }
    QCOMPARE(acknowledged.size(), jobs / 2 + 1);
    m_replica->resume();
    promoteReplica();

    Engine after(*m_replica, false);
    QVERIFY(after.isReady());
    for (const QString &id : acknowledged)
        QCOMPARE(m_replica->cli({u"exists"_s, u"tk:{q:test}:job:"_s + id}), "1");
    QVERIFY(after.waiting() >= acknowledged.size());
}

void TestQueueReplication::primaryGoneWhileItWaits()
{
    Engine engine(*m_primary, true);
    QVERIFY(engine.isReady());
    QVERIFY(QCoro::waitFor(engine.queue.enqueue(job(1))));
    m_replica->pause();
    auto first = engine.queue.enqueue(job(2));
    QTRY_COMPARE(engine.waiting(), 2); // it is there and waits for its replica
    m_primary->kill();
    const auto failed = QCoro::waitFor(std::move(first));
    QCOMPARE(failed.error().code, u"not_replicated"_s);
    QVERIFY2(failed.error().text.contains(u"redis_closed"_s), qPrintable(failed.error().text));
    QCOMPARE(QCoro::waitFor(engine.queue.enqueue(job(3))).error().code, u"redis_unavailable"_s);
}

void TestQueueReplication::endsWhileItIsNotConnected()
{
    m_primary->kill();
    Engine engine(*m_primary, true);
    auto call = engine.queue.enqueue(job(1)); // waits for the connection
    engine.calls.reset();
    QCOMPARE(QCoro::waitFor(std::move(call)).error().code, u"redis_unavailable"_s);
}

/// The bounded loss of asynchronous replication: what the replica had not got yet. Each scan enqueues all who are due
/// under the same keys, so what was lost comes back and what was not stays single.
void TestQueueReplication::localLosesTheLastMomentAndTheNextScanHealsIt()
{
    const auto scan = [](JobQueue &queue, int accounts) {
        QList<JobSpec> due;
        for (int i = 0; i < accounts; ++i)
            due.append(job(i));
        return QCoro::waitFor(queue.enqueue(due));
    };
    {
        Engine engine(*m_primary, false);
        QVERIFY(engine.isReady());
        QVERIFY(scan(engine.queue, 10));
        QCOMPARE(m_primary->cli({u"wait"_s, u"1"_s, u"2000"_s}), "1");
        m_replica->pause();
        QVERIFY(scan(engine.queue, 50)); // acknowledged, by the primary alone
        QCOMPARE(engine.waiting(), 50);
    }
    m_primary->kill();
    m_replica->resume();
    promoteReplica();

    Engine after(*m_replica, false);
    QVERIFY(after.isReady());
    const qint64 kept = after.waiting();
    QVERIFY(kept >= 10 && kept <= 50); // nothing that it had is lost, and the rest may be
    const auto healed = scan(after.queue, 50);
    QVERIFY(healed);
    QCOMPARE(healed->first().result, u"waiting"_s);
    QCOMPARE(after.waiting(), 50);
}

QTEST_GUILESS_MAIN(TestQueueReplication)
#include "tst_queue_replication.moc"
