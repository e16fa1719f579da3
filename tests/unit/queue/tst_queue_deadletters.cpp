// SPDX-License-Identifier: Apache-2.0
#include "queue/deadletters.h"
#include "queue/worker.h"
#include "queueredis.h"

#include <QtCore/QJsonArray>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::queue;
using namespace tidekeeper::test;

class TestQueueDeadLetters : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_redis.start());
        m_letters.emplace(u"test"_s, m_redis.library());
    }
    void init() { m_redis.clear(); }

    void keepsWhatIsNeededToUnderstand();
    void rawPayload();
    void groups();
    void manyGroups();
    void pages();
    void requeue();
    void requeueBesideALiveJob();
    void discardAndRestore();
    void dryRunChangesNothing();
    void discardedOnesAreListed();
    void restoredWithinADay();
    void discardedOnesGoAfterADay();
    void unknownIds();
    void aWorkerSaysWhatIsTooOld();

private:
    void kill(const QByteArray &id, const QByteArray &errorClass, const QByteArray &text,
              const QByteArray &dedupe = {})
    {
        m_redis.add(id, dedupe);
        QCOMPARE(m_redis.startOne(), id);
        QCOMPARE(m_redis.call("bury", {id, QueueRedis::ownerOf(id), errorClass, text}).integer, 1);
    }
    QJsonObject list(DeadFilter filter = {}) { return *QCoro::waitFor(m_letters->list(std::move(filter))); }
    QStringList ids(const QJsonObject &page)
    {
        QStringList ids;
        for (const QJsonValue &letter : page[u"dead"].toArray())
            ids.append(letter[u"id"].toString());
        ids.sort();
        return ids;
    }

    QueueRedis m_redis;
    std::optional<DeadLetters> m_letters;
};

void TestQueueDeadLetters::keepsWhatIsNeededToUnderstand()
{
    m_redis.call("enqueue", {"", "0", "x", "renew", R"({"a":1})", "key", "0", "1", "", ""});
    m_redis.startOne();
    m_redis.call("retry", {"x", QueueRedis::ownerOf("x"), "0", "60000", "transient", "Google answered 503."});
    m_redis.startOne();
    m_redis.call("defer", {"x", QueueRedis::ownerOf("x"), "0", "60000", "rate", "Wait."});
    m_redis.startOne();
    m_redis.call("bury", {"x", QueueRedis::ownerOf("x"), "account", "No mail here."});
    const QJsonObject letter = list()[u"dead"].toArray().at(0).toObject();
    QCOMPARE(letter[u"type"].toString(), u"renew"_s);
    QCOMPARE(letter[u"payload"].toObject(), (QJsonObject{{u"a"_s, 1}}));
    QCOMPARE(letter[u"dedupe"].toString(), u"key"_s);
    QCOMPARE(letter[u"attempts"].toInt(), 1);
    QCOMPARE(letter[u"deferrals"].toInt(), 1);
    QCOMPARE(letter[u"error_class"].toString(), u"account"_s);
    QCOMPARE(letter[u"error_text"].toString(), u"No mail here."_s);
    QVERIFY(letter[u"died_at"].toInteger() >= letter[u"enqueued_at"].toInteger());
    QStringList history;
    for (const QJsonValue &end : letter[u"history"].toArray())
        history.append(end[u"kind"].toString() + u' ' + end[u"class"].toString());
    QCOMPARE(history, (QStringList{u"retry transient"_s, u"defer rate"_s, u"dead account"_s}));
    QVERIFY(letter[u"history"][0][u"at"].toInteger() > 1'700'000'000'000);
}

void TestQueueDeadLetters::rawPayload()
{
    const QByteArray raw("\x00\xff{", 3);
    m_redis.call("enqueue", {"", "0", "x", "work", raw, "", "0", "0", "", ""});
    m_redis.startOne();
    m_redis.call("bury", {"x", QueueRedis::ownerOf("x"), "unparsable", ""});
    const QJsonObject letter = list()[u"dead"].toArray().at(0).toObject();
    QCOMPARE(QByteArray::fromBase64(letter[u"payload_base64"].toString().toLatin1()), raw);
    QVERIFY(!letter.contains(u"payload"_s));
}

void TestQueueDeadLetters::groups()
{
    kill("a", "transient", "Google answered 503 after 12 ms for \"one\".");
    kill("b", "transient", "Google answered 502 after 7 ms for \"two\".");
    kill("c", "transient", "The connection to 0a1b2c3d4e5f was lost.");
    kill("d", "revoked", "The user withdrew the grant.");
    const QJsonObject page = list();
    QMap<QString, int> counts;
    for (const QJsonValue &group : page[u"groups"].toArray())
        counts.insert(group[u"group"].toString(), group[u"count"].toInt());
    QCOMPARE(counts.size(), 3);
    const QString same = QString::fromLatin1(m_redis.field("a", "group"));
    QCOMPARE(counts[same], 2);
    QCOMPARE(QString::fromLatin1(m_redis.field("b", "group")), same); // numbers and quotations do not count
    DeadFilter filter;
    filter.group = same;
    QCOMPARE(ids(list(filter)), (QStringList{u"a"_s, u"b"_s}));
    filter.group = u"transient"_s;
    QCOMPARE(ids(list(filter)), (QStringList{u"a"_s, u"b"_s, u"c"_s}));
    filter.group = u"trans"_s; // a class, not the beginning of one
    QVERIFY(ids(list(filter)).isEmpty());
}

