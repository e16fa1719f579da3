// SPDX-License-Identifier: Apache-2.0
#include "limits/localbuckets.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;
using core::TokenRequest;

namespace {

constexpr qint64 second = 1'000'000;
const QByteArray ann("ann"), bea("bea");

/// 360 units, one each second; bulk leaves half. The project is wide.
Policy policy()
{
    Policy policy;
    policy.account = {.capacity = 360, .refillPerMinute = 60, .reserveMilli = 180'000};
    policy.project = {.capacity = 72'000, .refillPerMinute = 12'000, .reserveMilli = 14'400'000};
    policy.largestSingleCost = 100;
    return policy;
}

LocalBuckets::Levels levels(qint64 account, qint64 project = 72'000)
{
    return {account * 1000, 360'000, project * 1000, 72'000'000};
}

QuotaAnswer ask(LocalBuckets &buckets, const QByteArray &account, qint64 units, qint64 nowUs,
                qint64 maxWaitMs = 0)
{
    return buckets.acquire(account, {units * 1000, false, maxWaitMs}, nowUs);
}

} // namespace

class TestLocalBuckets : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void boundsWhatItGrants();
    void beginsAtTheLastLevelSeen();
    void whatIsSeenGoesOnRefilling();
    void dividesByTheLiveEngines_data();
    void dividesByTheLiveEngines();
    void aShareHoldsTheLargestCall();
    void aCostAboveTheShareIsGrantedInDebt();
    void countedEnginesChangeLevelsInProportion();
    void theProjectBoundsAllAccounts();
    void bulkLeavesTheReserve();
    void booksInOrder();
    void shadowModeGrantsAndNamesTheRefuser();
    void frozenScopesRefuse();
    void loweredLimitsHoldAtOnce();
    void overridesHold();
    void owesExactlyWhatWasGranted();
    void owesNothingThatHasRefilled();
    void debtThatWasNotToldIsStillOwed();
    void anAnswerThatOvertakesTheDebtKeepsIt();
    void refundsWhatIsStillOwed();
    void forgetsFullBucketsFirst();
    void memoryIsBounded();
};

void TestLocalBuckets::boundsWhatItGrants()
{
    LocalBuckets buckets(policy());
    int granted = 0;
    for (qint64 at = 0; at <= 60 * second; at += second / 20)
        granted += ask(buckets, ann, 10, at).granted;
    QCOMPARE(granted, 42); // 360 and a minute of refill
    const QuotaAnswer refused = ask(buckets, ann, 10, 60 * second);
    QVERIFY(!refused.granted);
    QVERIFY(refused.degraded);
    QCOMPARE(refused.refusedBy, u"account"_s);
    QCOMPARE(refused.retryAfterMs, 10'000);
    QCOMPARE(refused.accountCapacity, 360'000);
    QVERIFY(ask(buckets, bea, 360, 60 * second).granted);
    QVERIFY(ask(buckets, ann, 10, 70 * second).granted);
}

void TestLocalBuckets::beginsAtTheLastLevelSeen()
{
    LocalBuckets buckets(policy());
    buckets.seen(ann, levels(30), 0);
    QVERIFY(!ask(buckets, ann, 31, 0).granted);
    QVERIFY(ask(buckets, ann, 30, 0).granted);
    buckets.seen(bea, levels(360, 5), 0);
    QCOMPARE(ask(buckets, bea, 10, 0).refusedBy, u"project"_s);
}

void TestLocalBuckets::whatIsSeenGoesOnRefilling()
{
    LocalBuckets buckets(policy());
    buckets.seen(ann, levels(0), 0);
    QVERIFY(ask(buckets, ann, 30, 30 * second).granted);
    QVERIFY(!ask(buckets, ann, 1, 30 * second).granted);
}

void TestLocalBuckets::dividesByTheLiveEngines_data()
{
    QTest::addColumn<int>("engines");
    QTest::addColumn<qint64>("level");
    QTest::addColumn<qint64>("capacity");
    QTest::addColumn<qint64>("granted");
    QTest::newRow("0 counts as 1") << 0 << qint64(120) << qint64(360) << qint64(120);
    QTest::newRow("1") << 1 << qint64(120) << qint64(360) << qint64(120);
    QTest::newRow("2") << 2 << qint64(120) << qint64(180) << qint64(60);
    QTest::newRow("3") << 3 << qint64(120) << qint64(120) << qint64(40);
    QTest::newRow("3, in debt") << 3 << qint64(-30) << qint64(120) << qint64(-10);
    // A share of 36 would never grant a call of 100.
    QTest::newRow("10") << 10 << qint64(360) << qint64(100) << qint64(100);
}

void TestLocalBuckets::dividesByTheLiveEngines()
{
    QFETCH(int, engines);
    QFETCH(qint64, level);
    QFETCH(qint64, capacity);
    QFETCH(qint64, granted);

    LocalBuckets buckets(policy());
    buckets.setLiveEngines(engines);
    buckets.seen(ann, levels(level), 0);
    const QuotaAnswer present = ask(buckets, ann, 0, 0);
    QCOMPARE(present.accountCapacity, capacity * 1000);
    QCOMPARE(present.accountLevel, granted * 1000);
    // The refill is divided too.
    const QuotaAnswer later = ask(buckets, ann, 0, 60 * second);
    const qint64 refill = std::max(1, 60 / std::max(1, engines)) * 1000;
    QCOMPARE(later.accountLevel, std::min(present.accountLevel + refill, capacity * 1000));
}

void TestLocalBuckets::aShareHoldsTheLargestCall()
{
    LocalBuckets buckets(policy());
    buckets.setLiveEngines(50);
    QVERIFY(ask(buckets, ann, 100, 0).granted);
    const QuotaAnswer refused = ask(buckets, ann, 100, 0);
    QVERIFY(!refused.granted);
    QVERIFY(ask(buckets, ann, 100, refused.retryAfterMs * 1000).granted);
}

void TestLocalBuckets::aCostAboveTheShareIsGrantedInDebt()
{
    LocalBuckets buckets(policy());
    buckets.setLiveEngines(3);
    QVERIFY(ask(buckets, ann, 360, 0).granted); // the undivided bucket grants it too
    const QuotaAnswer next = ask(buckets, ann, 1, 0);
    QCOMPARE(next.accountLevel, -240'000);
    QCOMPARE(next.retryAfterMs, 241'000 * 3);
}

void TestLocalBuckets::countedEnginesChangeLevelsInProportion()
{
    LocalBuckets buckets(policy());
    buckets.seen(ann, levels(300), 0);
    ask(buckets, ann, 60, 0);
    buckets.setLiveEngines(2);
    // Half of 300 is this engine's now; 60 of them are spent.
    QCOMPARE(ask(buckets, ann, 0, 0).accountLevel, 90'000);
    buckets.setLiveEngines(1);
    QCOMPARE(ask(buckets, ann, 0, 0).accountLevel, 240'000);
    QCOMPARE(buckets.takeDebt(ann, 0).accountMilli, 60'000);
}

void TestLocalBuckets::theProjectBoundsAllAccounts()
{
    Policy narrow = policy();
    narrow.project = {.capacity = 1'000, .refillPerMinute = 60, .reserveMilli = 0};
    LocalBuckets buckets(narrow);
    int granted = 0;
    for (int i = 0; i < 50; ++i)
        granted += ask(buckets, QByteArray::number(i), 100, 0).granted;
    QCOMPARE(granted, 10);
    const QuotaAnswer refused = ask(buckets, ann, 100, 0);
    QCOMPARE(refused.refusedBy, u"project"_s);
    QCOMPARE(refused.retryAfterMs, 100'000);
}

void TestLocalBuckets::bulkLeavesTheReserve()
{
    LocalBuckets buckets(policy());
    buckets.setLiveEngines(2);
    QVERIFY(buckets.acquire(ann, {90'000, true, 0}, 0).granted); // 180, of which 90 are the reserve
    QVERIFY(!buckets.acquire(ann, {1'000, true, 0}, 0).granted);
    QVERIFY(buckets.acquire(ann, {90'000, false, 0}, 0).granted);
}

void TestLocalBuckets::booksInOrder()
{
    LocalBuckets buckets(policy());
    buckets.seen(ann, levels(0), 0);
    QCOMPARE(ask(buckets, ann, 10, 0, 30'000).waitMs, 10'000);
    QCOMPARE(ask(buckets, ann, 10, 0, 30'000).waitMs, 20'000);
    QVERIFY(!ask(buckets, ann, 11, 0, 30'000).granted);
}

void TestLocalBuckets::shadowModeGrantsAndNamesTheRefuser()
{
    Policy shadow = policy();
    shadow.enforce = false;
    LocalBuckets buckets(shadow);
    buckets.seen(ann, levels(5), 0);
    const QuotaAnswer answer = ask(buckets, ann, 10, 0);
    QVERIFY(answer.granted);
    QCOMPARE(answer.refusedBy, u"account"_s);
    QCOMPARE(answer.retryAfterMs, 0);
    QCOMPARE(answer.accountLevel, 5'000);
    QVERIFY(!buckets.owes(ann));
}

void TestLocalBuckets::frozenScopesRefuse()
{
    LocalBuckets buckets(policy());
    buckets.freeze(ann, 90 * second, 0);
    const QuotaAnswer frozen = ask(buckets, ann, 0, second);
    QVERIFY(!frozen.granted);
    QCOMPARE(frozen.refusedBy, u"account_frozen"_s);
    QCOMPARE(frozen.retryAfterMs, 89'000);
    QVERIFY(ask(buckets, bea, 1, second).granted);
    buckets.freeze(ann, 50 * second, second); // a shorter one changes nothing
    QVERIFY(!ask(buckets, ann, 1, 60 * second).granted);
    QVERIFY(ask(buckets, ann, 1, 90 * second).granted);

    buckets.freeze({}, 200 * second, 90 * second);
    QCOMPARE(ask(buckets, bea, 1, 100 * second).refusedBy, u"project_frozen"_s);
    QCOMPARE(ask(buckets, ann, 1, 100 * second).retryAfterMs, 100'000);
    QVERIFY(ask(buckets, bea, 1, 200 * second).granted);
}

void TestLocalBuckets::loweredLimitsHoldAtOnce()
{
    LocalBuckets buckets(policy());
    ask(buckets, ann, 60, 0);
    Policy lowered = policy();
    lowered.account.capacity = 200;
    buckets.setPolicy(lowered);
    QCOMPARE(ask(buckets, ann, 0, 0).accountLevel, 200'000);
    buckets.setPolicy(policy());
    QCOMPARE(ask(buckets, ann, 0, 0).accountLevel, 200'000); // raised: the level stays
}

void TestLocalBuckets::overridesHold()
{
    LocalBuckets buckets(policy());
    buckets.setOverrides({{ann, {.capacity = 120, .refillPerMinute = 6, .reserveMilli = 0}}});
    QVERIFY(!ask(buckets, ann, 121, 0).granted || ask(buckets, ann, 1, 0).accountLevel < 0);
    QCOMPARE(ask(buckets, bea, 0, 0).accountCapacity, 360'000);
    buckets.seen(ann, {60'000, 120'000, 72'000'000, 72'000'000}, 0);
    buckets.takeDebt(ann, 0);
    QCOMPARE(ask(buckets, ann, 0, 0).accountCapacity, 120'000);
    buckets.setOverrides({});
    QCOMPARE(ask(buckets, ann, 0, 0).accountCapacity, 360'000);
}

void TestLocalBuckets::owesExactlyWhatWasGranted()
{
    LocalBuckets buckets(policy());
    buckets.seen(ann, levels(200), 0);
    buckets.seen(bea, levels(100), 0);
    QVERIFY(!buckets.owes(ann));
    ask(buckets, ann, 50, 0);
    ask(buckets, ann, 30, 10 * second);
    ask(buckets, bea, 20, 10 * second);
    QVERIFY(buckets.owes(ann) && buckets.owes(bea));
    QVERIFY(!buckets.anyDebtor().isEmpty());

    // Redis, which saw nothing of it, refilled all the while; so did the bucket here.
    const LocalBuckets::Amounts ofAnn = buckets.takeDebt(ann, 20 * second);
    QCOMPARE(ofAnn.accountMilli, 80'000);
    QCOMPARE(ofAnn.projectMilli, 30'000 - 30'000); // 200 units a second: refilled since
    QCOMPARE(buckets.takeDebt(bea, 20 * second).accountMilli, 20'000);
    QVERIFY(!buckets.owes(ann) && !buckets.owes(bea));
    QVERIFY(buckets.anyDebtor().isEmpty());
    QVERIFY(buckets.takeDebt(ann, 20 * second).isNothing());
}

// What refilled here has refilled there: to take it from Redis once more would starve an account after an outage.
void TestLocalBuckets::owesNothingThatHasRefilled()
{
    LocalBuckets buckets(policy());
    for (int round = 0; round < 10; ++round)
        QVERIFY(ask(buckets, ann, 360, round * 400 * second).granted);
    QCOMPARE(buckets.takeDebt(ann, 9 * 400 * second + 60 * second).accountMilli, 300'000);
    QVERIFY(ask(buckets, bea, 360, 0).granted);
    QCOMPARE(buckets.takeDebt(bea, 400 * second).accountMilli, 0);
}

void TestLocalBuckets::debtThatWasNotToldIsStillOwed()
{
    LocalBuckets buckets(policy());
    ask(buckets, ann, 100, 0);
    const LocalBuckets::Amounts owed = buckets.takeDebt(ann, 0);
    QCOMPARE(owed.accountMilli, 100'000);
    QCOMPARE(owed.projectMilli, 100'000);
    ask(buckets, ann, 10, 0);
    buckets.putBackDebt(ann, owed);
    QCOMPARE(ask(buckets, ann, 0, 0).accountLevel, 250'000); // granted once, taken once
    const LocalBuckets::Amounts all = buckets.takeDebt(ann, 0);
    QCOMPARE(all.accountMilli, 110'000);
    QCOMPARE(all.projectMilli, 110'000);
}

/// A slow answer may come after the next request was decided here.
void TestLocalBuckets::anAnswerThatOvertakesTheDebtKeepsIt()
{
    LocalBuckets buckets(policy());
    ask(buckets, ann, 100, 0);
    buckets.seen(ann, levels(350, 71'990), second);
    // One unit of the debt has refilled: the bucket that Redis saw was full all the while.
    QCOMPARE(ask(buckets, ann, 0, second).accountLevel, 251'000);
    QCOMPARE(buckets.takeDebt(ann, second).accountMilli, 99'000);
}

void TestLocalBuckets::refundsWhatIsStillOwed()
{
    LocalBuckets buckets(policy());
    QVERIFY(buckets.refund(ann, 10'000, 0, 0).isNothing());
    ask(buckets, ann, 100, 0);
    const LocalBuckets::Amounts back = buckets.refund(ann, 40'000, 0, 10 * second);
    QCOMPARE(back.accountMilli, 30'000); // ten seconds have refilled ten units
    QCOMPARE(back.projectMilli, 0);
    QCOMPARE(ask(buckets, ann, 0, 10 * second).accountLevel, 300'000);
    QCOMPARE(buckets.takeDebt(ann, 10 * second).accountMilli, 60'000);
    QVERIFY(buckets.refund(ann, 60'000, 10 * second, 10 * second).isNothing()); // Redis was told

    // What waits behind a booking has not refilled for whoever comes next.
    buckets.seen(bea, levels(0), 0);
    ask(buckets, bea, 10, 0, 30'000);
    ask(buckets, bea, 10, 0, 30'000);
    QCOMPARE(buckets.refund(bea, 10'000, 0, 0).accountMilli, 0);
}

void TestLocalBuckets::forgetsFullBucketsFirst()
{
    LocalBuckets buckets(policy(), 100);
    for (int i = 0; i < 50; ++i)
        ask(buckets, "full" + QByteArray::number(i), 0, 0);
    for (int i = 0; i < 50; ++i)
        ask(buckets, "drained" + QByteArray::number(i), 100 + i, 0);
    buckets.freeze("full7", 100 * second, 0);
    ask(buckets, "more", 1, 0);
    QCOMPARE(buckets.size(), 52);
    QCOMPARE(ask(buckets, "full7", 0, 0).refusedBy, u"account_frozen"_s);
    QCOMPARE(buckets.takeDebt("drained0", 0).accountMilli, 100'000);
}

void TestLocalBuckets::memoryIsBounded()
{
    LocalBuckets buckets(policy(), 100);
    ask(buckets, "worst", 360, 0);
    for (int i = 0; i < 10'000; ++i) {
        ask(buckets, "a" + QByteArray::number(i), 1, 0);
        QVERIFY(buckets.size() <= 100);
    }
    QVERIFY(!ask(buckets, "worst", 1, 0).granted); // the least drained went, not this one
    int debtors = 0;
    for (; !buckets.anyDebtor().isEmpty(); ++debtors)
        buckets.takeDebt(buckets.anyDebtor(), 0);
    QVERIFY2(debtors <= 100, QByteArray::number(debtors));
}

QTEST_APPLESS_MAIN(TestLocalBuckets)
#include "tst_localbuckets.moc"
