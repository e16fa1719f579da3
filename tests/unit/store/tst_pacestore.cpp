// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"
#include "store/accountstore.h"
#include "store/pacestore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::store;

namespace {

constexpr qint64 now = 1'800'000'000'000;
const core::Pace pace = core::backlogPace(0, core::dayMs); // twenty at once, one a minute

template<typename T>
T wait(QCoro::Task<T> task)
{
    return QCoro::waitFor(std::move(task));
}

} // namespace

class TestPaceStore : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void enginesShareOnePace();
    void whatWasNotBegunComesBack();
    void pullingForwardSpreadsAndOutlivesARestart();
    void pullingForwardTwiceMovesNobody();
    void onlyActiveOnesCountAndMove();

private:
    QList<AccountRow> addAccounts(AccountStore &accounts, int count);
};

/// Each due in a day.
QList<AccountRow> TestPaceStore::addAccounts(AccountStore &accounts, int count)
{
    QList<AccountRow> rows;
    for (int i = 0; i < count; ++i) {
        const QString id = u"a%1"_s.arg(i);
        AccountChange change;
        change.email = id + u"@example.com"_s;
        change.watchExpiresAt = now + 7 * core::dayMs;
        [&] { QVERIFY(wait(accounts.put(id, change, now)).has_value()); }();
        core::Subscription subscription = *wait(accounts.subscription(id + u"/gmail"_s));
        subscription.nextTargetAt = now + core::dayMs;
        [&] { QVERIFY(wait(accounts.compareAndSet(subscription)).has_value()); }();
        rows.append(*wait(accounts.find(id)));
    }
    return rows;
}

void TestPaceStore::enginesShareOnePace()
{
    test::TestDatabase database;
    PaceStore one(database.database());
    Database otherConnection(database.url());
    QVERIFY(wait(otherConnection.open()).has_value());
    PaceStore other(otherConnection);
    QCOMPARE(*wait(one.take(pace, 15, now)), 15);
    QCOMPARE(*wait(other.take(pace, 15, now)), 5);
    QCOMPARE(*wait(one.take(pace, 15, now)), 0);
    database.reopen();
    PaceStore restarted(database.database());
    QCOMPARE(*wait(restarted.take(pace, 15, now + 2 * core::minuteMs)), 2);
}

void TestPaceStore::whatWasNotBegunComesBack()
{
    test::TestDatabase database;
    PaceStore store(database.database());
    QCOMPARE(*wait(store.take(pace, 20, now)), 20);
    QVERIFY(wait(store.giveBack(pace, 4)).has_value());
    QCOMPARE(*wait(store.take(pace, 20, now)), 4);
}

void TestPaceStore::pullingForwardSpreadsAndOutlivesARestart()
{
    test::TestDatabase database;
    AccountStore accounts(database.database());
    const QList<AccountRow> rows = addAccounts(accounts, 240);
    PaceStore store(database.database());
    QCOMPARE(wait(accounts.due(now + core::hourMs, 500))->size(), 0);
    QCOMPARE(*wait(store.take(pace, 20, now)), 20);
    QCOMPARE(*wait(store.pullForward(rows, 2 * core::hourMs, now)), 240);

    database.reopen();
    AccountStore reopened(database.database());
    PaceStore restarted(database.database());
    const qsizetype inAnHour = wait(reopened.due(now + core::hourMs, 500))->size();
    QVERIFY2(inAnHour > 90 && inAnHour < 150, qPrintable(QString::number(inAnHour)));
    QCOMPARE(wait(reopened.due(now + 2 * core::hourMs, 500))->size(), 240);
    int begun = 0;
    for (qint64 ms = core::minuteMs; ms <= core::hourMs; ms += core::minuteMs)
        begun += *wait(restarted.take(pace, 500, now + ms));
    QVERIFY2(begun >= 170 && begun <= 190,
             qPrintable(QString::number(begun))); // 120 of them and the usual 60
}

void TestPaceStore::pullingForwardTwiceMovesNobody()
{
    test::TestDatabase database;
    AccountStore accounts(database.database());
    addAccounts(accounts, 10);
    PaceStore store(database.database());
    AccountFilter all;
    const auto rows = [&] { return wait(accounts.list(all, now, 6 * core::dayMs))->rows; };
    QCOMPARE(*wait(store.pullForward(rows(), core::hourMs, now)), 10);
    QCOMPARE(*wait(store.pullForward(rows(), core::hourMs, now + 1'000)), 0);
    QCOMPARE(*wait(store.pullForward(rows(), 0, now)), 10); // now
}

void TestPaceStore::onlyActiveOnesCountAndMove()
{
    test::TestDatabase database;
    AccountStore accounts(database.database());
    addAccounts(accounts, 10);
    PaceStore store(database.database());
    QCOMPARE(*wait(store.activeSubscriptions()), 10);
    AccountChange paused;
    paused.state = core::AccountState::Paused;
    QCOMPARE(*wait(accounts.patchAll({u"a1"_s, u"a2"_s, u"nobody"_s}, paused, now)), 2);
    QCOMPARE(*wait(store.activeSubscriptions()), 8);
    AccountFilter all;
    const QList<AccountRow> rows = wait(accounts.list(all, now, 6 * core::dayMs))->rows;
    QCOMPARE(*wait(store.pullForward(rows, core::hourMs, now)), 8);
}

QTEST_GUILESS_MAIN(TestPaceStore)
#include "tst_pacestore.moc"
