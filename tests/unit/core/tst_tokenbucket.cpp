// SPDX-License-Identifier: Apache-2.0
#include "core/tokenbucket.h"

#include <QtTest/QTest>

#include <limits>
#include <random>

using namespace tidekeeper::core;
using Limits = TokenBucket::Limits;
using RefusedBy = TokenVerdict::RefusedBy;

namespace {

constexpr qint64 second = 1'000'000;
constexpr qint64 minute = 60 * second;
const Limits wide{1'000'000'000, 1'000'000'000, 0};

TokenBucket refilled(const Limits &limits, qint64 level, qint64 us)
{
    TokenBucket bucket(level, 0);
    bucket.refill(limits, us);
    return bucket;
}

} // namespace

class TestTokenBucket : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refills_data();
    void refills();
    void nothingIsLostToRounding_data();
    void nothingIsLostToRounding();
    void neverRunsBackwards();
    void lateTimestampsMintNothing();
    void pollingDoesNotStarve();
    void timeToRefillIsRoundedUp_data();
    void timeToRefillIsRoundedUp();
    void decides_data();
    void decides();
    void theProjectRefusesWhenItTakesLonger();
    void waitingTheToldTimeSucceeds();
};

void TestTokenBucket::refills_data()
{
    QTest::addColumn<qint64>("capacity");
    QTest::addColumn<qint64>("refill");
    QTest::addColumn<qint64>("level");
    QTest::addColumn<qint64>("us");
    QTest::addColumn<qint64>("expected");
    const auto row = [](const char *name, qint64 capacity, qint64 refill, qint64 level, qint64 us,
                        qint64 expected) {
        QTest::newRow(name) << capacity << refill << level << us << expected;
    };
    constexpr qint64 most = std::numeric_limits<qint64>::max();
    row("no time", 360'000, 5'450, 100, 0, 100);
    row("a second", 360'000, 5'450, 0, second, 90'833);
    row("a minute, cut at the capacity", 360'000, 5'450, 0, minute, 360'000);
    row("to the brim, not beyond", 60'000, 60, 59'999, 1'000, 60'000);
    row("out of debt", 360'000, 60, -30'000, minute, 30'000);
    row("lowered limits", 100'000, 60, 360'000, 0, 100'000);
    row("lowered limits leave debt", 100'000, 60, -5'000, 0, -5'000);
    row("the largest refill for the longest time", 1'000'000'000'000, 1'000'000'000, -500'000'000'000, most,
        1'000'000'000'000);
    row("the smallest refill", 1'000, 1, 0, minute, 1'000);
    row("the smallest refill, a moment earlier", 1'000, 1, 0, minute - 1, 999);
}

void TestTokenBucket::refills()
{
    QFETCH(qint64, capacity);
    QFETCH(qint64, refill);
    QFETCH(qint64, level);
    QFETCH(qint64, us);
    QFETCH(qint64, expected);
    QCOMPARE(refilled({capacity, refill, 0}, level, us).levelMilli(), expected);
}

void TestTokenBucket::nothingIsLostToRounding_data()
{
    QTest::addColumn<qint64>("refill");
    QTest::addColumn<qint64>("stepUs");
    for (const qint64 refill : {1, 7, 100, 5'450, 1'090'000, 1'000'000'000}) {
        for (const qint64 stepUs : {1, 17, 1'000, 59'999, 60'001})
            QTest::addRow("%lld/min every %lld us", refill, stepUs) << refill << stepUs;
    }
}

// spring-cloud/spring-cloud-gateway#1117: steps shorter than what a token takes must add up; a plain floor lost 40 %.
void TestTokenBucket::nothingIsLostToRounding()
{
    QFETCH(qint64, refill);
    QFETCH(qint64, stepUs);
    const Limits limits{100'000'000'000'000, refill, 0}; // never full
    TokenBucket bucket(0, 0);
    constexpr qint64 steps = 20'000;
    for (qint64 i = 1; i <= steps; ++i)
        bucket.refill(limits, i * stepUs);
    QCOMPARE(bucket.levelMilli(), qint64(static_cast<long double>(steps * stepUs) * refill / 60'000));
}

// sourcegraph/sourcegraph-public-snapshot#56826: time that goes back takes nothing away.
void TestTokenBucket::neverRunsBackwards()
{
    TokenBucket bucket(5'000, minute);
    bucket.refill({60'000, 60, 0}, 0);
    QCOMPARE(bucket.levelMilli(), 5'000);
    bucket.refill({60'000, 60, 0}, minute + second);
    QCOMPARE(bucket.levelMilli(), 6'000);
}

// spring-cloud/spring-cloud-gateway#2412, zeromicro/go-zero#4072: now = 10, 10, 9, 10 grants no more than a bucket.
void TestTokenBucket::lateTimestampsMintNothing()
{
    const Limits limits{5'000, 300, 0};
    TokenBucket bucket(5'000, 10 * second);
    int granted = 0;
    for (const qint64 at : {10, 10, 10, 9, 10, 9, 10, 10, 10, 10}) {
        bucket.refill(limits, at * second);
        if (decide({1'000}, bucket, limits, bucket, limits).refusedBy == RefusedBy::Nobody) {
            bucket.take(1'000);
            ++granted;
        }
    }
    QCOMPARE(granted, 5);
}

// redis-developer/redis-ratelimiting-js#3: a poller that is refused three times per token gets every token.
void TestTokenBucket::pollingDoesNotStarve()
{
    const Limits limits{1'000, 60, 0};
    TokenBucket bucket(0, 0);
    int granted = 0;
    for (qint64 at = 0; at <= 10 * second; at += second / 4) {
        bucket.refill(limits, at);
        if (decide({1'000}, bucket, limits, bucket, limits).refusedBy == RefusedBy::Nobody) {
            bucket.take(1'000);
            ++granted;
        }
    }
    QCOMPARE(granted, 10);
}

void TestTokenBucket::timeToRefillIsRoundedUp_data()
{
    QTest::addColumn<qint64>("milli");
    QTest::addColumn<qint64>("refill");
    QTest::addColumn<qint64>("ms");
    QTest::newRow("nothing") << qint64(0) << qint64(60) << qint64(0);
    QTest::newRow("less than nothing") << qint64(-5) << qint64(60) << qint64(0);
    QTest::newRow("exact") << qint64(1'000) << qint64(60) << qint64(1'000);
    QTest::newRow("up") << qint64(1) << qint64(61) << qint64(1);
    QTest::newRow("never 0") << qint64(1) << qint64(1'000'000'000) << qint64(1);
    QTest::newRow("largest") << qint64(1'000'000'000'000) << qint64(1) << qint64(60'000'000'000'000);
}

// benwis/tower-governor#65, brandur/redis-cell#56: a hint that is rounded down to 0 makes a hot loop.
void TestTokenBucket::timeToRefillIsRoundedUp()
{
    QFETCH(qint64, milli);
    QFETCH(qint64, refill);
    QFETCH(qint64, ms);
    QCOMPARE(TokenBucket::msToRefill(milli, refill), ms);
}

void TestTokenBucket::decides_data()
{
    QTest::addColumn<qint64>("level");
    QTest::addColumn<TokenRequest>("request");
    QTest::addColumn<bool>("granted");
    QTest::addColumn<qint64>("waitMs");
    QTest::addColumn<qint64>("retryMs");
    // 100 units, of which bulk leaves 40; 60 a minute: a unit each second.
    const auto row = [](const char *name, qint64 level, const TokenRequest &request, bool granted,
                        qint64 waitMs, qint64 retryMs) {
        QTest::newRow(name) << level << request << granted << waitMs << retryMs;
    };
    row("nothing asked", -50'000, {0}, true, 0, 0);
    row("full", 100'000, {100'000}, true, 0, 0);
    row("one milli-unit short", 99'999, {100'000}, false, 0, 1);
    row("ten short", 20'000, {30'000}, false, 0, 10'000);
    row("booked", 20'000, {30'000, false, 10'000}, true, 10'000, 0);
    row("booked one too far", 19'999, {30'000, false, 10'000}, false, 0, 1);
    row("behind a booking", -10'000, {5'000, false, 15'000}, true, 15'000, 0);
    row("bulk down to the reserve", 70'000, {30'000, true}, true, 0, 0);
    row("bulk leaves the reserve", 69'999, {30'000, true}, false, 0, 1);
    row("bulk books half of the reserve", 50'000, {30'000, true, 30'000}, true, 20'000, 0);
    row("bulk books no more than that", 49'000, {30'000, true, 30'000}, false, 0, 1'000);
    row("larger than the bucket, full", 100'000, {250'000}, true, 0, 0);
    row("larger than the bucket, not full", 90'000, {250'000}, false, 0, 10'000);
    row("bulk larger than its part", 100'000, {61'000, true}, true, 0, 0);
    row("bulk larger than its part, not full", 99'000, {61'000, true}, false, 0, 1'000);
}

void TestTokenBucket::decides()
{
    QFETCH(qint64, level);
    QFETCH(TokenRequest, request);
    QFETCH(bool, granted);
    QFETCH(qint64, waitMs);
    QFETCH(qint64, retryMs);
    const Limits limits{100'000, 60, 40'000};
    const TokenVerdict verdict =
        decide(request, TokenBucket(level, 0), limits, TokenBucket(wide.capacityMilli, 0), wide);
    QCOMPARE(verdict.refusedBy, granted ? RefusedBy::Nobody : RefusedBy::Account);
    QCOMPARE(verdict.waitMs, waitMs);
    QCOMPARE(verdict.retryAfterMs, retryMs);
}

void TestTokenBucket::theProjectRefusesWhenItTakesLonger()
{
    const Limits limits{100'000, 60, 40'000};
    const auto ask = [&](qint64 account, qint64 project) {
        return decide({10'000, false, 1'000}, TokenBucket(account, 0), limits, TokenBucket(project, 0),
                      limits);
    };
    QCOMPARE(ask(100'000, 0).refusedBy, RefusedBy::Project);
    QCOMPARE(ask(100'000, 0).retryAfterMs, 10'000); // a project is never booked
    QCOMPARE(ask(0, 5'000).refusedBy, RefusedBy::Account);
    QCOMPARE(ask(0, 5'000).retryAfterMs, 9'000);
    QCOMPARE(ask(4'000, 0).refusedBy, RefusedBy::Project);
    QCOMPARE(ask(10'000, 10'000).refusedBy, RefusedBy::Nobody);
}

void TestTokenBucket::waitingTheToldTimeSucceeds()
{
    std::mt19937_64 random(20'260'728);
    const auto pick = [&random](qint64 from, qint64 to) {
        return std::uniform_int_distribution<qint64>(from, to)(random);
    };
    for (int i = 0; i < 20'000; ++i) {
        const Limits limits{pick(1, 1'000'000), pick(1, 100'000), 0};
        const qint64 reserve = pick(0, limits.capacityMilli / 2);
        const Limits both{limits.capacityMilli, limits.refillPerMinute, reserve};
        TokenBucket account(pick(-limits.capacityMilli, limits.capacityMilli), 0);
        TokenBucket project(pick(0, limits.capacityMilli), 0);
        const TokenRequest request{pick(1, 2 * limits.capacityMilli), pick(0, 1) == 1, pick(0, 30'000)};
        const TokenVerdict refused = decide(request, account, both, project, both);
        if (refused.refusedBy == RefusedBy::Nobody)
            continue;
        QVERIFY(refused.retryAfterMs > 0);
        account.refill(both, refused.retryAfterMs * 1'000);
        project.refill(both, refused.retryAfterMs * 1'000);
        QCOMPARE(decide(request, account, both, project, both).refusedBy, RefusedBy::Nobody);
    }
}

QTEST_APPLESS_MAIN(TestTokenBucket)
#include "tst_tokenbucket.moc"
