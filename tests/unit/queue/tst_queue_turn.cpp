// SPDX-License-Identifier: Apache-2.0
#include "queue/worker.h"
#include "queueredis.h"

#include <QCoro/QCoroTimer>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace std::chrono_literals;
using namespace tidekeeper;
using namespace tidekeeper::queue;
using namespace tidekeeper::test;

/// A worker's turn: ends, starts and takes in one call.
class TestQueueTurn : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.clear(); }

    void beginsSomeAndClaimsTheRest();
    void endsStartsAndTakesInOneCall();
    void othersHandsAreLeftAlone();
    void suspectsAreOnlyClaimed();
    void sweepsWhenToldTo();
    void saysWhereToWait();
    void badArguments_data();
    void badArguments();
    void fullRedisTakesEnds();
    void tooFewReplicasLoseNoEnd();
    void fewCallsForManyJobs();
    void suspectWaitsForTheOthers();
    void suspectKeepsNobodyWaiting();
    void hungHandlerHoldsNobodyUp();

private:
    /// Of the jobs that a turn brought: "id" claimed, "id!" begun.
    static QStringList taken(const redis::Value &reply)
    {
        QStringList list;
        for (const redis::Value &job : reply.items.value(2).items)
            list.append(QString::fromUtf8(job.items[0].text)
                        + (job.items[2].integer == 1 ? u"!"_s : QString()));
        return list;
    }
    static QList<qint64> numbers(const redis::Value &array)
    {
        QList<qint64> list;
        for (const redis::Value &one : array.items)
            list.append(one.toInteger());
        return list;
    }
    void enqueue(const QString &type, int count = 1)
    {
        QList<JobSpec> specs(count);
        for (JobSpec &spec : specs)
            spec.type = type;
        QVERIFY(QCoro::waitFor(m_redis.queue().enqueue(specs)));
    }
    /// A job that a worker started and did not end.
    void leaveSuspect(const QByteArray &id)
    {
        m_redis.add(id);
        QCOMPARE(m_redis.startOne(1), id);
        QTest::qWait(5);
    }

    QueueRedis m_redis;
};

void TestQueueTurn::beginsSomeAndClaimsTheRest()
{
    for (const char *id : {"a", "b", "c", "d"})
        m_redis.add(id);
    const auto reply = m_redis.turn({.token = "tok", .take = 3, .begin = 2});
    QCOMPARE(taken(reply), (QStringList{u"a!"_s, u"b!"_s, u"c"_s}));
    QCOMPARE(m_redis.counter("a", "starts"), 1);
    QCOMPARE(m_redis.field("a", "owner"), "tok.1");
    QCOMPARE(m_redis.field("a", "state"), "running");
    QVERIFY(m_redis.field("a", "started_at").toLongLong() > 1'700'000'000'000);
    QCOMPARE(m_redis.counter("c", "starts"), 0); // prefetched: not counted
    QCOMPARE(m_redis.field("c", "started_at"), "");
    QCOMPARE(m_redis.placesOf("b"), QStringList{u"running"_s});
    QCOMPARE(m_redis.placesOf("c"), QStringList{u"claimed"_s});
    QCOMPARE(m_redis.placesOf("d"), QStringList{u"waiting"_s});
}

void TestQueueTurn::endsStartsAndTakesInOneCall()
{
    for (const char *id : {"a", "b", "c"})
        m_redis.add(id);
    m_redis.turn({.token = "one", .take = 2, .begin = 1});
    const auto reply =
        m_redis.turn({.token = "two", .take = 1, .ends = {{"a", "one.1"}}, .starts = {{"b", "one.2"}}});
    QCOMPARE(numbers(reply.items[0]), QList<qint64>{1});
    QCOMPARE(numbers(reply.items[1]), QList<qint64>{1});
    QCOMPARE(taken(reply), QStringList{u"c"_s});
    QVERIFY(m_redis.placesOf("a").isEmpty());
    QCOMPARE(m_redis.integer({"EXISTS", QueueRedis::key("job:a")}), 0);
    QCOMPARE(m_redis.field("b", "owner"), "two:1");
    QCOMPARE(m_redis.placesOf("b"), QStringList{u"running"_s});
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("stream:normal")}), 2); // the ended one has left it
}

