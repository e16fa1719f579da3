// SPDX-License-Identifier: Apache-2.0
#include "core/slowstart.h"

#include <QtCore/QList>
#include <QtTest/QTest>

#include <utility>

using namespace Qt::StringLiterals;
using tidekeeper::core::SlowStart;

namespace {

constexpr int most = 16;

/// A backlog that takes all the room there is, at once.
struct Backlog {
    SlowStart lane{most};
    QList<qint64> out = {};

    void fill(qint64 nowMs = 0)
    {
        while (lane.hasRoom(nowMs))
            out.append(lane.started(nowMs));
    }
    /// All that is in flight is answered, one after the other; how many there were.
    qsizetype roundTrip(bool good, qint64 nowMs = 0)
    {
        fill(nowMs);
        const QList<qint64> answered = std::exchange(out, {});
        for (const qint64 ticket : answered) {
            if (good)
                lane.succeeded(ticket, nowMs);
            else
                lane.failed(ticket, nowMs);
            fill(nowMs);
        }
        return answered.size();
    }
};

} // namespace

class TestSlowStart : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void roundTrips_data();
    void roundTrips();
    void lateSuccessesAfterAFaultProveNothing();
    void aLateFaultOfTheSameBurstCountsOnce();
    void unusedRoomDoesNotGrow();
    void startsAgainAfterIdleTime();
};

void TestSlowStart::roundTrips_data()
{
    QTest::addColumn<QString>("answers"); // + good, - failed
    QTest::addColumn<QList<qsizetype>>("inFlight"); // in each round trip
    QTest::newRow("doubles up to the bound") << u"++++++"_s << QList<qsizetype>{1, 2, 4, 8, 16, 16};
    QTest::newRow("back to one") << u"+++-++"_s << QList<qsizetype>{1, 2, 4, 8, 1, 2};
    QTest::newRow("one at a time while it fails") << u"----++"_s << QList<qsizetype>{1, 1, 1, 1, 1, 2};
}

void TestSlowStart::roundTrips()
{
    QFETCH(QString, answers);
    Backlog backlog;
    QList<qsizetype> seen;
    for (const QChar answer : answers)
        seen.append(backlog.roundTrip(answer == u'+'));
    QTEST(seen, "inFlight");
}

void TestSlowStart::lateSuccessesAfterAFaultProveNothing()
{
    Backlog backlog;
    for (int i = 0; i < 3; ++i)
        backlog.roundTrip(true);
    SlowStart &lane = backlog.lane;
    QCOMPARE(backlog.out.size(), 8);
    lane.failed(backlog.out[0], 0);
    QCOMPARE(lane.room(), 1);
    QVERIFY(!lane.hasRoom(0)); // seven are still out
    for (int i = 1; i < 8; ++i)
        lane.succeeded(backlog.out[i], 0);
    QCOMPARE(lane.room(), 1);
}

void TestSlowStart::aLateFaultOfTheSameBurstCountsOnce()
{
    SlowStart lane(most);
    lane.succeeded(lane.started(0), 0);
    const qint64 first = lane.started(0);
    const qint64 second = lane.started(0);
    lane.failed(first, 0);
    const qint64 after = lane.started(0);
    lane.succeeded(after, 0);
    QCOMPARE(lane.room(), 2);
    lane.failed(second, 0); // sent before the fault was known
    QCOMPARE(lane.room(), 2);
}

void TestSlowStart::unusedRoomDoesNotGrow()
{
    SlowStart lane(most);
    for (int i = 0; i < 100; ++i)
        lane.succeeded(lane.started(0), 0);
    QCOMPARE(lane.room(), 2); // one at a time never used more than the first
}

void TestSlowStart::startsAgainAfterIdleTime()
{
    SlowStart lane(most);
    lane.succeeded(lane.started(0), 0);
    QCOMPARE(lane.room(), 2);
    QVERIFY(lane.hasRoom(SlowStart::idleMs - 1));
    QCOMPARE(lane.room(), 2);
    QVERIFY(lane.hasRoom(SlowStart::idleMs)); // a breaker was open, a pause is over, an engine woke up
    QCOMPARE(lane.room(), 1);
}

QTEST_APPLESS_MAIN(TestSlowStart)
#include "tst_slowstart.moc"
