// SPDX-License-Identifier: Apache-2.0
// What engines tell each other of their attempts, over a real Redis.
#include "core/planner.h"
#include "queueredis.h"
#include "renewal/attemptshare.h"
#include "support/fakeclock.h"

#include <QtCore/QDateTime>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::renewal;
using core::EndedAttempt;
using core::OutcomeKind;

namespace {

constexpr int soonMs = 10'000; // an entry a second, on a busy machine

EndedAttempt failure(quint64 account, OutcomeKind kind = OutcomeKind::Revoked,
                     const QString &code = u"invalid_grant"_s)
{
    return {0, u"p"_s, u"c"_s, account, kind, code, 1};
}

EndedAttempt success()
{
    return {0, u"p"_s, u"c"_s, 1, OutcomeKind::Renewed, {}, 1};
}

/// One engine's end, with a connection of its own.
struct Side {
    Side(const test::QueueRedis &redis, const Clock &clock)
        : connection(redis.endpoint(), {.commandTimeoutMs = 2'000}), share(connection, clock)
    {
        QObject::connect(&share, &AttemptShare::arrived,
                         [this](const QList<EndedAttempt> &attempts) { arrived += attempts; });
        connection.open();
    }
    bool start()
    {
        if (!QCoro::waitFor(connection.waitReady(soonMs)))
            return false;
        share.start();
        return true;
    }
    int count(OutcomeKind kind) const
    {
        int sum = 0;
        for (const EndedAttempt &attempt : arrived)
            sum += attempt.kind == kind ? attempt.count : 0;
        return sum;
    }

    redis::RedisConnection connection;
    AttemptShare share;
    QList<EndedAttempt> arrived;
};

} // namespace

class TestAttemptShare : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.clear(); }

    void theOtherHearsOfItOnce();
    void aNewEngineKnowsTheLastDay();
    void manyGoodOnesAreOneNumber();
    void nothingIsLostWhileRedisIsAway();

private:
    qint64 entries() { return m_redis.integer({"XLEN", "tk:{renewal}:attempts"}); }

    test::QueueRedis m_redis;
    test::FakeClock m_clock{QDateTime::currentMSecsSinceEpoch()}; // Redis stamps the entries
};

void TestAttemptShare::theOtherHearsOfItOnce()
{
    Side a(m_redis, m_clock);
    Side b(m_redis, m_clock);
    QVERIFY(a.start() && b.start());
    a.share.add(failure(7));
    b.share.add(failure(8, OutcomeKind::Account, u"gmail_off"_s));
    QTRY_COMPARE_WITH_TIMEOUT(b.arrived.size(), 1, soonMs);
    QTRY_COMPARE_WITH_TIMEOUT(a.arrived.size(), 1, soonMs);
    QCOMPARE(b.arrived.first().account, 7u);
    QVERIFY(b.arrived.first().kind == OutcomeKind::Revoked);
    QCOMPARE(b.arrived.first().project, u"p"_s);
    QCOMPARE(b.arrived.first().client, u"c"_s);
    QVERIFY(std::abs(b.arrived.first().atMs - QDateTime::currentMSecsSinceEpoch()) < core::minuteMs);
    QVERIFY(a.arrived.first().kind == OutcomeKind::Account); // and its own comes not back to it
    QCOMPARE(a.arrived.first().code, u"gmail_off"_s);
    // The next entry is the only news.
    a.share.add(failure(9));
    QTRY_COMPARE_WITH_TIMEOUT(b.arrived.size(), 2, soonMs);
    QCOMPARE(b.arrived.last().account, 9u);
}

void TestAttemptShare::aNewEngineKnowsTheLastDay()
{
    {
        Side gone(m_redis, m_clock);
        QVERIFY(gone.start());
        gone.share.add(failure(7));
        QTRY_COMPARE_WITH_TIMEOUT(entries(), 1, soonMs);
    }
    // More than one answer holds, of half a day ago, and one that is too old.
    const qint64 now = m_clock.nowMs();
    const auto add = [this](qint64 atMs, int number, quint64 account) {
        m_redis.command({"XADD", "tk:{test}:made",
                         QByteArray::number(atMs) + '-' + QByteArray::number(number), "e", "other", "a",
                         entryOf({failure(account)})});
    };
    add(now - core::dayMs - core::minuteMs, 1, 1);
    for (int i = 1; i <= 700; ++i)
        add(now - core::dayMs / 2, i, quint64(1'000 + i));
    m_redis.command({"RENAME", "tk:{test}:made", "tk:{renewal}:attempts"});

    Side restarted(m_redis, m_clock);
    QVERIFY(restarted.start());
    QTRY_COMPARE_WITH_TIMEOUT(restarted.arrived.size(), 700, soonMs);
    QCOMPARE(restarted.arrived.first().account, 1'001u);
    QCOMPARE(restarted.arrived.first().atMs, now - core::dayMs / 2);
    QCOMPARE(restarted.arrived.last().account, 1'700u);
}

void TestAttemptShare::manyGoodOnesAreOneNumber()
{
    Side a(m_redis, m_clock);
    Side b(m_redis, m_clock);
    for (int i = 0; i < 1'000; ++i)
        a.share.add(success());
    QVERIFY(a.start() && b.start());
    QTRY_COMPARE_WITH_TIMEOUT(b.count(OutcomeKind::Renewed), 1'000, soonMs);
    QCOMPARE(b.arrived.size(), 1);
    QCOMPARE(entries(), 1);
}

void TestAttemptShare::nothingIsLostWhileRedisIsAway()
{
    Side a(m_redis, m_clock);
    Side b(m_redis, m_clock);
    QVERIFY(a.start() && b.start());
    m_redis.server().kill();
    QTRY_VERIFY_WITH_TIMEOUT(!a.connection.isReady() && !b.connection.isReady(), soonMs);
    for (quint64 account = 1; account <= 12; ++account)
        a.share.add(failure(account));
    QTest::qWait(1'200); // a turn of its timer without Redis
    QVERIFY(b.arrived.isEmpty());
    QVERIFY(m_redis.server().start());
    QTRY_COMPARE_WITH_TIMEOUT(b.count(OutcomeKind::Revoked), 12, 2 * soonMs);
}

QTEST_GUILESS_MAIN(TestAttemptShare)
#include "tst_attemptshare.moc"