void TestQueueTurn::othersHandsAreLeftAlone()
{
    // taskforcesh/bullmq#3183: late words of a slow worker are refused, and those of its neighbours are not.
    for (const char *id : {"a", "b", "c"})
        m_redis.add(id);
    m_redis.turn({.token = "t", .take = 3, .begin = 2});
    const auto reply = m_redis.turn({.token = "u",
                                     .ends = {{"a", "stale"}, {"b", "t.2"}, {"b", "t.2"}, {"nobody", "t.1"}},
                                     .starts = {{"c", "stale"}, {"a", "t.1"}, {"nobody", "t.3"}}});
    QCOMPARE(numbers(reply.items[0]), (QList<qint64>{0, 1, 0, 0}));
    QCOMPARE(numbers(reply.items[1]), (QList<qint64>{0, 0, 0})); // "a" runs already
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"running"_s});
    QCOMPARE(m_redis.counter("a", "starts"), 1);
    QCOMPARE(m_redis.placesOf("c"), QStringList{u"claimed"_s});
    QCOMPARE(m_redis.counter("c", "starts"), 0);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("finished")}), 1); // "b", once
}

void TestQueueTurn::suspectsAreOnlyClaimed()
{
    // pipeshub-ai/pipeshub-ai#3037: what may have ended its worker is not begun beside others.
    leaveSuspect("poison");
    m_redis.add("good");
    const auto reply = m_redis.turn({.take = 5, .begin = 5});
    QCOMPARE(taken(reply), (QStringList{u"poison"_s, u"good!"_s}));
    QCOMPARE(reply.items[2].items[0].items[6].toInteger(), 1); // starts, for the worker to know it by
    QCOMPARE(m_redis.counter("poison", "starts"), 1);
    QCOMPARE(m_redis.placesOf("poison"), QStringList{u"claimed"_s});
}

void TestQueueTurn::sweepsWhenToldTo()
{
    leaveSuspect("stalled");
    m_redis.add("due", {}, 1);
    m_redis.add("new");
    QTest::qWait(5);
    const auto withSweep = [](const char *sweep) {
        return QList<QByteArray>{"c", "t", "10000", "3", "5", "0", sweep, "0"};
    };
    QCOMPARE(taken(m_redis.call("turn", withSweep("0"))), QStringList{u"new"_s});
    QCOMPARE(taken(m_redis.call("turn", withSweep("1"))), (QStringList{u"stalled"_s, u"due"_s}));
}

void TestQueueTurn::saysWhereToWait()
{
    m_redis.add("a");
    m_redis.add("b");
    m_redis.add("later", {}, 60'000);
    const auto full = m_redis.turn({.take = 1});
    QVERIFY(full.items[4].items.isEmpty()); // more may be waiting: ask again
    const auto rest = m_redis.turn({.take = 5});
    QCOMPARE(rest.items[4].items.size(), 3);
    QCOMPARE(rest.items[4].items[0].text, "0-0");
    QCOMPARE(rest.items[4].items[1].text, m_redis.field("b", "entry"));
    QVERIFY(rest.items[3].toInteger() > 59'000 && rest.items[3].toInteger() <= 60'000);
    QVERIFY(m_redis.turn({.take = 0}).items[4].items.isEmpty());
}

void TestQueueTurn::badArguments_data()
{
    QTest::addColumn<QList<QByteArray>>("arguments");
    const QList<QByteArray> good{"c", "t", "10000", "3", "1", "0", "1", "0"};
    QTest::newRow("too few") << good.mid(0, 7);
    QTest::newRow("half a pair") << good + QList<QByteArray>{"x"};
    QTest::newRow("take too much") << QList<QByteArray>{"c", "t", "10000", "3", "1001", "0", "1", "0"};
    QTest::newRow("lease") << QList<QByteArray>{"c", "t", "-1", "3", "1", "0", "1", "0"};
    QTest::newRow("take") << QList<QByteArray>{"c", "t", "10000", "3", "many", "0", "1", "0"};
    QTest::newRow("ends") << QList<QByteArray>{"c", "t", "10000", "3", "1", "0", "1", "1.5"};
}

void TestQueueTurn::badArguments()
{
    QFETCH(QList<QByteArray>, arguments);
    m_redis.add("x");
    QVERIFY(m_redis.call("turn", arguments).isError());
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"waiting"_s});
}

