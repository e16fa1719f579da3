// SPDX-License-Identifier: Apache-2.0
#include "queueredis.h"

#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

/// Every function of lua/queue.lua, one move at a time.
class TestQueueMoves : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.clear(); }

    void asksAgain_data();
    void asksAgain();
    void tenTicksWithoutWorkers();
    void heldBackOnlyByUrgentWish();
    void keyLivesToTheEnd();
    void sameIdIsNotAddedTwice();
    void batchIsCheckedFirst();
    void urgentFirst();
    void countedAtStart();
    void onlyTheOwnerEnds();
    void attemptsAndDeferralsApart();
    void tooOldIsDead();
    void releaseIsUncounted();
    void takenOverAfterTheLease();
    void heartbeatExtends();
    void deadAfterThreeStarts();
    void eightPromoters();
    void staleTerm();
    void fireIsCompareAndSet();
    void fireQueueOne();
    void countsSayWhereJobsAre();

private:
    /// A job "x" with key "k" in a state of its life.
    void bring(const QString &state);

    QueueRedis m_redis;
};

void TestQueueMoves::bring(const QString &state)
{
    m_redis.add("x", "k", state == u"delayed" ? 60'000 : 0, state == u"urgent");
    if (state == u"claimed")
        m_redis.take(1);
    if (state == u"running")
        m_redis.startOne();
}

void TestQueueMoves::asksAgain_data()
{
    // getlago/lago-api#5837, icoretech/codex-pooler#169: one live job for the schedule and for "renew now".
    QTest::addColumn<QString>("state");
    QTest::addColumn<bool>("urgent");
    QTest::addColumn<qint64>("delay");
    QTest::addColumn<QByteArray>("result");
    QTest::addColumn<QByteArray>("lane");
    QTest::addColumn<QString>("place");

    const auto row = [](const char *state, bool urgent, qint64 delay, const char *result, const char *lane,
                        const char *place) {
        QTest::addRow("%s, %s, %lld ms", state, urgent ? "urgent" : "normal", delay)
            << QString::fromLatin1(state) << urgent << delay << QByteArray(result) << QByteArray(lane)
            << QString::fromLatin1(place);
    };
    row("waiting", false, 0, "waiting", "normal", "waiting");
    row("waiting", true, 0, "promoted", "urgent", "waiting");
    row("waiting", false, 5'000, "waiting", "normal", "waiting");
    row("urgent", true, 0, "waiting", "urgent", "waiting");
    row("urgent", false, 0, "waiting", "urgent", "waiting");
    row("delayed", false, 0, "promoted", "normal", "waiting");
    row("delayed", true, 0, "promoted", "urgent", "waiting");
    row("delayed", false, 5'000, "delayed", "normal", "delayed");
    row("claimed", true, 0, "waiting", "normal", "claimed");
    row("running", false, 0, "running", "normal", "running");
    row("running", true, 0, "running", "normal", "running");
}

void TestQueueMoves::asksAgain()
{
    QFETCH(QString, state);
    QFETCH(bool, urgent);
    QFETCH(qint64, delay);
    QFETCH(QByteArray, result);
    QFETCH(QByteArray, lane);
    QFETCH(QString, place);
    bring(state);
    QCOMPARE(m_redis.add("y", "k", delay, urgent), result);
    QCOMPARE(m_redis.field("x", "lane"), lane);
    QCOMPARE(m_redis.placesOf("x"), QStringList{place});
    QVERIFY(m_redis.placesOf("y").isEmpty());
    QVERIFY(m_redis.command({"HGETALL", QueueRedis::key("job:y")}).items.isEmpty());
}

void TestQueueMoves::tenTicksWithoutWorkers()
{
    // getlago/lago-api#5837, ecosyste-ms/packages#1799: one job for an account, however long the workers are away.
    constexpr int accounts = 20;
    for (int tick = 0; tick < 10; ++tick) {
        for (int account = 0; account < accounts; ++account) {
            const QByteArray number = QByteArray::number(account);
            QCOMPARE(m_redis.add(QByteArray::number(tick) + '-' + number, "renew:" + number),
                     tick == 0 ? "added" : "waiting");
        }
    }
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("stream:normal")}), accounts);
}