void TestQueueDeadLetters::manyGroups()
{
    // Texts that all differ must not make one call hold up Redis, or each page of a large move count them again.
    kill("a", "transient", "text");
    QList<QByteArray> others{"SADD", QueueRedis::key("groups:dead")};
    for (int i = 0; i < 1'200; ++i)
        others.append("c:" + QByteArray::number(i));
    m_redis.command(others);
    QCOMPARE(m_redis.call("dead", {"dead", "", "0", "10", "all"}).items.value(3).items.size(), 1'000);
    const auto idsOnly = m_redis.call("dead", {"dead", "", "0", "10", "ids"});
    QCOMPARE(idsOnly.items.value(0).items.size(), 1);
    QCOMPARE(idsOnly.items.value(3).items.size(), 0);
    QVERIFY(QCoro::waitFor(m_letters->discard({}, false)));
}

void TestQueueDeadLetters::pages()
{
    QStringList all;
    for (int i = 0; i < 25; ++i) {
        kill(QByteArray::number(i), i % 2 ? "odd" : "even", "x");
        all.append(QString::number(i));
    }
    all.sort();
    QStringList seen;
    DeadFilter filter;
    filter.limit = 10;
    do {
        const QJsonObject page = list(filter);
        QCOMPARE(page[u"total"].toInt(), 25);
        seen += ids(page);
        filter.cursor = page[u"next_cursor"].toString();
    } while (!filter.cursor.isEmpty());
    seen.sort();
    QCOMPARE(seen, all);
    for (const QString &cursor : {u"nonsense"_s, u"-1"_s, u"9223372036854775807"_s}) {
        filter.cursor = cursor;
        QCOMPARE(QCoro::waitFor(m_letters->list(filter)).error().details[u"field"].toString(), u"cursor"_s);
    }
    filter = {};
    filter.limit = 0;
    QCOMPARE(QCoro::waitFor(m_letters->list(filter)).error().details[u"field"].toString(), u"limit"_s);
}

void TestQueueDeadLetters::requeue()
{
    kill("a", "c", "t", "key");
    kill("b", "c", "t");
    kill("other", "d", "t");
    DeadFilter filter;
    filter.group = u"c"_s;
    const auto counts = QCoro::waitFor(m_letters->requeue(filter, false));
    QCOMPARE(*counts, (QJsonObject{{u"matched"_s, 2}, {u"requeued"_s, 2}, {u"already_live"_s, 0}}));
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"waiting"_s});
    QCOMPARE(m_redis.counter("a", "starts"), 0);
    QCOMPARE(m_redis.add("again", "key"), "waiting"); // it holds its key again
    QCOMPARE(ids(list()), QStringList{u"other"_s});
    QCOMPARE(list()[u"groups"].toArray().size(), 1);
    QVERIFY(m_redis.integer({"LLEN", QueueRedis::key("log:a")}) == 2); // what happened before is kept
}

void TestQueueDeadLetters::requeueBesideALiveJob()
{
    kill("a", "c", "t", "key");
    QCOMPARE(m_redis.add("b", "key"), "added");
    DeadFilter filter;
    filter.ids = {u"a"_s};
    const auto counts = QCoro::waitFor(m_letters->requeue(filter, false));
    QCOMPARE(*counts, (QJsonObject{{u"matched"_s, 1}, {u"requeued"_s, 0}, {u"already_live"_s, 1}}));
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"dead"_s});
}

void TestQueueDeadLetters::discardAndRestore()
{
    kill("a", "c", "t");
    kill("b", "c", "t");
    DeadFilter filter;
    filter.ids = {u"a"_s};
    QCOMPARE((*QCoro::waitFor(m_letters->discard(filter, false)))[u"discarded"].toInt(), 1);
    QCOMPARE(ids(list()), QStringList{u"b"_s});
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"discarded"_s});
    QCOMPARE((*QCoro::waitFor(m_letters->restore({}, false)))[u"restored"].toInt(), 1);
    QCOMPARE(ids(list()), (QStringList{u"a"_s, u"b"_s}));
    QCOMPARE(list()[u"groups"][0][u"count"].toInt(), 2);
}

void TestQueueDeadLetters::dryRunChangesNothing()
{
    kill("a", "c", "t");
    kill("b", "c", "t");
    QCOMPARE((*QCoro::waitFor(m_letters->discard({}, true)))[u"matched"].toInt(), 2);
    DeadFilter filter;
    filter.ids = {u"a"_s, u"nobody"_s};
    const auto counts = QCoro::waitFor(m_letters->requeue(filter, true));
    QCOMPARE(*counts, (QJsonObject{{u"matched"_s, 1}, {u"requeued"_s, 0}, {u"already_live"_s, 0}}));
    QCOMPARE(ids(list()), (QStringList{u"a"_s, u"b"_s}));
}

