// SPDX-License-Identifier: Apache-2.0
#include "queueredis.h"

#include <QtCore/QRandomGenerator>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

/// What is left when something goes wrong around the functions.
class TestQueueFaults : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.clear(); }

    void failedRemovalLosesNothing_data();
    void failedRemovalLosesNothing();
    void anyOrderKeepsEachJobInOnePlace();
    void lostBodies();
    void entryRemovedFromOutside();
    void reaperFindsOrphans();
    void restartKeepsAll();
    void groupIsMadeAgain();
    void fullMemoryIsWorkedOff();
    void withoutEnoughReplicas();

private:
    QueueRedis m_redis;
};

void TestQueueFaults::failedRemovalLosesNothing_data()
{
    // songzhibin97/gkit#157, resque/resque#530: the destination is written first, so an error in the middle of a
    // move (here: the source's key has a wrong type) leaves the job twice, never nowhere.
    QTest::addColumn<QByteArray>("function");
    QTest::addColumn<QList<QByteArray>>("arguments");
    QTest::newRow("retry") << QByteArray("retry") << QList<QByteArray>{"0", "60000", "c", "t"};
    QTest::newRow("defer") << QByteArray("defer") << QList<QByteArray>{"0", "60000", "c", "t"};
    QTest::newRow("release") << QByteArray("put_back") << QList<QByteArray>{"0"};
    QTest::newRow("release later") << QByteArray("put_back") << QList<QByteArray>{"1"};
    QTest::newRow("bury") << QByteArray("bury") << QList<QByteArray>{"c", "t"};
}

void TestQueueFaults::failedRemovalLosesNothing()
{
    QFETCH(QByteArray, function);
    QFETCH(QList<QByteArray>, arguments);
    m_redis.add("x");
    m_redis.startOne();
    m_redis.command({"DEL", QueueRedis::key("running")});
    m_redis.command({"SET", QueueRedis::key("running"), "not a sorted set"});
    QVERIFY(m_redis.call(function, QList<QByteArray>{"x", QueueRedis::ownerOf("x")} + arguments).isError());
    m_redis.command({"DEL", QueueRedis::key("running")});

    if (function == "bury") {
        QVERIFY(m_redis.placesOf("x").contains(u"dead"_s));
        return;
    }
    QCOMPARE(m_redis.startOne(), "x");
    QCOMPARE(m_redis.call("ack", {"x", QueueRedis::ownerOf("x")}).integer, 1);
    m_redis.call("reap", {"0", "0"}); // the entry that the broken move left pending
    QVERIFY(m_redis.take(10).isEmpty());
    QVERIFY(m_redis.placesOf("x").isEmpty());
}

