// SPDX-License-Identifier: Apache-2.0
#include "queue/leaderlease.h"
#include "queueredis.h"

#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::queue;
using namespace tidekeeper::test;

class TestQueueLease : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_redis.start());
        m_leases.emplace(m_redis.leaseLibrary());
    }
    void init() { m_redis.clear(); }

    void oneHolder();
    void lateReleaseLeavesTheNextHolder();
    void termsOnlyGrow();
    void badArguments();
    void leaderIsReplaced();
    void leaderThatStopsHandsOver();
    void ownerOfItsOwnEachTime();
    void believesOnlyWhatStillHolds();
    void outbids();

private:
    LeaseState acquire(const char *owner, qint64 ttlMs, qint64 seenTerm = 0)
    {
        return *QCoro::waitFor(m_leases->acquire(u"x"_s, owner, ttlMs, seenTerm));
    }

    QueueRedis m_redis;
    std::optional<Leases> m_leases; // from initTestCase() on
};

void TestQueueLease::oneHolder()
{
    const LeaseState a = acquire("a", 5'000);
    QVERIFY(a.held);
    const LeaseState b = acquire("b", 5'000);
    QVERIFY(!b.held);
    QCOMPARE(b.term, a.term);
    QVERIFY(b.remainingMs > 4'000 && b.remainingMs <= 5'000);
    QCOMPARE(acquire("a", 9'000).term, a.term); // renewed
    QVERIFY(*QCoro::waitFor(m_leases->renew(u"x"_s, "a", 9'000)));
    QVERIFY(!*QCoro::waitFor(m_leases->renew(u"x"_s, "b", 9'000)));
    QVERIFY(m_redis.integer({"PTTL", "tk:{lease:x}"}) > 8'000);
}

void TestQueueLease::lateReleaseLeavesTheNextHolder()
{
    // nexspence/nexspence#223, kent8192/reinhardt-web#2714
    QVERIFY(acquire("a", 30).held);
    QTRY_VERIFY(acquire("b", 60'000).held);
    QVERIFY(!*QCoro::waitFor(m_leases->release(u"x"_s, "a")));
    QVERIFY(!acquire("c", 1'000).held);
    QVERIFY(*QCoro::waitFor(m_leases->release(u"x"_s, "b")));
    QVERIFY(acquire("c", 1'000).held);
}

void TestQueueLease::termsOnlyGrow()
{
    qint64 last = 0;
    for (int i = 0; i < 50; ++i) {
        const LeaseState state = acquire("a", 60'000);
        QVERIFY(state.term > last);
        last = state.term;
        QCoro::waitFor(m_leases->release(u"x"_s, "a"));
    }
    m_redis.clear(); // even when Redis lost everything
    QVERIFY(acquire("a", 60'000).term > last);
    const qint64 future = 2 * last; // a server whose clock was ahead gave this one
    QCOMPARE(acquire("a", 60'000, future).term, future + 1);
    QCOMPARE(acquire("a", 60'000, future).term, future + 1);
}

void TestQueueLease::badArguments()
{
    QVERIFY(!QCoro::waitFor(m_leases->acquire(u"x"_s, "", 1'000)));
    QVERIFY(!QCoro::waitFor(m_leases->acquire(u"x"_s, "a", 0)));
    QVERIFY(!QCoro::waitFor(m_leases->acquire(u"x"_s, "a", -1)));
    QCOMPARE(m_redis.integer({"EXISTS", "tk:{lease:x}"}), 0);
}

void TestQueueLease::leaderIsReplaced()
{
    LeaderLease second(*m_leases, {u"l"_s, 400, 50});
    qint64 firstTerm = 0;
    {
        LeaderLease first(*m_leases, {u"l"_s, 400, 50});
        first.start();
        QTRY_VERIFY(first.isHeld());
        firstTerm = first.term();
        QVERIFY(!second.isAnyoneHolding()); // it has not asked yet
        second.start();
        QTest::qWait(600); // longer than the lease: it is renewed
        QVERIFY(second.isAnyoneHolding());
        QVERIFY(first.isHeld());
        QVERIFY(!second.isHeld());
    } // gone without a word
    QTRY_VERIFY_WITH_TIMEOUT(second.isHeld(), 1'000);
    QVERIFY(second.term() > firstTerm);
}

void TestQueueLease::leaderThatStopsHandsOver()
{
    LeaderLease first(*m_leases, {u"l"_s, 60'000, 50});
    LeaderLease second(*m_leases, {u"l"_s, 60'000, 50});
    first.start();
    QTRY_VERIFY(first.isHeld());
    second.start();
    QSignalSpy lost(&first, &LeaderLease::lost);
    QCoro::waitFor(first.stop());
    QCOMPARE(lost.size(), 1);
    QCOMPARE(first.term(), 0);
    QTRY_VERIFY(second.isHeld());
}

void TestQueueLease::ownerOfItsOwnEachTime()
{
    // apache/superset#43462, teableio/teable#3238, Yogdunana/StarByte#128: neither the host nor the process is the
    // owner, but one acquisition.
    LeaderLease first(*m_leases, {u"l"_s, 60'000, 50});
    LeaderLease second(*m_leases, {u"l"_s, 60'000, 50});
    QSet<QByteArray> owners;
    for (int i = 0; i < 3; ++i) {
        for (LeaderLease *lease : {&first, &second}) {
            lease->start();
            QTRY_VERIFY(lease->isHeld());
            owners.insert(m_redis.command({"HGET", "tk:{lease:l}", "owner"}).text);
            QCoro::waitFor(lease->stop());
        }
    }
    QCOMPARE(owners.size(), 6);
}

void TestQueueLease::believesOnlyWhatStillHolds()
{
    QueueRedis own;
    QVERIFY(own.start());
    Leases leases(own.leaseLibrary());
    LeaderLease leader(leases, {u"l"_s, 300, 50});
    QSignalSpy lost(&leader, &LeaderLease::lost);
    leader.start();
    QTRY_VERIFY(leader.isHeld());
    own.server().pause();
    QTRY_VERIFY_WITH_TIMEOUT(!leader.isHeld(), 1'000);
    QTRY_COMPARE(lost.size(), 1);
    QVERIFY(!leader.isAnyoneHolding());
    own.server().resume();
    QTRY_VERIFY_WITH_TIMEOUT(leader.isHeld(), 15'000);
}

void TestQueueLease::outbids()
{
    LeaderLease leader(*m_leases, {u"l"_s, 60'000, 50});
    QSignalSpy acquired(&leader, &LeaderLease::acquired);
    leader.start();
    QTRY_COMPARE(acquired.size(), 1);
    const qint64 seen = 2 * leader.term();
    leader.outbid(seen);
    QCOMPARE(leader.term(), 0);
    QTRY_COMPARE(acquired.size(), 2);
    QCOMPARE(leader.term(), seen + 1);
}

QTEST_GUILESS_MAIN(TestQueueLease)
#include "tst_queue_lease.moc"
