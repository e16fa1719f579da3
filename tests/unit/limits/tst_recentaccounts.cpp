// SPDX-License-Identifier: Apache-2.0
#include "limits/recentaccounts.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::limits;

class TestRecentAccounts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void mostDrainedFirst();
    void levelsRefillWhileTheyAreNotSeen();
    void filtersByAddress();
    void forgetsTheOlderHalf();

private:
    static constexpr qint64 second = 1'000'000;
};

void TestRecentAccounts::mostDrainedFirst()
{
    RecentAccounts accounts;
    accounts.seen(u"full"_s, 360'000, 0);
    accounts.seen(u"low"_s, 10'000, 0);
    accounts.seen(u"debt"_s, -5'000, 0);
    accounts.seen(u"low"_s, 20'000, 0);
    QCOMPARE(accounts.mostDrained({}, 10, 60, 360'000, 0), (QStringList{u"debt"_s, u"low"_s, u"full"_s}));
    QCOMPARE(accounts.mostDrained({}, 2, 60, 360'000, 0), (QStringList{u"debt"_s, u"low"_s}));
}

void TestRecentAccounts::levelsRefillWhileTheyAreNotSeen()
{
    RecentAccounts accounts;
    accounts.seen(u"long ago"_s, 0, 0);
    accounts.seen(u"now"_s, 5'000, 10 * second);
    // One unit a second: the older one has 10 by now.
    QCOMPARE(accounts.mostDrained({}, 10, 60, 360'000, 10 * second), (QStringList{u"now"_s, u"long ago"_s}));
}

void TestRecentAccounts::filtersByAddress()
{
    RecentAccounts accounts;
    accounts.seen(u"a@one.example"_s, 0, 0);
    accounts.seen(u"b@two.example"_s, 0, 0);
    QCOMPARE(accounts.mostDrained(u"TWO"_s, 10, 60, 1, 0), QStringList{u"b@two.example"_s});
    QCOMPARE(accounts.mostDrained(u"three"_s, 10, 60, 1, 0), QStringList());
}

void TestRecentAccounts::forgetsTheOlderHalf()
{
    RecentAccounts accounts(100);
    for (int i = 0; i < 101; ++i)
        accounts.seen(QString::number(i), 0, i);
    QCOMPARE(accounts.size(), 50);
    QCOMPARE(accounts.mostDrained(u"100"_s, 1, 60, 1, 0).size(), 1);
    QCOMPARE(accounts.mostDrained(u"49"_s, 1, 60, 1, 0).size(), 0);
}

QTEST_APPLESS_MAIN(TestRecentAccounts)
#include "tst_recentaccounts.moc"
