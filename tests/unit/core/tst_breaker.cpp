// SPDX-License-Identifier: Apache-2.0
#include "core/breaker.h"

#include "core/planner.h"

#include <QtTest/QTest>

using namespace tidekeeper::core;
using Admission = Breaker::Admission;

class TestBreaker : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void opensAtOnceAndAlertsOnce();
    void oneProbeAtATime();
    void delayDoublesUpToAQuarterOfAnHour();
    void successCloses();
    void inconclusiveProbeIsRepeatedAfterAMinute();
    void unusedProbeGoesToTheNext();
    void othersLookAgainSoonWhileAProbeIsUnderWay();
    void lostProbeIsGivenUp();
    void operatorForcesAProbe();
    void steadyOneProbesOnceAMinute();
    void goesOnFromWhatWasStored();
};

void TestBreaker::opensAtOnceAndAlertsOnce()
{
    Breaker breaker;
    QCOMPARE(breaker.admit(0), Admission::Pass);
    QVERIFY(breaker.fail(0, Admission::Pass));
    QVERIFY(breaker.isOpen());
    // 199 others that were under way: no further alert, no longer delay.
    for (int i = 0; i < 199; ++i)
        QVERIFY(!breaker.fail(0, Admission::Pass));
    QCOMPARE(breaker.waitMs(0), minuteMs);
    QCOMPARE(breaker.admit(minuteMs - 1), Admission::Wait);
}

void TestBreaker::oneProbeAtATime()
{
    Breaker breaker;
    breaker.fail(0, Admission::Pass);
    QCOMPARE(breaker.admit(minuteMs), Admission::Probe);
    QCOMPARE(breaker.admit(minuteMs), Admission::Wait);
}

void TestBreaker::delayDoublesUpToAQuarterOfAnHour()
{
    Breaker breaker;
    breaker.fail(0, Admission::Pass);
    qint64 now = 0;
    for (const qint64 minutes : {1, 2, 4, 8, 15, 15, 15}) {
        QCOMPARE(breaker.waitMs(now), minutes * minuteMs);
        now += minutes * minuteMs;
        QCOMPARE(breaker.admit(now), Admission::Probe);
        QVERIFY(!breaker.fail(now, Admission::Probe));
    }
}

void TestBreaker::successCloses()
{
    Breaker breaker;
    QVERIFY(!breaker.succeed());
    breaker.fail(0, Admission::Pass);
    QVERIFY(breaker.succeed());
    QCOMPARE(breaker.admit(0), Admission::Pass);
    QVERIFY(breaker.fail(0, Admission::Pass)); // a new incident is a new alert
}

void TestBreaker::inconclusiveProbeIsRepeatedAfterAMinute()
{
    Breaker breaker;
    breaker.fail(0, Admission::Pass);
    QCOMPARE(breaker.admit(minuteMs), Admission::Probe);
    breaker.inconclusive(minuteMs + 5'000, Admission::Probe);
    QVERIFY(breaker.isOpen());
    QCOMPARE(breaker.waitMs(minuteMs + 5'000), minuteMs);
    breaker.inconclusive(minuteMs + 9'000, Admission::Wait);
    QCOMPARE(breaker.waitMs(minuteMs + 5'000), minuteMs);
}

void TestBreaker::unusedProbeGoesToTheNext()
{
    Breaker breaker;
    breaker.fail(0, Admission::Pass);
    QCOMPARE(breaker.admit(minuteMs), Admission::Probe);
    breaker.unused(minuteMs, Admission::Wait); // not the prober
    QCOMPARE(breaker.admit(minuteMs), Admission::Wait);
    breaker.unused(minuteMs, Admission::Probe);
    QVERIFY(breaker.isOpen());
    QCOMPARE(breaker.waitMs(minuteMs), 0);
    QCOMPARE(breaker.admit(minuteMs), Admission::Probe);
    breaker.fail(minuteMs, Admission::Probe);
    QCOMPARE(breaker.waitMs(minuteMs), 2 * minuteMs); // doubled once, by the one that asked
}

void TestBreaker::othersLookAgainSoonWhileAProbeIsUnderWay()
{
    Breaker breaker;
    breaker.fail(0, Admission::Pass);
    QCOMPARE(breaker.admit(minuteMs), Admission::Probe);
    QCOMPARE(breaker.waitMs(minuteMs), 5'000);
    QCOMPARE(breaker.waitMs(2 * minuteMs - 2'000), 2'000); // then the probe counts as lost
}

void TestBreaker::lostProbeIsGivenUp()
{
    Breaker breaker;
    breaker.fail(0, Admission::Pass);
    QCOMPARE(breaker.admit(minuteMs), Admission::Probe);
    QCOMPARE(breaker.admit(2 * minuteMs), Admission::Probe);
}

void TestBreaker::operatorForcesAProbe()
{
    Breaker breaker;
    breaker.fail(0, Admission::Pass);
    QCOMPARE(breaker.admit(1'000, true), Admission::Probe);
}

void TestBreaker::steadyOneProbesOnceAMinute()
{
    Breaker breaker(Breaker::Pace::Steady);
    breaker.fail(0, Admission::Pass);
    for (qint64 now = minuteMs; now < 30 * minuteMs; now += minuteMs) {
        QCOMPARE(breaker.admit(now), Admission::Probe);
        breaker.fail(now, Admission::Probe);
        QCOMPARE(breaker.waitMs(now), minuteMs);
    }
}

void TestBreaker::goesOnFromWhatWasStored()
{
    Breaker before;
    before.fail(0, Admission::Pass);
    before.admit(minuteMs);
    before.fail(minuteMs, Admission::Probe);
    before.admit(3 * minuteMs);

    Breaker after(before.state(), Breaker::Pace::Doubling);
    QCOMPARE(after.admission(3 * minuteMs), Admission::Wait); // the probe of before is under way
    QCOMPARE(after.admission(4 * minuteMs), Admission::Probe); // and given up
    QCOMPARE(after.admit(4 * minuteMs), Admission::Probe);
    after.fail(4 * minuteMs, Admission::Probe);
    QCOMPARE(after.waitMs(4 * minuteMs), 4 * minuteMs);
}

QTEST_APPLESS_MAIN(TestBreaker)
#include "tst_breaker.moc"
