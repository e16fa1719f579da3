// SPDX-License-Identifier: Apache-2.0
// Who is found by the scan, and in which order.
#include "core/planner.h"
#include "store/accountstore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using store::AccountChange;
using store::AccountStore;
using store::DueRow;

namespace {

constexpr qint64 now = 1'800'000'000'000;

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

QStringList ids(const QList<DueRow> &rows)
{
    QStringList result;
    for (const DueRow &row : rows)
        result.append(row.account);
    return result;
}

} // namespace

class DueScanTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void selection_data();
    void selection();
    void earliestExpiryFirstUnknownBeforeAll();
    void onlyActiveAccounts();
    void carriesWhatTheJobNeeds();
    void failingAccountsDoNotStarveTheOthers();
};

// langgenius/dify#41162: -1 as "no watch yet" was read as "never expires".
void DueScanTest::selection_data()
{
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<qint64>("nextAttemptAt");
    QTest::addColumn<bool>("selected");
    QTest::newRow("never had one") << qint64(0) << qint64(0) << true;
    QTest::newRow("-1") << qint64(-1) << qint64(0) << true;
    QTest::newRow("past") << now - 1 << qint64(0) << true;
    QTest::newRow("1 h left") << now + core::hourMs << qint64(0) << true;
    // A window of 6 days, spread by up to 2 hours.
    QTest::newRow("6 d less 2 h left") << now + 6 * core::dayMs - 2 * core::hourMs << qint64(0) << true;
    QTest::newRow("6 d and 2 h left") << now + 6 * core::dayMs + 2 * core::hourMs << qint64(0) << false;
    QTest::newRow("7 d left") << now + 7 * core::dayMs << qint64(0) << false;
    QTest::newRow("past, backing off") << now - 1 << now + 1 << false;
    QTest::newRow("never had one, backing off") << qint64(0) << now + 1 << false;
    QTest::newRow("never had one, back-off over") << qint64(0) << now << true;
}

// The row as a renewal would leave it: its target computed by the planner from the expiry alone.
void DueScanTest::selection()
{
    QFETCH(qint64, expiresAt);
    QFETCH(qint64, nextAttemptAt);
    QFETCH(bool, selected);
    test::TestDatabase database;
    AccountStore store(database.database());
    AccountChange change;
    change.email = u"kim@example.com"_s;
    QVERIFY(wait(store.put(u"a1"_s, change, now)).has_value());
    core::Subscription subscription = *wait(store.subscription(u"a1/gmail"_s));
    subscription.expiresAt = expiresAt;
    subscription.nextTargetAt = core::nextTarget({u"a1"_s, expiresAt, 0, 6 * core::dayMs});
    subscription.nextAttemptAt = nextAttemptAt;
    QVERIFY(wait(store.compareAndSet(subscription)).has_value());
    QCOMPARE(wait(store.due(now, 10))->size(), selected ? 1 : 0);
}

void DueScanTest::earliestExpiryFirstUnknownBeforeAll()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    // Against the order of ids, save where expiries are equal.
    const QList<std::pair<QString, qint64>> accounts{{u"e"_s, now + core::hourMs},
                                                     {u"d"_s, now + core::hourMs},
                                                     {u"x"_s, now - core::hourMs},
                                                     {u"z"_s, -1},
                                                     {u"y"_s, 0},
                                                     {u"a"_s, now + 2 * core::hourMs}};
    for (const auto &[id, expiresAt] : accounts) {
        AccountChange change;
        change.email = id + u"@example.com"_s;
        change.watchExpiresAt = expiresAt;
        QVERIFY(wait(store.put(id, change, now)).has_value());
    }
    QCOMPARE(ids(*wait(store.due(now, 10))), QStringList({u"y"_s, u"z"_s, u"x"_s, u"d"_s, u"e"_s, u"a"_s}));
    QCOMPARE(ids(*wait(store.due(now, 3))), QStringList({u"y"_s, u"z"_s, u"x"_s}));
    QVERIFY(wait(store.due(now, 0))->isEmpty());
}

void DueScanTest::onlyActiveAccounts()
{
    using core::AccountState;
    test::TestDatabase database;
    AccountStore store(database.database());
    for (const auto state : {AccountState::Active, AccountState::Paused, AccountState::NeedsReauth,
                             AccountState::Parked, AccountState::Leaving}) {
        AccountChange change;
        change.email = u"kim@example.com"_s;
        const QString id = core::toString(state);
        const qint64 generation = wait(store.put(id, change, now))->row.account.generation;
        if (state != AccountState::Active)
            QVERIFY(wait(store.setState(id, state, {}, generation, now)).has_value());
    }
    QCOMPARE(ids(*wait(store.due(now, 10))), QStringList{u"active"_s});
}

void DueScanTest::carriesWhatTheJobNeeds()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    AccountChange change;
    change.email = u"kim@example.com"_s;
    change.project = u"second"_s;
    change.client = u"mobile"_s;
    change.watchExpiresAt = now + 5;
    QVERIFY(wait(store.put(u"a1"_s, change, now)).has_value());
    const DueRow row = wait(store.due(now, 1))->first();
    QCOMPARE(row.subscription, u"a1/gmail"_s);
    QCOMPARE(row.account, u"a1"_s);
    QCOMPARE(row.email, u"kim@example.com"_s);
    QCOMPARE(row.project, u"second"_s);
    QCOMPARE(row.client, u"mobile"_s);
    QCOMPARE(row.expiresAt, now + 5);
    QCOMPARE(row.lastSuccessAt, qint64(0));
}

// xorbitsai/xagent#704: ordered by id with a limit, each tick took the same first ones, and those that kept failing
// starved the rest.
void DueScanTest::failingAccountsDoNotStarveTheOthers()
{
    test::TestDatabase database;
    AccountStore store(database.database());
    constexpr int accounts = 1'200;
    constexpr int failing = 500;
    constexpr int batch = 500;
    QList<std::pair<QString, AccountChange>> rows;
    for (int i = 0; i < accounts; ++i) {
        AccountChange change;
        change.email = u"%1@example.com"_s.arg(i);
        change.watchExpiresAt = now + (i < failing ? 0 : accounts - i); // the failing ones first
        rows.append({u"%1"_s.arg(i, 4, 10, QChar(u'0')), change});
    }
    QVERIFY(wait(store.putAll(rows, now)).has_value());

    int renewed = 0;
    for (int tick = 0; tick < 3; ++tick) {
        const auto due = *wait(store.due(now + tick * core::minuteMs, batch));
        for (const DueRow &row : due) {
            core::Subscription subscription = *wait(store.subscription(row.subscription));
            if (row.account.toInt() < failing) {
                subscription.attempts += 1;
                subscription.nextAttemptAt = now + core::hourMs;
            } else {
                ++renewed;
                subscription.expiresAt = now + 7 * core::dayMs;
                subscription.nextTargetAt = now + core::dayMs;
            }
            QVERIFY(wait(store.compareAndSet(subscription)).has_value());
        }
    }
    QCOMPARE(renewed, accounts - failing);
    QVERIFY(wait(store.due(now + 3 * core::minuteMs, batch))->isEmpty());
    QCOMPARE(wait(store.due(now + core::hourMs, batch))->size(), failing);
}

QTEST_GUILESS_MAIN(DueScanTest)
#include "tst_duescan.moc"
