// SPDX-License-Identifier: Apache-2.0
#include "limits/serverclock.h"

#include <QtTest/QTest>

using tidekeeper::limits::ServerClock;

class TestServerClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void unknownBeforeTheFirstAnswer();
    void trustsTheQuickestAnswer();
    void followsAStepForwardAtOnce();
    void followsAStepBackAfterAWhile();

private:
    static constexpr qint64 epoch = 1'800'000'000'000'000;
};

void TestServerClock::unknownBeforeTheFirstAnswer()
{
    QVERIFY(!ServerClock().at(5));
}

void TestServerClock::trustsTheQuickestAnswer()
{
    ServerClock clock;
    clock.seen(epoch, 30); // was 30 ms on its way
    clock.seen(epoch + 100'000, 101);
    clock.seen(epoch + 150'000, 190);
    // The quickest said: server = epoch + monotonic; it arrived within the millisecond 101.
    QCOMPARE(*clock.at(200), epoch + 200'000 - 2'000);
}

void TestServerClock::followsAStepForwardAtOnce()
{
    ServerClock clock;
    clock.seen(epoch, 0);
    clock.seen(epoch + 3'600'000'000, 1);
    QVERIFY(*clock.at(1) > epoch + 3'599'000'000);
}

void TestServerClock::followsAStepBackAfterAWhile()
{
    ServerClock clock;
    clock.seen(epoch, 0);
    for (qint64 ms = 0; ms < 25'000; ms += 500)
        clock.seen(epoch - 60'000'000 + ms * 1000, ms);
    QVERIFY(*clock.at(25'000) <= epoch - 60'000'000 + 25'000'000);
}

QTEST_APPLESS_MAIN(TestServerClock)
#include "tst_serverclock.moc"