void TestQueueFaults::anyOrderKeepsEachJobInOnePlace()
{
    QRandomGenerator random(20'261'130);
    QStringList known;
    QHash<QByteArray, QByteArray> hands; // job → owner
    for (int step = 0; step < 1'500; ++step) {
        switch (random.bounded(10)) {
        case 0:
        case 1: {
            const QByteArray id = "j" + QByteArray::number(step);
            const QByteArray dedupe = random.bounded(2) ? "k" + QByteArray::number(random.bounded(8)) : "";
            if (m_redis.add(id, dedupe, random.bounded(3) ? 0 : 1, random.bounded(2)) == "added")
                known.append(QString::fromLatin1(id));
            break;
        }
        case 2: { // one turn: an end, a start, and some that begin at once
            QueueRedis::Turn turn{.token = "t" + QByteArray::number(step),
                                  .leaseMs = random.bounded(2) ? 1 : 10'000,
                                  .take = int(random.bounded(4)),
                                  .begin = int(random.bounded(3))};
            const QList<QByteArray> held = hands.keys();
            if (held.size() >= 2) {
                const auto first = random.bounded(held.size() - 1);
                turn.ends = {{held[first], hands.take(held[first])}};
                turn.starts = {{held[first + 1], hands.take(held[first + 1])}};
            }
            const redis::Value reply = m_redis.turn(turn);
            QVERIFY2(!reply.isError(), reply.text.constData());
            if (!turn.ends.isEmpty() && reply.items[0].items[0].integer == 1)
                known.removeOne(QString::fromLatin1(turn.ends[0].first));
            if (!turn.starts.isEmpty() && reply.items[1].items[0].integer > 0)
                hands.insert(turn.starts[0].first, turn.token + ":1");
            for (const redis::Value &job : reply.items[2].items)
                hands.insert(job.items[0].text, job.items[1].text);
            break;
        }
        case 3:
            for (const auto &job : m_redis.take(random.bounded(4), random.bounded(2) ? 1 : 10'000))
                hands.insert(job.id, job.owner);
            break;
        default: {
            if (hands.isEmpty())
                break;
            const QByteArray id = hands.keys().at(random.bounded(int(hands.size())));
            const QByteArray owner = hands.take(id);
            const int kind = random.bounded(6);
            if (kind == 0) {
                if (m_redis.start(id, owner, random.bounded(2) ? 1 : 10'000) > 0)
                    hands.insert(id, QueueRedis::ownerOf(id));
            } else if (kind == 1 && m_redis.call("ack", {id, owner}).integer == 1) {
                known.removeOne(QString::fromLatin1(id));
            } else if (kind == 2) {
                m_redis.call("retry", {id, owner, "1", "60000", "c", "t"});
            } else if (kind == 3) {
                m_redis.call("defer", {id, owner, "0", "60000", "c", "t"});
            } else if (kind == 4) {
                m_redis.call("put_back", {id, owner, "0"});
            } else if (kind == 5) {
                m_redis.call("bury", {id, owner, "c", "t"});
                if (random.bounded(2))
                    m_redis.call("dead_requeue", {"0", id});
            }
        }
        }
        if (step % 100 == 99) {
            for (const QString &id : std::as_const(known))
                QVERIFY2(m_redis.placesOf(id.toLatin1()).size() == 1, qPrintable(id));
        }
    }
    QVERIFY(known.size() > 50);
    QCOMPARE(m_redis.integer({"EXISTS", QueueRedis::key("lost")}), 0);
}

void TestQueueFaults::lostBodies()
{
    m_redis.add("x");
    m_redis.add("y");
    m_redis.add("z", {}, 1);
    m_redis.add("r");
    m_redis.command({"DEL", QueueRedis::key("job:x"), QueueRedis::key("job:z")});
    QTest::qWait(5);
    const auto reply = m_redis.turn({.leaseMs = 1, .take = 2});
    QCOMPARE(reply.items[5].items.size(), 1);
    QCOMPARE(reply.items[5].items[0].text, "x");
    QCOMPARE(reply.items[2].items.size(), 2); // others take their room
    m_redis.command({"DEL", QueueRedis::key("job:y")});
    QTest::qWait(5);
    QCOMPARE(m_redis.turn({.take = 2}).items[5].items.size(), 1);
    QCOMPARE(m_redis.command({"GET", QueueRedis::key("lost")}).text, "3");
}

void TestQueueFaults::entryRemovedFromOutside()
{
    // redis/redis#7021: an entry that is gone when it is claimed is no reason to lose its job.
    m_redis.add("x");
    const QByteArray entry = m_redis.field("x", "entry");
    m_redis.take(1, 1);
    m_redis.command({"XDEL", QueueRedis::key("stream:normal"), entry});
    m_redis.command({"XACK", QueueRedis::key("stream:normal"), "workers", entry});
    QCOMPARE(m_redis.takeSoon(1).value(0).id, "x");
}

void TestQueueFaults::reaperFindsOrphans()
{
    m_redis.add("x", "k");
    m_redis.add("y", "live");
    m_redis.command({"DEL", QueueRedis::key("job:x")});
    // Somebody reads the group by hand and dies.
    m_redis.take(2);
    m_redis.add("z");
    m_redis.command({"XREADGROUP", "GROUP", "workers", "stranger", "COUNT", "5", "STREAMS",
                     QueueRedis::key("stream:normal"), ">"});
    QVERIFY(m_redis.take(5).isEmpty());
    QTest::qWait(5);
    const auto reaped = m_redis.call("reap", {"0", "1"});
    QCOMPARE(reaped.items[1].toInteger(), 1);
    QCOMPARE(m_redis.integer({"HLEN", QueueRedis::key("dedupe")}), 1);
    QCOMPARE(reaped.items[2].toInteger(), 1);
    QCOMPARE(m_redis.take(5).value(0).id, "z");
}

void TestQueueFaults::restartKeepsAll()
{
    QueueRedis durable({u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"always"_s});
    QVERIFY(durable.start());
    durable.add("run", "k");
    QCOMPARE(durable.startOne(), "run");
    durable.add("wait", {}, 0, true);
    durable.add("later", {}, 60'000);
    durable.add("bad");
    for (const auto &job : durable.take(2)) {
        if (job.id == "bad")
            durable.call("bury", {"bad", job.owner, "c", "t"});
        else
            durable.call("put_back", {job.id, job.owner, "0"});
    }
    durable.server().kill();
    QTRY_VERIFY(!durable.connection().isReady());
    QVERIFY(durable.server().start());
    QVERIFY(QCoro::waitFor(durable.connection().waitReady(5'000)));
    QCOMPARE(durable.placesOf("run"), QStringList{u"running"_s});
    QCOMPARE(durable.placesOf("wait"), QStringList{u"waiting"_s});
    QCOMPARE(durable.placesOf("later"), QStringList{u"delayed"_s});
    QCOMPARE(durable.placesOf("bad"), QStringList{u"dead"_s});
    QCOMPARE(durable.call("ack", {"run", QueueRedis::ownerOf("run")}).integer, 1);
}

void TestQueueFaults::groupIsMadeAgain()
{
    m_redis.add("x");
    m_redis.take(0);
    m_redis.command({"XGROUP", "DESTROY", QueueRedis::key("stream:normal"), "workers"});
    QCOMPARE(m_redis.take(1).value(0).id, "x");
}

void TestQueueFaults::fullMemoryIsWorkedOff()
{
    // taskforcesh/bullmq#1046, sidekiq/sidekiq#2883: without eviction a full Redis refuses, and says so.
    m_redis.add("x", "k");
    m_redis.startOne();
    m_redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
    const auto refused = QCoro::waitFor(m_redis.queue().enqueue(
        queue::JobSpec{.type = u"work"_s, .payload = {}, .dedupeKey = {}, .leaseName = {}}));
    const auto kept = m_redis.call("heartbeat", {"10000", "x", QueueRedis::ownerOf("x")});
    const auto ended = m_redis.call("ack", {"x", QueueRedis::ownerOf("x")});
    const auto counts = QCoro::waitFor(m_redis.queue().counts());
    m_redis.command({"CONFIG", "SET", "maxmemory", "0"});
    QCOMPARE(refused.error().code, u"redis_unavailable"_s);
    QVERIFY(kept.items.isEmpty() && !kept.isError());
    QCOMPARE(ended.integer, 1);
    QCOMPARE((*counts)[u"running"].toInt(), 0);
}

void TestQueueFaults::withoutEnoughReplicas()
{
    // A server that wants replicas refuses writes while one is away: that passes, and nothing was done.
    m_redis.add("x");
    m_redis.startOne();
    m_redis.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    const auto refused = QCoro::waitFor(m_redis.queue().enqueue(
        queue::JobSpec{.type = u"work"_s, .payload = {}, .dedupeKey = {}, .leaseName = {}}));
    m_redis.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
    QCOMPARE(refused.error().code, u"redis_unavailable"_s);
    QCOMPARE(m_redis.call("ack", {"x", QueueRedis::ownerOf("x")}).integer, 1);
}

QTEST_GUILESS_MAIN(TestQueueFaults)
#include "tst_queue_faults.moc"
