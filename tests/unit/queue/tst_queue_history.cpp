// SPDX-License-Identifier: Apache-2.0
#include "queue/deadletters.h"
#include "queue/jobhistory.h"
#include "queueredis.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::queue;
using namespace tidekeeper::test;

/// What Redis keeps of finished jobs and of the runs of schedules.
class TestQueueHistory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_redis.start());
        m_history.emplace(u"test"_s, m_redis.library());
    }
    void init() { m_redis.clear(); }

    void doneWithItsFailures();
    void deadAndAgain();
    void stalledIsDead();
    void longTextsAreCut();
    void filters_data();
    void filters();
    void pagesLoseAndRepeatNothing();
    void finishedIsBounded();
    void runsAreBounded();
    void ticksAndTheirRuns();
    void queueOneIsARunOfItsOwn();
    void aForgottenScheduleLeavesNothing();
    void badQuestions_data();
    void badQuestions();

private:
    QJsonArray finished(FinishedFilter filter = {})
    {
        return (*QCoro::waitFor(m_history->finished(std::move(filter))))[u"jobs"].toArray();
    }
    QJsonArray runs() { return (*QCoro::waitFor(m_history->runs(u"s"_s, 1'000, {})))[u"runs"].toArray(); }
    void end(const QByteArray &id)
    {
        QCOMPARE(m_redis.call("ack", {id, QueueRedis::ownerOf(id)}).integer, 1);
    }
    void bury(const QByteArray &id, const QByteArray &text = "text")
    {
        QCOMPARE(m_redis.call("bury", {id, QueueRedis::ownerOf(id), "class", text}).integer, 1);
    }
    /// One tick of the schedule "s" with a job of the key "k", or passed over.
    FireResult tick(qint64 before, qint64 nominalMs, bool isPassedOver = false, bool queueOne = false)
    {
        std::optional<JobSpec> job;
        if (!isPassedOver)
            job.emplace(JobSpec{.type = u"work"_s, .payload = {}, .dedupeKey = u"k"_s, .leaseName = {}});
        const Fire fire{u"s"_s, before, nominalMs, {}, 0, queueOne, isPassedOver};
        return *QCoro::waitFor(m_redis.queue().fire(fire, job));
    }
    ScheduleState state() { return QCoro::waitFor(m_redis.queue().scheduleStates({u"s"_s}))->first(); }

    QueueRedis m_redis;
    std::optional<JobHistory> m_history;
};

void TestQueueHistory::doneWithItsFailures()
{
    m_redis.add("x");
    m_redis.startOne();
    m_redis.call("retry", {"x", QueueRedis::ownerOf("x"), "0", "60000", "transient", "Google answered 503."});
    m_redis.startOne();
    m_redis.call("defer", {"x", QueueRedis::ownerOf("x"), "0", "60000", "rate", "Wait."});
    m_redis.startOne();
    QTest::qWait(20);
    end("x");
    const QJsonObject job = finished().at(0).toObject();
    QCOMPARE(job[u"id"].toString(), u"x"_s);
    QCOMPARE(job[u"type"].toString(), u"work"_s);
    QCOMPARE(job[u"outcome"].toString(), u"done"_s);
    QCOMPARE(job[u"starts"].toInt(), 1);
    QCOMPARE(job[u"attempts"].toInt(), 1);
    QCOMPARE(job[u"deferrals"].toInt(), 1);
    QCOMPARE(job[u"error_class"].toString(), u"rate"_s); // the last failure, though it was done
    QCOMPARE(job[u"error_text"].toString(), u"Wait."_s);
    QVERIFY(job[u"started_at"].toInteger() >= job[u"enqueued_at"].toInteger());
    QVERIFY(job[u"enqueued_at"].toInteger() > 1'700'000'000'000);
    QCOMPARE(job[u"ended_at"].toInteger() - job[u"started_at"].toInteger(), job[u"duration_ms"].toInteger());
    QVERIFY(job[u"duration_ms"].toInteger() >= 20 && job[u"duration_ms"].toInteger() < 5'000);
}

void TestQueueHistory::deadAndAgain()
{
    m_redis.add("x");
    m_redis.startOne();
    bury("x");
    DeadLetters letters(u"test"_s, m_redis.library());
    QCoro::waitFor(letters.requeue({}, false));
    m_redis.startOne();
    end("x");
    const QJsonArray jobs = finished();
    QCOMPARE(jobs.size(), 2);
    QCOMPARE(jobs[1][u"outcome"].toString(), u"dead"_s);
    QCOMPARE(jobs[1][u"error_class"].toString(), u"class"_s);
    QCOMPARE(jobs[0][u"outcome"].toString(), u"done"_s);
    QCOMPARE(jobs[0][u"error_class"].toString(), u"class"_s);
    QCOMPARE(jobs[0][u"attempts"].toInt(), 0);
}

void TestQueueHistory::stalledIsDead()
{
    m_redis.add("x");
    for (int i = 0; i < 3; ++i) {
        QCOMPARE(m_redis.startOne(1), "x");
        QTest::qWait(5);
    }
    m_redis.take(1);
    const QJsonArray jobs = finished();
    QCOMPARE(jobs.size(), 1);
    QCOMPARE(jobs[0][u"outcome"].toString(), u"dead"_s);
    QCOMPARE(jobs[0][u"starts"].toInt(), 3);
    QCOMPARE(jobs[0][u"error_class"].toString(), u"stalled"_s);
}

void TestQueueHistory::longTextsAreCut()
{
    m_redis.add("x");
    m_redis.startOne();
    bury("x", "a" + QByteArray("é").repeated(5'000)); // the bound falls into the middle of a character
    const QString text = finished()[0][u"error_text"].toString();
    QVERIFY(text.size() > 200 && text.size() <= 500);
    QVERIFY(!text.contains(QChar::ReplacementCharacter));
    QVERIFY(text.startsWith(u"aé"_s) && text.endsWith(u'é'));
}

void TestQueueHistory::filters_data()
{
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("ids");
    QTest::newRow("none") << u""_s << u""_s << u"c b a"_s;
    QTest::newRow("type") << u"type"_s << u"renew"_s << u"c"_s;
    QTest::newRow("done") << u"outcome"_s << u"done"_s << u"c a"_s;
    QTest::newRow("dead") << u"outcome"_s << u"dead"_s << u"b"_s;
    QTest::newRow("class") << u"class"_s << u"class"_s << u"b"_s;
    QTest::newRow("id") << u"id"_s << u"a"_s << u"a"_s;
    QTest::newRow("no match") << u"id"_s << u"nobody"_s << u""_s;
}

void TestQueueHistory::filters()
{
    QFETCH(QString, field);
    QFETCH(QString, value);
    QFETCH(QString, ids);
    m_redis.add("a");
    m_redis.startOne();
    end("a");
    m_redis.add("b");
    m_redis.startOne();
    bury("b");
    m_redis.call("enqueue", {"", "0", "c", "renew", "{}", "", "0", "0", "", ""});
    m_redis.startOne();
    end("c");
    FinishedFilter filter;
    (field == u"type"          ? filter.type
         : field == u"outcome" ? filter.outcome
         : field == u"class"   ? filter.errorClass
                               : filter.id) = value;
    QStringList found;
    for (const QJsonValue &job : finished(filter))
        found.append(job[u"id"].toString());
    QCOMPARE(found.join(u' '), ids);
}

void TestQueueHistory::pagesLoseAndRepeatNothing()
{
    for (int i = 0; i < 25; ++i) {
        m_redis.add("j" + QByteArray::number(i));
        end(m_redis.startOne());
    }
    QStringList seen;
    FinishedFilter filter;
    filter.limit = 10;
    do {
        const QJsonObject page = *QCoro::waitFor(m_history->finished(filter));
        for (const QJsonValue &job : page[u"jobs"].toArray())
            seen.append(job[u"id"].toString());
        filter.cursor = page[u"next_cursor"].toString();
        m_redis.add("new" + QByteArray::number(seen.size())); // pages do not shift when more is added
        end(m_redis.startOne());
    } while (!filter.cursor.isEmpty());
    QCOMPARE(seen.size(), 25);
    QCOMPARE(seen.first(), u"j24"_s);
    QCOMPARE(seen.last(), u"j0"_s);
    QCOMPARE(QSet<QString>(seen.begin(), seen.end()).size(), 25);
}

void TestQueueHistory::finishedIsBounded()
{
    constexpr int jobs = 10'400;
    for (int from = 0; from < jobs; from += 400) {
        QList<QByteArray> arguments{"", "0"};
        for (int i = from; i < from + 400; ++i)
            arguments << QByteArray::number(i) << "work"
                      << "{}"
                      << ""
                      << "0"
                      << "0"
                      << ""
                      << "";
        m_redis.call("enqueue", arguments);
        QueueRedis::Turn turn{.token = "t", .take = 400, .begin = 400};
        const redis::Value reply = m_redis.turn(turn);
        QueueRedis::Turn ends;
        for (const redis::Value &job : reply.items[2].items)
            ends.ends.append({job.items[0].text, job.items[1].text});
        QCOMPARE(ends.ends.size(), 400);
        m_redis.turn(ends);
    }
    const qint64 kept = m_redis.integer({"XLEN", QueueRedis::key("finished")});
    QVERIFY2(kept >= 10'000 && kept <= 10'100, qPrintable(QString::number(kept)));
    FinishedFilter filter;
    filter.id = QString::number(jobs - 10'000); // the oldest that must still be there
    QCOMPARE(finished(filter).size(), 1);
    filter.id = u"0"_s;
    QVERIFY(finished(filter).isEmpty());
}

void TestQueueHistory::runsAreBounded()
{
    qint64 before = 0;
    for (qint64 at = 1; at <= 1'050; ++at)
        tick(std::exchange(before, at), at, true);
    QCOMPARE(m_redis.integer({"XLEN", QueueRedis::key("runs:s")}), 1'000);
    const QJsonArray all = runs();
    QCOMPARE(all.size(), 1'000);
    QCOMPARE(all.first()[u"nominal_at"].toInteger(), 1'050);
    QCOMPARE(all.last()[u"nominal_at"].toInteger(), 51);
    const auto page = QCoro::waitFor(m_history->runs(u"s"_s, 10, {}));
    const auto next = QCoro::waitFor(m_history->runs(u"s"_s, 10, (*page)[u"next_cursor"].toString()));
    QCOMPARE((*next)[u"runs"][0][u"nominal_at"].toInteger(), 1'040);
}

void TestQueueHistory::ticksAndTheirRuns()
{
    // getlago/lago-api#5837: a tick that is skipped because its job is live still says so.
    tick(0, 1, true);
    QVERIFY(!state().active);
    tick(1, 2);
    QVERIFY(state().active);
    QCOMPARE(state().lastRun[u"result"].toString(), u"passed_over"_s); // the tick's own run has not ended
    tick(2, 3); // waiting
    const QByteArray job = m_redis.startOne();
    tick(3, 4); // running
    JobSpec byHand{.type = u"work"_s, .payload = {}, .dedupeKey = u"k"_s, .urgent = true, .leaseName = {}};
    byHand.schedule = u"s"_s;
    QCoro::waitFor(m_redis.queue().enqueue(byHand));
    QVERIFY(state().active);
    m_redis.call("retry", {job, QueueRedis::ownerOf(job), "0", "60000", "transient", "Busy."});
    m_redis.startOne();
    end(job);
    QVERIFY(!state().active);
    QCoro::waitFor(m_redis.queue().enqueue(byHand));
    const QByteArray second = m_redis.startOne();
    bury(second);

    const QJsonArray all = runs();
    QStringList said;
    for (const QJsonValue &run : all)
        said.append(
            u"%1 %2 %3 %4"_s.arg(run[u"nominal_at"].toInteger())
                .arg(run[u"trigger"].toString(), run[u"result"].toString(), run[u"outcome"].toString())
                .trimmed());
    QCOMPARE(said,
             (QStringList{u"0 manual added dead"_s, u"2 schedule added done"_s, u"0 manual running"_s,
                          u"4 schedule running"_s, u"3 schedule waiting"_s, u"1 schedule passed_over"_s}));
    const QJsonObject done = all[1].toObject();
    QCOMPARE(done[u"job"].toString(), QString::fromLatin1(job));
    QCOMPARE(done[u"attempts"].toInt(), 1);
    QCOMPARE(done[u"error_class"].toString(), u"transient"_s);
    QVERIFY(done[u"fired_at"].toInteger() > 1'700'000'000'000);
    QVERIFY(done[u"started_at"].toInteger() >= done[u"fired_at"].toInteger());
    QCOMPARE(done[u"ended_at"].toInteger() - done[u"started_at"].toInteger(),
             done[u"duration_ms"].toInteger());
    QCOMPARE(all[3][u"job"].toString(), QString::fromLatin1(job)); // the skipped tick names what was running
    QCOMPARE(all[0][u"error_text"].toString(), u"text"_s);
    QCOMPARE(state().lastRun, all[0].toObject());
}

void TestQueueHistory::queueOneIsARunOfItsOwn()
{
    tick(0, 1);
    const QByteArray first = m_redis.startOne();
    tick(1, 2, false, true);
    QCOMPARE(tick(2, 3, false, true).result, u"queued_one"_s); // takes the place of tick 2
    end(first);
    QVERIFY(state().active);
    const QByteArray next = m_redis.startOne();
    QCOMPARE(state().job, QString::fromLatin1(next));
    end(next);
    QVERIFY(!state().active);
    QStringList said;
    for (const QJsonValue &run : runs())
        said.append(u"%1 %2 %3"_s.arg(run[u"nominal_at"].toInteger())
                        .arg(run[u"result"].toString(), run[u"outcome"].toString())
                        .trimmed());
    QCOMPARE(said, (QStringList{u"3 queued_one done"_s, u"1 added done"_s, u"2 passed_over"_s}));
}

void TestQueueHistory::aForgottenScheduleLeavesNothing()
{
    tick(0, 1'000);
    const QByteArray id = m_redis.startOne();
    QVERIFY(!id.isEmpty());
    QVERIFY(QCoro::waitFor(m_redis.queue().forgetSchedule(u"s"_s)));
    end(id);
    QCOMPARE(finished().size(), 1); // the job itself is not forgotten
    QCOMPARE(m_redis.command({"KEYS", QueueRedis::key("*:s")}).items.size(), 0);
}

void TestQueueHistory::badQuestions_data()
{
    QTest::addColumn<QString>("outcome");
    QTest::addColumn<int>("limit");
    QTest::addColumn<QString>("cursor");
    QTest::addColumn<QString>("field");
    QTest::newRow("outcome") << u"failed"_s << 10 << u""_s << u"outcome"_s;
    QTest::newRow("no limit") << u""_s << 0 << u""_s << u"limit"_s;
    QTest::newRow("limit") << u""_s << 1'001 << u""_s << u"limit"_s;
    QTest::newRow("cursor") << u""_s << 10 << u"(5"_s << u"cursor"_s;
}

void TestQueueHistory::badQuestions()
{
    QFETCH(QString, outcome);
    QFETCH(int, limit);
    QFETCH(QString, cursor);
    QFETCH(QString, field);
    FinishedFilter filter;
    filter.outcome = outcome;
    filter.limit = limit;
    filter.cursor = cursor;
    const auto refused = QCoro::waitFor(m_history->finished(filter));
    QCOMPARE(refused.error().code, u"invalid_request"_s);
    QCOMPARE(refused.error().details[u"field"].toString(), field);
}

QTEST_GUILESS_MAIN(TestQueueHistory)
#include "tst_queue_history.moc"