void TestQueueMoves::heldBackOnlyByUrgentWish()
{
    m_redis.add("x", "k");
    QCOMPARE(m_redis.startOne(), "x");
    QCOMPARE(
        m_redis.call("defer", {"x", QueueRedis::ownerOf("x"), "900000", "3600000", "rate", "later"}).integer,
        1);
    QCOMPARE(m_redis.add("y", "k"), "delayed"); // a scan does not overrule "retry after"
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"delayed"_s});
    QCOMPARE(m_redis.add("y", "k", 0, true), "promoted"); // a person does
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"waiting"_s});
}

void TestQueueMoves::keyLivesToTheEnd()
{
    m_redis.add("x", "k");
    m_redis.startOne();
    m_redis.call("retry", {"x", QueueRedis::ownerOf("x"), "0", "60000", "transient", ""});
    QCOMPARE(m_redis.startOne(), "x");
    QCOMPARE(m_redis.add("y", "k"), "running");
    QCOMPARE(m_redis.call("ack", {"x", QueueRedis::ownerOf("x")}).integer, 1);
    QCOMPARE(m_redis.add("y", "k"), "added");
    // Nothing is left of the first one.
    QCOMPARE(m_redis.integer({"EXISTS", QueueRedis::key("job:x"), QueueRedis::key("log:x")}), 0);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("stream:normal")}), 1);
}

void TestQueueMoves::sameIdIsNotAddedTwice()
{
    QCOMPARE(m_redis.add("x"), "added");
    QCOMPARE(m_redis.add("x"), "waiting"); // an enqueue sent again after a time-out
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"waiting"_s});
}

void TestQueueMoves::batchIsCheckedFirst()
{
    const auto reply = m_redis.call("enqueue",
                                    {"", "0", "a", "work", "{}", "", "0", "0", "", "", //
                                     "b", "work", "{}", "", "1.5", "0", "", ""});
    QVERIFY(reply.isError());
    QVERIFY(reply.text.contains("delay_ms"));
    QVERIFY(m_redis.placesOf("a").isEmpty());
    QVERIFY(m_redis.call("enqueue", {"", "0", "a", "work"}).isError());
}

void TestQueueMoves::urgentFirst()
{
    m_redis.add("a");
    m_redis.add("b", {}, 0, true);
    m_redis.add("c");
    QList<QByteArray> order;
    for (const auto &job : m_redis.take(3))
        order.append(job.id);
    QCOMPARE(order, (QList<QByteArray>{"b", "a", "c"}));
}

void TestQueueMoves::countedAtStart()
{
    m_redis.add("x");
    const auto taken = m_redis.take(1);
    QCOMPARE(taken.size(), 1);
    QCOMPARE(m_redis.counter("x", "starts"), 0);
    QCOMPARE(m_redis.start("x", "wrong"), 0);
    QCOMPARE(m_redis.counter("x", "starts"), 0);
    QCOMPARE(m_redis.start("x", taken[0].owner), 1);
    QCOMPARE(m_redis.start("x", taken[0].owner), 0);
    QCOMPARE(m_redis.counter("x", "starts"), 1);
    QCOMPARE(m_redis.field("x", "owner"), QueueRedis::ownerOf("x"));
}

void TestQueueMoves::onlyTheOwnerEnds()
{
    m_redis.add("x");
    m_redis.startOne();
    QCOMPARE(m_redis.call("ack", {"x", "other"}).integer, 0);
    QCOMPARE(m_redis.call("ack", {"x", ""}).integer, 0);
    QCOMPARE(m_redis.call("retry", {"x", "other", "0", "1000", "c", "t"}).integer, 0);
    QCOMPARE(m_redis.call("defer", {"x", "other", "0", "1000", "c", "t"}).integer, 0);
    QCOMPARE(m_redis.call("put_back", {"x", "other", "0"}).integer, 0);
    QCOMPARE(m_redis.call("bury", {"x", "other", "c", "t"}).integer, 0);
    QCOMPARE(m_redis.call("heartbeat", {"1000", "x", "other"}).items.size(), 1);
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"running"_s});
    QCOMPARE(m_redis.call("ack", {"x", QueueRedis::ownerOf("x")}).integer, 1);
    QCOMPARE(m_redis.call("ack", {"x", QueueRedis::ownerOf("x")}).integer,
             0); // an ack sent again after a time-out
}