void TestQueueTurn::fullRedisTakesEnds()
{
    // taskforcesh/bullmq#1046: a full Redis refuses the turn as a whole, but not what frees memory.
    Worker worker(u"test"_s, m_redis.endpoint(), m_redis.library(), {.consumers = 1, .prefetch = 2});
    bool mayEnd = false;
    int runs = 0;
    worker.handle(u"work"_s, [&](Job) -> QCoro::Task<JobOutcome> {
        ++runs;
        while (!mayEnd)
            co_await QCoro::sleepFor(5ms);
        co_return JobOutcome{};
    });
    QSignalSpy ended(&worker, &Worker::jobEnded);
    enqueue(u"work"_s, 2);
    worker.start();
    QTRY_COMPARE(m_redis.integer({"ZCARD", QueueRedis::key("claimed")}), 1);
    m_redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
    const QByteArray prefetched =
        m_redis.command({"ZRANGE", QueueRedis::key("claimed"), "0", "0"}).items[0].text;
    mayEnd = true;
    QTRY_COMPARE(ended.size(), 1);
    QCOMPARE(ended[0][1].toString(), u"done"_s);
    QCOMPARE(runs, 1);
    QCOMPARE(m_redis.counter(prefetched, "starts"), 0); // untouched, and still in hand
    m_redis.command({"CONFIG", "SET", "maxmemory", "0"});
    QTRY_COMPARE(ended.size(), 2);
    QCOMPARE(ended[1][1].toString(), u"done"_s);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("finished")}), 2);
    QCoro::waitFor(worker.stop(0));
}

void TestQueueTurn::tooFewReplicasLoseNoEnd()
{
    // What a server refuses before it looks at it is said again, and what was in hand stays there.
    Worker worker(u"test"_s, m_redis.endpoint(), m_redis.library(), {.consumers = 1, .prefetch = 2});
    bool mayEnd = false;
    int runs = 0;
    worker.handle(u"work"_s, [&](Job) -> QCoro::Task<JobOutcome> {
        ++runs;
        while (!mayEnd)
            co_await QCoro::sleepFor(5ms);
        co_return JobOutcome{};
    });
    QSignalSpy ended(&worker, &Worker::jobEnded);
    enqueue(u"work"_s, 2);
    worker.start();
    QTRY_COMPARE(m_redis.integer({"ZCARD", QueueRedis::key("claimed")}), 1);
    m_redis.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    mayEnd = true;
    QTest::qWait(300);
    QCOMPARE(ended.size(), 0);
    m_redis.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
    QTRY_COMPARE(ended.size(), 2); // long before a lease runs out
    QCOMPARE(ended[0][1].toString(), u"done"_s);
    QCOMPARE(ended[1][1].toString(), u"done"_s);
    QCOMPARE(runs, 2);
    QCoro::waitFor(worker.stop(0));
}

void TestQueueTurn::fewCallsForManyJobs()
{
    constexpr int jobs = 400;
    enqueue(u"work"_s, jobs);
    Worker worker(u"test"_s, m_redis.endpoint(), m_redis.library(), {.consumers = 20});
    worker.handle(u"work"_s, [](Job) -> QCoro::Task<JobOutcome> { co_return JobOutcome{}; });
    QSignalSpy ended(&worker, &Worker::jobEnded);
    m_redis.command({"CONFIG", "RESETSTAT"});
    worker.start();
    QTRY_COMPARE(ended.size(), jobs);
    const QByteArray stats = m_redis.command({"INFO", "commandstats"}).text;
    const qsizetype at = stats.indexOf("cmdstat_fcall:calls=") + 20;
    const int calls = stats.mid(at, stats.indexOf(',', at) - at).toInt();
    QVERIFY2(calls > 0 && calls < jobs / 4, qPrintable(QString::number(calls)));
    QCoro::waitFor(worker.stop(0));
}

