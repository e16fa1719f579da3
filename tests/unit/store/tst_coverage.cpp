// SPDX-License-Identifier: Apache-2.0
// How much of the time accounts had a live watch, and which lapses are told.
#include "core/planner.h"
#include "store/accountstore.h"
#include "store/coveragestore.h"
#include "store/lapsestore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using core::dayMs;
using core::hourMs;
using store::CoverageHour;
using store::CoverageStore;

namespace {

constexpr qint64 minuteMs = 60'000;
constexpr qint64 start = 1'800'000'000'000; // a full hour

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

struct Scene {
    test::TestDatabase database;
    store::AccountStore accounts{database.database()};
    CoverageStore coverage{database.database()};
    store::LapseStore lapses{database.database()};

    bool put(const QString &id, qint64 expiresAt, qint64 nowMs = start - dayMs)
    {
        store::AccountChange change;
        change.email = id + u"@example.com"_s;
        change.watchExpiresAt = expiresAt;
        return wait(accounts.put(id, change, nowMs)).has_value();
    }

    bool become(const QString &id, core::AccountState state, qint64 nowMs)
    {
        const auto row = wait(accounts.find(id));
        return wait(accounts.setState(id, state, {}, row->account.generation, nowMs)).has_value();
    }

    bool renew(const QString &id, qint64 expiresAt)
    {
        core::Subscription row = *wait(accounts.subscription(store::gmailSubscriptionId(id)));
        row.expiresAt = expiresAt;
        return wait(accounts.compareAndSet(row)).has_value();
    }

    bool sample(qint64 nowMs) { return wait(coverage.sample(nowMs)).has_value(); }

    CoverageHour total()
    {
        CoverageHour total;
        const auto hours = *wait(coverage.since(0));
        for (const CoverageHour &hour : hours) {
            total.activeMs += hour.activeMs;
            total.lapsedMs += hour.lapsedMs;
        }
        return total;
    }

    QStringList told(qint64 nowMs, int limit = 100)
    {
        QStringList ids;
        const auto taken = *wait(lapses.take(nowMs, nowMs, limit));
        for (const store::Lapse &lapse : taken)
            ids.append(lapse.account);
        return ids;
    }
};

} // namespace

class CoverageTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void countsTheTimeBetweenSamples();
    void hoursAreCountedApart();
    void downtimeIsExact();
    void whoNeverHadAWatchHasAnHour();
    void onlyActiveAccountsCount();
    void aLapseBetweenTwoSamplesIsNotLost();
    void twoEnginesCountOnce();
    void forgetsWhatIsOld();
    void eachLapseIsTakenOnce();
    void whichLapsesAreOurs_data();
    void whichLapsesAreOurs();
};