void TestQueueMoves::attemptsAndDeferralsApart()
{
    // twentyhq/twenty#17850, Bogdanp/dramatiq#257: throttling neither burns attempts nor kills the job.
    m_redis.add("x");
    for (int i = 0; i < 20; ++i) {
        QCOMPARE(m_redis.startOne(), "x");
        QCOMPARE(m_redis.call("defer", {"x", QueueRedis::ownerOf("x"), "0", "60000", "rate", ""}).integer, 1);
    }
    QCOMPARE(m_redis.startOne(), "x");
    QCOMPARE(m_redis.call("retry", {"x", QueueRedis::ownerOf("x"), "0", "60000", "transient", ""}).integer,
             1);
    QCOMPARE(m_redis.counter("x", "deferrals"), 20);
    QCOMPARE(m_redis.counter("x", "attempts"), 1);
    QCOMPARE(m_redis.counter("x", "starts"), 0);
    QCOMPARE(m_redis.integer({"ZCARD", QueueRedis::key("dead")}), 0);
    QCOMPARE(m_redis.integer({"LLEN", QueueRedis::key("log:x")}), 20);
}

void TestQueueMoves::tooOldIsDead()
{
    m_redis.add("x");
    m_redis.startOne();
    QCOMPARE(m_redis.call("defer", {"x", QueueRedis::ownerOf("x"), "5000", "4000", "rate", "later"}).integer,
             2);
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"dead"_s});
    QCOMPARE(m_redis.field("x", "error_class"), "rate");
}

void TestQueueMoves::releaseIsUncounted()
{
    m_redis.add("x", "k", 0, true);
    m_redis.startOne();
    QCOMPARE(m_redis.call("put_back", {"x", QueueRedis::ownerOf("x"), "0"}).integer, 1);
    QCOMPARE(m_redis.counter("x", "starts"), 0);
    QCOMPARE(m_redis.field("x", "lane"), "urgent");
    const auto taken = m_redis.take(1);
    QCOMPARE(m_redis.call("put_back", {"x", taken[0].owner, "0"}).integer, 1); // prefetched, never started
    QCOMPARE(m_redis.counter("x", "starts"), 0);
    QCOMPARE(m_redis.startOne(), "x");
    QCOMPARE(m_redis.call("put_back", {"x", QueueRedis::ownerOf("x"), "60000"}).integer, 1);
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"delayed"_s});
    QCOMPARE(m_redis.counter("x", "attempts"), 0);
}