void TestQueueDeadLetters::discardedOnesAreListed()
{
    kill("a", "c", "t");
    QTest::qWait(5);
    kill("b", "c", "t");
    kill("other", "d", "t");
    const qint64 first = m_redis.field("a", "died_at").toLongLong();
    const qint64 last = m_redis.field("b", "died_at").toLongLong();
    DeadFilter group;
    group.group = u"c"_s;
    QCoro::waitFor(m_letters->discard(group, false));
    const QJsonObject dead = list();
    QCOMPARE(ids(dead), QStringList{u"other"_s});
    QCOMPARE(dead[u"groups"].toArray().size(), 1);
    DeadFilter filter;
    filter.state = u"discarded"_s;
    const QJsonObject discarded = list(filter);
    QCOMPARE(ids(discarded), (QStringList{u"a"_s, u"b"_s}));
    QCOMPARE(discarded[u"total"].toInt(), 2);
    QVERIFY(first < last);
    const QJsonObject of{{u"group"_s, QString::fromLatin1(m_redis.field("a", "group"))},
                         {u"count"_s, 2},
                         {u"first_at"_s, first},
                         {u"last_at"_s, last}};
    QCOMPARE(discarded[u"groups"].toArray(), QJsonArray{of});
    QCoro::waitFor(m_letters->restore({}, false));
    QCOMPARE(list(filter)[u"groups"].toArray().size(), 0);
    QCOMPARE(list()[u"groups"].toArray().size(), 2);
    filter.state = u"running"_s;
    QCOMPARE(QCoro::waitFor(m_letters->list(filter)).error().details[u"field"].toString(), u"state"_s);
}

void TestQueueDeadLetters::restoredWithinADay()
{
    kill("a", "c", "t");
    kill("b", "c", "t");
    QCoro::waitFor(m_letters->discard({}, false));
    const qint64 yesterday = m_redis.command({"TIME"}).items[0].toInteger() * 1'000 - 86'400'000;
    m_redis.command({"ZADD", QueueRedis::key("discarded"), QByteArray::number(yesterday - 1), "a"});
    m_redis.command({"ZADD", QueueRedis::key("discarded"), QByteArray::number(yesterday + 60'000), "b"});
    const auto counts = QCoro::waitFor(m_letters->restore({}, false));
    QCOMPARE(*counts, (QJsonObject{{u"matched"_s, 2}, {u"restored"_s, 1}, {u"too_late"_s, 1}}));
    QCOMPARE(m_redis.placesOf("a"), QStringList{u"discarded"_s});
    QCOMPARE(m_redis.placesOf("b"), QStringList{u"dead"_s});
}

void TestQueueDeadLetters::discardedOnesGoAfterADay()
{
    kill("a", "c", "t");
    kill("b", "c", "t");
    QCoro::waitFor(m_letters->discard({}, false));
    const qint64 yesterday = m_redis.command({"TIME"}).items[0].toInteger() * 1'000 - 86'400'000 - 1;
    m_redis.command({"ZADD", QueueRedis::key("discarded"), QByteArray::number(yesterday), "a"});
    m_redis.call("reap", {"0", "30000"});
    QVERIFY(m_redis.placesOf("a").isEmpty());
    QCOMPARE(m_redis.integer({"EXISTS", QueueRedis::key("job:a"), QueueRedis::key("log:a")}), 0);
    QCOMPARE(m_redis.placesOf("b"), QStringList{u"discarded"_s});
}

void TestQueueDeadLetters::unknownIds()
{
    m_redis.add("live");
    DeadFilter filter;
    filter.ids = {u"live"_s, u"nobody"_s};
    QCOMPARE((*QCoro::waitFor(m_letters->discard(filter, false)))[u"matched"].toInt(), 0);
    QCOMPARE(m_redis.placesOf("live"), QStringList{u"waiting"_s});
}

/// Its handler asks for another try, but there is none: whoever listens is told of a dead letter.
void TestQueueDeadLetters::aWorkerSaysWhatIsTooOld()
{
    WorkerOptions options;
    options.maxAgeMs = 1'000;
    Worker worker(u"test"_s, m_redis.endpoint(), m_redis.library(), options);
    worker.handle(u"work"_s, [](Job) -> QCoro::Task<JobOutcome> {
        co_return JobOutcome{JobOutcome::Kind::Retry, 60'000, u"transient"_s, u"Busy."_s};
    });
    QSignalSpy ended(&worker, &Worker::jobEnded);
    m_redis.add("x");
    worker.start();
    QTRY_COMPARE(ended.size(), 1);
    QCOMPARE(ended[0][1].toString(), u"dead"_s);
    QCOMPARE(m_redis.placesOf("x"), QStringList{u"dead"_s});
    QCoro::waitFor(worker.stop(0));
}

QTEST_GUILESS_MAIN(TestQueueDeadLetters)
#include "tst_queue_deadletters.moc"