void CoverageTest::countsTheTimeBetweenSamples()
{
    Scene scene;
    QVERIFY(scene.put(u"well"_s, start + 7 * dayMs));
    QVERIFY(scene.put(u"lapsing"_s, start + minuteMs + 20'000));
    QVERIFY(scene.sample(start));
    QCOMPARE(scene.total().activeMs, 0); // where to begin
    QVERIFY(scene.sample(start + minuteMs));
    QCOMPARE(scene.total().activeMs, 2 * minuteMs);
    QCOMPARE(scene.total().lapsedMs, 0);
    QVERIFY(scene.sample(start + 2 * minuteMs));
    QCOMPARE(scene.total().lapsedMs, 40'000);
    QVERIFY(scene.sample(start + 3 * minuteMs));
    QCOMPARE(scene.total().activeMs, 6 * minuteMs);
    QCOMPARE(scene.total().lapsedMs, 100'000);
}

void CoverageTest::hoursAreCountedApart()
{
    Scene scene;
    QVERIFY(scene.put(u"a"_s, start + hourMs - 10'000));
    QVERIFY(scene.sample(start + hourMs - 30'000));
    QVERIFY(scene.sample(start + hourMs + 30'000));
    const auto hours = *wait(scene.coverage.since(start));
    QCOMPARE(hours.size(), 2);
    QCOMPARE(hours[0].activeMs, 30'000);
    QCOMPARE(hours[0].lapsedMs, 10'000);
    QCOMPARE(hours[1].activeMs, 30'000);
    QCOMPARE(hours[1].lapsedMs, 30'000);
    QCOMPARE(wait(scene.coverage.since(start + hourMs))->size(), 1);
}

// Nobody ran for eight days, in which two watches lapsed.
void CoverageTest::downtimeIsExact()
{
    Scene scene;
    QVERIFY(scene.put(u"a"_s, start + 6 * dayMs + 5 * minuteMs));
    QVERIFY(scene.put(u"b"_s, start + 7 * dayMs));
    QVERIFY(scene.put(u"c"_s, start + 20 * dayMs));
    QVERIFY(scene.sample(start));
    QVERIFY(scene.sample(start + 8 * dayMs));
    QCOMPARE(scene.total().activeMs, 3 * 8 * dayMs);
    QCOMPARE(scene.total().lapsedMs, 2 * dayMs - 5 * minuteMs + dayMs);
    const auto hours = *wait(scene.coverage.since(start));
    QCOMPARE(hours.size(), 8 * 24);
    QCOMPARE(hours[6 * 24 - 1].lapsedMs, 0);
    QCOMPARE(hours[6 * 24].lapsedMs, hourMs - 5 * minuteMs);
    QCOMPARE(hours[7 * 24].lapsedMs, 2 * hourMs);
}

void CoverageTest::whoNeverHadAWatchHasAnHour()
{
    Scene scene;
    QVERIFY(scene.put(u"new"_s, 0, start));
    QVERIFY(scene.sample(start));
    QVERIFY(scene.sample(start + CoverageStore::firstWatchGraceMs));
    QCOMPARE(scene.total().lapsedMs, 0);
    QVERIFY(scene.sample(start + CoverageStore::firstWatchGraceMs + 2 * minuteMs));
    QCOMPARE(scene.total().lapsedMs, 2 * minuteMs);
}

void CoverageTest::onlyActiveAccountsCount()
{
    Scene scene;
    int n = 0;
    for (const auto state : {core::AccountState::Paused, core::AccountState::NeedsReauth,
                             core::AccountState::Parked, core::AccountState::Leaving}) {
        const QString id = u"a%1"_s.arg(++n);
        QVERIFY(scene.put(id, start - hourMs, start - dayMs));
        QVERIFY(scene.become(id, state, start - dayMs));
    }
    QVERIFY(scene.sample(start));
    QVERIFY(scene.sample(start + minuteMs));
    QCOMPARE(scene.total().activeMs, 0);
    QCOMPARE(scene.total().lapsedMs, 0);
    QCOMPARE(scene.told(start + minuteMs), QStringList());
    // Back among those who are renewed, its old lapse is news.
    QVERIFY(scene.become(u"a1"_s, core::AccountState::Active, start + minuteMs));
    QCOMPARE(scene.told(start + minuteMs), QStringList{u"a1"_s});
}

void CoverageTest::aLapseBetweenTwoSamplesIsNotLost()
{
    Scene scene;
    QVERIFY(scene.put(u"a"_s, start + 10'000));
    QVERIFY(scene.sample(start));
    QVERIFY(scene.renew(u"a"_s, start + 7 * dayMs));
    QVERIFY(wait(scene.coverage.addGap(start + 10'000, start + 35'000)).has_value());
    QVERIFY(scene.sample(start + minuteMs));
    QCOMPARE(scene.total().lapsedMs, 25'000);
    // What a sample saw already is not counted again.
    QVERIFY(wait(scene.coverage.addGap(start - hourMs, start + minuteMs)).has_value());
    QCOMPARE(scene.total().lapsedMs, 25'000);
    // Beyond the hour, and the next sample goes on where the last one ended.
    QVERIFY(wait(scene.coverage.addGap(start, start + hourMs + 1'000)).has_value());
    QCOMPARE(scene.total().lapsedMs, 25'000 + hourMs - minuteMs + 1'000);
    QVERIFY(scene.sample(start + 2 * hourMs));
    QCOMPARE(scene.total().activeMs, 2 * hourMs);
}

void CoverageTest::twoEnginesCountOnce()
{
    Scene scene;
    QVERIFY(scene.put(u"a"_s, start - 1, start - dayMs));
    store::Database other(scene.database.url());
    QVERIFY(wait(other.open()).has_value());
    CoverageStore theirs(other);
    store::LapseStore theirLapses(other);
    QVERIFY(scene.sample(start));
    for (int minute = 1; minute <= 5; ++minute) {
        const qint64 now = start + minute * minuteMs;
        QVERIFY(scene.sample(now));
        QVERIFY(wait(theirs.sample(now + 50)).has_value());
    }
    QCOMPARE(scene.total().activeMs, 5 * minuteMs);
    QCOMPARE(scene.total().lapsedMs, 5 * minuteMs);
    QCOMPARE(scene.told(start), QStringList{u"a"_s});
    QVERIFY(wait(theirLapses.take(start, start, 100))->isEmpty());
}

void CoverageTest::forgetsWhatIsOld()
{
    Scene scene;
    QVERIFY(scene.put(u"a"_s, start + 30 * dayMs));
    QVERIFY(scene.sample(start));
    QVERIFY(scene.sample(start + dayMs));
    QVERIFY(wait(scene.coverage.prune(start + 20 * hourMs)).has_value());
    QCOMPARE(scene.total().activeMs, 4 * hourMs);
    QVERIFY(scene.sample(start + dayMs + hourMs));
    QCOMPARE(scene.total().activeMs, 5 * hourMs);
}

void CoverageTest::eachLapseIsTakenOnce()
{
    Scene scene;
    QVERIFY(scene.put(u"a"_s, start + hourMs));
    QVERIFY(scene.put(u"b"_s, start + 2 * hourMs));
    QCOMPARE(scene.told(start + hourMs - 1), QStringList());
    QCOMPARE(scene.told(start + hourMs), QStringList{u"a"_s});
    scene.database.reopen();
    store::LapseStore afterRestart(scene.database.database());
    QVERIFY(wait(afterRestart.take(start + hourMs, start, 100))->isEmpty());
}

void CoverageTest::whichLapsesAreOurs_data()
{
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<QStringList>("told");
    QTest::newRow("never had one") << qint64(0) << QStringList();
    QTest::newRow("lives") << start + 1 << QStringList();
    QTest::newRow("lapsed") << start << QStringList{u"a"_s};
    QTest::newRow("had lapsed when it came") << start - dayMs - 1 << QStringList();
}

void CoverageTest::whichLapsesAreOurs()
{
    QFETCH(qint64, expiresAt);
    Scene scene;
    QVERIFY(scene.put(u"a"_s, expiresAt, start - dayMs));
    QTEST(scene.told(start), "told");
}

QTEST_GUILESS_MAIN(CoverageTest)
#include "tst_coverage.moc"