void TestQueueTurn::suspectWaitsForTheOthers()
{
    leaveSuspect("suspect");
    enqueue(u"slow"_s, 2);
    QStringList atWork;
    QString beside;
    bool mayEnd = false;
    const auto handler = [&](Job job) -> QCoro::Task<JobOutcome> {
        atWork.append(job.type);
        if (job.starts > 1)
            beside = atWork.join(u' ');
        while (!mayEnd)
            co_await QCoro::sleepFor(5ms);
        if (job.starts > 1)
            co_await QCoro::sleepFor(100ms); // others would start now
        atWork.removeOne(job.type);
        co_return JobOutcome{};
    };
    Worker worker(u"test"_s, m_redis.endpoint(), m_redis.library(), {.consumers = 3, .longestWaitMs = 50});
    worker.handle(u"slow"_s, handler);
    worker.handle(u"work"_s, handler);
    QSignalSpy ended(&worker, &Worker::jobEnded);
    worker.start();
    QTRY_COMPARE(atWork.size(), 2);
    QCOMPARE(m_redis.placesOf("suspect"), QStringList{u"claimed"_s});
    enqueue(u"slow"_s, 2); // a handler is free, but the suspect comes first
    QTest::qWait(150);
    QCOMPARE(atWork.size(), 2);
    mayEnd = true;
    QTRY_COMPARE(ended.size(), 5);
    QCOMPARE(beside, u"work"_s);
    QCoro::waitFor(worker.stop(0));
}

void TestQueueTurn::suspectKeepsNobodyWaiting()
{
    leaveSuspect("suspect");
    bool mayEnd = false;
    Worker busy(u"test"_s, m_redis.endpoint(), m_redis.library(), {.longestWaitMs = 50});
    busy.handle(u"work"_s, [&](Job) -> QCoro::Task<JobOutcome> {
        while (!mayEnd)
            co_await QCoro::sleepFor(5ms);
        co_return JobOutcome{};
    });
    busy.start();
    QTRY_COMPARE(m_redis.placesOf("suspect"), QStringList{u"running"_s});
    enqueue(u"other"_s, 2);
    QTest::qWait(150); // it looks for work several times
    Worker idle(u"test"_s, m_redis.endpoint(), m_redis.library(), {.longestWaitMs = 50});
    idle.handle(u"other"_s, [](Job) -> QCoro::Task<JobOutcome> { co_return JobOutcome{}; });
    QSignalSpy ended(&idle, &Worker::jobEnded);
    idle.start();
    QTRY_COMPARE_WITH_TIMEOUT(ended.size(), 2, 2'000);
    QCOMPARE(m_redis.placesOf("suspect"), QStringList{u"running"_s});
    mayEnd = true;
    QCoro::waitFor(busy.stop(2'000));
    QCoro::waitFor(idle.stop(0));
}

void TestQueueTurn::hungHandlerHoldsNobodyUp()
{
    // Its own worker takes the job over again: a suspect, which must not wait for the handler that hangs.
    Worker worker(
        u"test"_s, m_redis.endpoint(), m_redis.library(),
        {.consumers = 1, .leaseMs = 200, .heartbeatMs = 50, .longestRunMs = 300, .longestWaitMs = 50});
    bool hangs = true;
    worker.handle(u"work"_s, [&](Job) -> QCoro::Task<JobOutcome> {
        if (std::exchange(hangs, false))
            co_await QCoro::sleepFor(3s);
        co_return JobOutcome{};
    });
    QSignalSpy ended(&worker, &Worker::jobEnded);
    enqueue(u"work"_s, 2);
    worker.start();
    QTRY_COMPARE_WITH_TIMEOUT(ended.size(), 3, 2'500);
    QCOMPARE(ended[0][1].toString(), u"taken_over"_s);
    QCOMPARE(ended[1][1].toString(), u"done"_s);
    QCOMPARE(ended[2][1].toString(), u"done"_s);
    QTest::qWait(3'000); // the handler comes back, and nobody listens
    QCOMPARE(ended.size(), 3);
    QCoro::waitFor(worker.stop(0));
}

QTEST_GUILESS_MAIN(TestQueueTurn)
#include "tst_queue_turn.moc"
