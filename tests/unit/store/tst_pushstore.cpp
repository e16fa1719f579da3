// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"
#include "store/accountstore.h"
#include "store/pushstore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::store;

namespace {

constexpr qint64 now = 1'800'000'000'000;
constexpr qint64 minute = 60'000;
const core::PushLimits limits;

template<typename T>
T wait(QCoro::Task<T> task)
{
    return QCoro::waitFor(std::move(task));
}

} // namespace

class TestPushStore : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void offUntilTheFirstPush();
    void countsAsTheDecisionDoes();
    void unknownAndStaleAreTakenIn();
    void oneRepairThenOneNotice();
    void aPushEndsTheSilence();
    void oneEngineMarksThePath();

private:
    void renewed(const QString &id, qint64 at);
    Result<QSet<QString>> push(const QString &id, qint64 at, const QString &historyId = u"10"_s)
    {
        return wait(m_store->note({{id + u"@example.com"_s, {at, historyId}}}));
    }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<AccountStore> m_accounts;
    std::unique_ptr<PushStore> m_store;
};

void TestPushStore::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<AccountStore>(m_database->database());
    m_store = std::make_unique<PushStore>(m_database->database());
    for (const QString &id : {u"a"_s, u"b"_s, u"c"_s}) {
        AccountChange change;
        change.email = id + u"@example.com"_s;
        change.watchExpiresAt = now + 7 * core::dayMs;
        QVERIFY(wait(m_accounts->put(id, change, now)).has_value());
    }
}

void TestPushStore::renewed(const QString &id, qint64 at)
{
    core::Subscription subscription = *wait(m_accounts->subscription(id + u"/gmail"_s));
    subscription.lastSuccessAt = at;
    QVERIFY(wait(m_accounts->compareAndSet(subscription)).has_value());
}

void TestPushStore::offUntilTheFirstPush()
{
    renewed(u"a"_s, now);
    QCOMPARE(wait(m_store->count(limits, now + 60 * minute))->provenSince, 0);
    QVERIFY(wait(m_store->takeSilent(limits, now + 60 * minute, 10))->isEmpty());
    QVERIFY(push(u"a"_s, now + minute).has_value());
    QVERIFY(push(u"a"_s, now + 2 * minute).has_value());
    QCOMPARE(wait(m_store->count(limits, now + 60 * minute))->provenSince, now + minute);
}

void TestPushStore::countsAsTheDecisionDoes()
{
    QVERIFY(push(u"a"_s, now).has_value());
    QVERIFY(push(u"b"_s, now).has_value());
    renewed(u"a"_s, now + limits.aheadMs); // its push came just early enough
    renewed(u"b"_s, now + limits.aheadMs + 1);
    const qint64 last = now + limits.aheadMs + 1 + limits.provenWithinMs;
    for (const qint64 at : {last, last + 1}) {
        const PushCounts counts = *wait(m_store->count(limits, at));
        const auto state = core::pushStateOf(now + limits.aheadMs + 1, now, now, at, limits);
        QCOMPARE(counts.proven, 1);
        QCOMPARE(counts.silent, state == core::PushState::Silent ? 1 : 0);
        QCOMPARE(counts.unproven, state == core::PushState::Silent ? 1 : 2);
        QCOMPARE(counts.firstUnansweredAt, now + limits.aheadMs + 1);
    }
    QCOMPARE(wait(m_store->count(limits, last + 1))->silent, 1);
}

// A push that nobody can use must not come back for ever: openclaw/gogcli#1140.
void TestPushStore::unknownAndStaleAreTakenIn()
{
    QCOMPARE(*push(u"nobody"_s, now), QSet<QString>{u"nobody@example.com"_s});
    QCOMPARE(wait(m_store->count(limits, now))->provenSince, 0);
    QVERIFY(push(u"a"_s, now, u"18446744073709551615"_s)->isEmpty());
    QVERIFY(push(u"a"_s, now + minute, u"18446744073709551614"_s)->isEmpty());
    QCOMPARE(wait(m_store->count(limits, now))->lastPushAt, now);
    QVERIFY(push(u"a"_s, now + minute, u"18446744073709551615"_s)->isEmpty());
    QCOMPARE(wait(m_store->count(limits, now))->lastPushAt, now + minute);
}

// A watch that is renewed and stays silent: Nine-Minds/alga-psa#859.
void TestPushStore::oneRepairThenOneNotice()
{
    QVERIFY(push(u"a"_s, now).has_value());
    renewed(u"b"_s, now + minute);
    const auto take = [&](qint64 at) { return *wait(m_store->takeSilent(limits, at, 10)); };
    QVERIFY(take(now + 3 * minute).isEmpty());
    const QList<SilentWatch> first = take(now + 3 * minute + 1);
    QCOMPARE(first.size(), 1);
    QCOMPARE(first[0].account, u"b"_s);
    QCOMPARE(first[0].step, core::SilenceStep::Repair);
    QVERIFY(take(now + 30 * minute).isEmpty()); // the repair has not succeeded yet
    renewed(u"b"_s, now + 30 * minute);
    QVERIFY(take(now + 32 * minute).isEmpty());
    const QList<SilentWatch> second = take(now + 33 * minute);
    QCOMPARE(second.size(), 1);
    QCOMPARE(second[0].step, core::SilenceStep::Tell);
    renewed(u"b"_s, now + 24 * 60 * minute);
    QVERIFY(take(now + 25 * 60 * minute).isEmpty());
}

void TestPushStore::aPushEndsTheSilence()
{
    QVERIFY(push(u"a"_s, now).has_value());
    renewed(u"b"_s, now + minute);
    QCOMPARE(wait(m_store->takeSilent(limits, now + 5 * minute, 10))->size(), 1);
    QVERIFY(push(u"b"_s, now + 6 * minute).has_value());
    renewed(u"b"_s, now + 60 * minute);
    const QList<SilentWatch> again = *wait(m_store->takeSilent(limits, now + 65 * minute, 10));
    QCOMPARE(again.size(), 1);
    QCOMPARE(again[0].step, core::SilenceStep::Repair);
}

void TestPushStore::oneEngineMarksThePath()
{
    QVERIFY(*wait(m_store->markPath(true, now)));
    QVERIFY(!*wait(m_store->markPath(true, now + 1)));
    QCOMPARE(*wait(m_store->pathBrokenSince()), now);
    QVERIFY(*wait(m_store->markPath(false, now + 2)));
    QVERIFY(!*wait(m_store->markPath(false, now + 3)));
    QCOMPARE(*wait(m_store->pathBrokenSince()), 0);
}

QTEST_GUILESS_MAIN(TestPushStore)
#include "tst_pushstore.moc"