void TestQueueMoves::takenOverAfterTheLease()
{
    // OptimalBits/bull#308, taskforcesh/bullmq#3183: a slow worker's late ack is refused, quietly.
    m_redis.add("x");
    QCOMPARE(m_redis.startOne(50), "x");
    QVERIFY(m_redis.take(1, 10'000, "c2").isEmpty());
    QCOMPARE(m_redis.takeSoon(1, 10'000, "c2").size(), 1);
    QCOMPARE(m_redis.call("ack", {"x", QueueRedis::ownerOf("x")}).integer, 0);
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"claimed"_s});
    QCOMPARE(m_redis.counter("x", "starts"), 1);
}

void TestQueueMoves::heartbeatExtends()
{
    m_redis.add("x");
    m_redis.add("y");
    const auto claim = m_redis.take(2, 300);
    QCOMPARE(m_redis.start("x", claim[0].owner, 300), 1);
    for (int i = 0; i < 10; ++i) {
        QTest::qWait(60);
        QVERIFY(m_redis.call("heartbeat", {"300", "x", QueueRedis::ownerOf("x"), "y", claim[1].owner})
                    .items.isEmpty());
        QVERIFY(m_redis.take(2, 300, "c2").isEmpty());
    }
    // One that has lost its jobs keeps nobody else from them, and is told.
    const auto lost = m_redis.call("heartbeat", {"60000", "x", "another", "y", claim[1].owner + "1"});
    QCOMPARE(lost.items.size(), 2);
    QCOMPARE(m_redis.takeSoon(2, 5'000, "c2").size(), 2); // nobody beats any more
}

void TestQueueMoves::deadAfterThreeStarts()
{
    // pipeshub-ai/pipeshub-ai#3037: counted before the handler can die; its neighbours are untouched.
    m_redis.add("poison", "p");
    m_redis.add("good");
    for (int i = 1; i <= 3; ++i) {
        for (int prefetched = 0; prefetched < 3; ++prefetched) { // which never counts
            QTest::qWait(5);
            QCOMPARE(m_redis.take(2, 1).size(), 2);
        }
        const QByteArray owner = m_redis.field("poison", "owner");
        QCOMPARE(m_redis.start("poison", owner, 1), i);
    }
    QTest::qWait(5);
    const auto rest = m_redis.take(2);
    QCOMPARE(rest.size(), 1);
    QCOMPARE(rest[0].id, "good");
    QCOMPARE(m_redis.placesOf("poison"), QStringList{u"dead"_s});
    QCOMPARE(m_redis.field("poison", "error_class"), "stalled");
    QCOMPARE(m_redis.counter("good", "starts"), 0);
    QCOMPARE(m_redis.placesOf("good"), QStringList{u"claimed"_s});
    QCOMPARE(m_redis.add("again", "p"), "added"); // a dead letter holds no key
}

void TestQueueMoves::eightPromoters()
{
    // Automattic/kue#1133, laravel/framework#5707
    constexpr int jobs = 1'000;
    for (int i = 0; i < jobs; ++i)
        m_redis.add(QByteArray::number(i), {}, 1);
    QTest::qWait(5);
    std::vector<std::unique_ptr<redis::RedisConnection>> connections;
    int promoted = 0;
    int pending = 0;
    for (int c = 0; c < 8; ++c) {
        connections.push_back(std::make_unique<redis::RedisConnection>(m_redis.endpoint()));
        connections.back()->open();
        QVERIFY(QCoro::waitFor(connections.back()->waitReady(5'000)));
    }
    for (int round = 0; round < 40; ++round) {
        for (const auto &connection : connections) {
            ++pending;
            connection->send(
                {"FCALL", "tidekeeper_promote_v1", "1", "tk:{q:test}", "7"},
                [&](const Result<redis::Value> &reply) {
                    promoted += reply ? int(reply->integer) : 0;
                    --pending;
                },
                5'000);
        }
    }
    QTRY_COMPARE(pending, 0);
    QCOMPARE(promoted, jobs);
    QSet<QByteArray> seen;
    for (const auto &job : m_redis.take(jobs))
        seen.insert(job.id);
    QCOMPARE(seen.size(), jobs);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("stream:normal")}), jobs);
}

void TestQueueMoves::staleTerm()
{
    const auto enqueue = [this](qint64 term) {
        return QCoro::waitFor(m_redis.queue().enqueue(queue::JobSpec{
            .type = u"work"_s, .payload = {}, .dedupeKey = {}, .leaseName = u"scheduler"_s, .term = term}));
    };
    QVERIFY(enqueue(1'796'054'669'266'622));
    QVERIFY(enqueue(1'796'054'669'266'623));
    const auto stale = enqueue(1'796'054'669'266'622);
    QCOMPARE(stale.error().code, u"stale_term"_s);
    QCOMPARE(stale.error().details[u"term"].toInteger(), 1'796'054'669'266'623);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("stream:normal")}), 2);
    QVERIFY(QCoro::waitFor(m_redis.queue().fence(u"scheduler"_s, 1'796'054'669'266'630)));
    QCOMPARE(enqueue(1'796'054'669'266'623).error().code, u"stale_term"_s);
}

void TestQueueMoves::fireIsCompareAndSet()
{
    // go-co-op/gocron#789: the tick is the key, whoever leads.
    const auto fire = [this](qint64 expected, qint64 nominal, qint64 term) {
        return QCoro::waitFor(m_redis.queue().fire(
            queue::Fire{u"s"_s, expected, nominal, u"scheduler"_s, term, false},
            queue::JobSpec{.type = u"work"_s, .payload = {}, .dedupeKey = {}, .leaseName = {}}));
    };
    const auto first = fire(0, 60'000, 5);
    QVERIFY(first && first->fired);
    QCOMPARE(first->result, u"added"_s);
    const auto second = fire(0, 60'000, 5);
    QVERIFY(second && !second->fired);
    QCOMPARE(second->currentNominalMs, 60'000);
    QCOMPARE(fire(60'000, 120'000, 4).error().code, u"stale_term"_s);
    QVERIFY(fire(60'000, 120'000, 6)->fired);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("stream:normal")}), 2);
}

void TestQueueMoves::fireQueueOne()
{
    const auto fire = [this](qint64 expected, qint64 nominal) {
        queue::JobSpec job{
            .type = u"work"_s, .payload = {{u"n"_s, nominal}}, .dedupeKey = u"k"_s, .leaseName = {}};
        return QCoro::waitFor(m_redis.queue().fire(queue::Fire{u"s"_s, expected, nominal, {}, 0, true}, job));
    };
    fire(0, 1);
    const QByteArray first = m_redis.startOne();
    QCOMPARE(fire(1, 2)->result, u"queued_one"_s);
    QCOMPARE(fire(2, 3)->result, u"queued_one"_s); // still one
    QVERIFY(m_redis.take(5).isEmpty()); // and not beside the running one
    QCOMPARE(m_redis.call("ack", {first, QueueRedis::ownerOf(first)}).integer, 1);
    const QByteArray next = m_redis.startOne();
    QVERIFY(!next.isEmpty() && next != first);
    QCOMPARE(m_redis.field(next, "payload"), R"({"n":3})");
    QCOMPARE(m_redis.call("ack", {next, QueueRedis::ownerOf(next)}).integer, 1);
    QVERIFY(m_redis.take(5).isEmpty());
    QCOMPARE(m_redis.integer({"HLEN", QueueRedis::key("dedupe")}), 0);
}

void TestQueueMoves::countsSayWhereJobsAre()
{
    m_redis.add("run");
    QCOMPARE(m_redis.startOne(), "run");
    m_redis.add("dead");
    QCOMPARE(m_redis.startOne(), "dead");
    m_redis.call("bury", {"dead", QueueRedis::ownerOf("dead"), "c", "t"});
    m_redis.add("claim");
    m_redis.take(1);
    m_redis.add("u1", {}, 0, true);
    m_redis.add("n1");
    m_redis.add("n2");
    m_redis.add("d1", {}, 60'000);
    QTest::qWait(20);
    const auto counts = QCoro::waitFor(m_redis.queue().counts());
    QVERIFY(counts);
    QCOMPARE((*counts)[u"name"].toString(), u"test"_s);
    QCOMPARE((*counts)[u"urgent"].toInt(), 1);
    QCOMPARE((*counts)[u"normal"].toInt(), 2);
    QCOMPARE((*counts)[u"delayed"].toInt(), 1);
    QCOMPARE((*counts)[u"claimed"].toInt(), 1);
    QCOMPARE((*counts)[u"running"].toInt(), 1);
    QCOMPARE((*counts)[u"dead"].toInt(), 1);
    QVERIFY((*counts)[u"oldest_waiting_ms"].toInt() >= 20);
}

QTEST_GUILESS_MAIN(TestQueueMoves)
#include "tst_queue_moves.moc"
