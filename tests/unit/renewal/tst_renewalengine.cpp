// SPDX-License-Identifier: Apache-2.0
#include "fakes.h"

#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::renewal;
using namespace tidekeeper::renewal::test;

class TestRenewalEngine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { m_world = std::make_unique<World>(); }
    void cleanup() { m_world.reset(); }

    void earliestExpiryFirstAndNoMoreThanABatch();
    void failingAccountsDoNotStarveOthers();
    void littleTimeLeftGoesFirst();
    void aBacklogIsPacedAndUrgentOnesAreNot();
    void whatWasNotBegunDoesNotUseUpThePace();
    void capacityIsToldWithWhatWasMeasured();
    void heldEnginesCallNothing();
    void unknownExpiriesAreDue_data();
    void unknownExpiriesAreDue();
    void liveJobsAreNotEnqueuedTwice();
    void keysHoldNoAddress();
    void databaseAway();
    void requestsMakeOneScan();
    void fullBatchIsFollowedByTheNext();
    void renewNow_data();
    void renewNow();
    void renewNowForMany();
    void takingOverFreesWhatAnotherHolds();
    void explainNamesTheBreaker();
    void providersAreChecked();

private:
    World &world() { return *m_world; }
    void addMany(int count)
    {
        for (int i = 0; i < count; ++i) {
            const QString id = u"%1"_s.arg(i, 5, 10, QLatin1Char('0'));
            world().store.add(
                accountRow(id, id + u"@example.com"_s, world().clock.nowMs() + (i + 1) * 1'000LL));
        }
    }
    std::unique_ptr<World> m_world;
};

void TestRenewalEngine::earliestExpiryFirstAndNoMoreThanABatch()
{
    world().provider.batchSize = 10;
    world().start();
    addMany(25);
    world().store.add(accountRow(u"none"_s, u"none@example.com"_s, 0));
    const ScanResult result = QCoro::waitFor(world().engine->scan());
    QCOMPARE(result.due, 10);
    QCOMPARE(result.enqueued, 10);
    QCOMPARE(world().enqueued.first().payload.value("account"_L1).toString(), u"none"_s);
    QCOMPARE(world().enqueued[1].payload.value("account"_L1).toString(), u"00000"_s);
    QVERIFY(world().provider.renewed.isEmpty()); // selecting calls nothing
}

void TestRenewalEngine::failingAccountsDoNotStarveOthers()
{
    // xorbitsai/xagent#704: LIMIT in the selection picked the same failing rows each time.
    world().provider.batchSize = 15;
    world().start();
    addMany(120);
    for (int i = 0; i < 15; ++i)
        world().provider.next.append({{u"outcome"_s, u"transient"_s}});
    for (int scan = 0; scan < 8; ++scan) {
        QCoro::waitFor(world().engine->scan());
        world().work();
    }
    int renewed = 0;
    for (const store::AccountRow &row : std::as_const(world().store.rows))
        renewed += row.subscriptions.first().lastSuccessAt > 0 ? 1 : 0;
    QCOMPARE(renewed, 105);
}

void TestRenewalEngine::littleTimeLeftGoesFirst()
{
    world().start();
    world().store.add(accountRow(u"healthy"_s, u"h@example.com"_s, world().clock.nowMs() + 6 * core::dayMs));
    world().store.add(accountRow(u"late"_s, u"l@example.com"_s, world().clock.nowMs() + 3 * core::dayMs));
    QCoro::waitFor(world().engine->scan());
    QCOMPARE(world().enqueued.size(), 2);
    for (const queue::JobSpec &spec : std::as_const(world().enqueued))
        QCOMPARE(spec.urgent, spec.payload.value("account"_L1) == "late"_L1);
}

void TestRenewalEngine::aBacklogIsPacedAndUrgentOnesAreNot()
{
    world().start();
    addMany(30); // critical
    for (int i = 0; i < 100; ++i) {
        const QString id = u"calm%1"_s.arg(i);
        world().store.add(accountRow(id, id + u"@example.com"_s, world().clock.nowMs() + 5 * core::dayMs));
    }
    const ScanResult first = QCoro::waitFor(world().engine->scan());
    QCOMPARE(first.due, 130);
    QCOMPARE(first.enqueued, 50); // 30, and of the others twenty at once
    QCOMPARE(first.held, 80);
    QCOMPARE(world().engine->status()["last_scan"_L1]["held"_L1].toInt(), 80);
    world().work();
    world().clock.advance(10 * core::minuteMs);
    const ScanResult second = QCoro::waitFor(world().engine->scan());
    QCOMPARE(second.enqueued, 10); // one a minute
}

void TestRenewalEngine::whatWasNotBegunDoesNotUseUpThePace()
{
    world().start();
    for (int i = 0; i < 15; ++i) {
        const QString id = u"calm%1"_s.arg(i, 2, 10, QLatin1Char('0'));
        world().store.add(accountRow(id, id + u"@example.com"_s, world().clock.nowMs() + 5 * core::dayMs));
    }
    QCOMPARE(QCoro::waitFor(world().engine->scan()).enqueued, 15);
    QCOMPARE(QCoro::waitFor(world().engine->scan()).enqueued, 0); // all live
    world().work();
    for (int i = 20; i < 30; ++i) {
        const QString id = u"calm%1"_s.arg(i);
        world().store.add(accountRow(id, id + u"@example.com"_s, world().clock.nowMs() + 5 * core::dayMs));
    }
    QCOMPARE(QCoro::waitFor(world().engine->scan()).enqueued, 5);
}

void TestRenewalEngine::capacityIsToldWithWhatWasMeasured()
{
    world().start();
    QVERIFY(world().engine->status()["capacity"_L1].toObject().isEmpty());
    addMany(3);
    QCoro::waitFor(world().engine->scan());
    const QJsonObject before = world().engine->status()["capacity"_L1].toObject();
    QCOMPARE(before["subscriptions"_L1].toInteger(), 3);
    QCOMPARE(before["holds"_L1].toBool(), true);
    QCOMPARE(before["median_ms"_L1].toInteger(), 0);
    world().provider.onRenew = [this] { world().clock.advance(200'000'000); };
    world().renew(u"00000"_s, true);
    const QJsonObject after = world().engine->status()["capacity"_L1].toObject();
    QCOMPARE(after["median_ms"_L1].toInteger(), 200'000'000);
    QCOMPARE(after["smallest"_L1].toString(), u"consumers"_s);
    QCOMPARE(after["holds"_L1].toBool(), true); // four in six days, and there are three
    QCOMPARE(world().engine->estimateMs(10), 1'000'000'000);
}

void TestRenewalEngine::heldEnginesCallNothing()
{
    // xorbitsai/xagent#1231: a feature that is off made watches that nothing renewed.
    world().start();
    addMany(2);
    world().engine->hold(u"The database is a copy."_s);
    const ScanResult held = QCoro::waitFor(world().engine->scan());
    QCOMPARE(held.due, 2); // it is shown who would be renewed
    QCOMPARE(held.enqueued, 0);
    world().renew(u"00000"_s, true); // a job that was queued before
    QVERIFY(world().provider.renewed.isEmpty());
    QCOMPARE(world().engine->status()["mode"_L1].toString(), u"observe"_s);
    QCOMPARE(world().engine->status()["mode_reason"_L1].toString(), u"The database is a copy."_s);
    const auto refused = QCoro::waitFor(world().engine->renewNow(u"00000"_s));
    QCOMPARE(refused.error().text, u"The database is a copy."_s);

    world().engine->hold({});
    QTRY_COMPARE_WITH_TIMEOUT(world().enqueued.size(), 2, 2'000);
    QCOMPARE(world().engine->status()["mode"_L1].toString(), u"renew"_s);
}

void TestRenewalEngine::unknownExpiriesAreDue_data()
{
    QTest::addColumn<qint64>("leftMs"); // −2 = unknown, −1 = negative
    QTest::addColumn<bool>("due");
    QTest::newRow("unknown") << -2LL << true;
    QTest::newRow("negative") << -1LL << true;
    QTest::newRow("past") << -core::hourMs << true;
    QTest::newRow("in an hour") << core::hourMs << true;
    QTest::newRow("in six and a half days") << 6 * core::dayMs + 12 * core::hourMs << false;
}

void TestRenewalEngine::unknownExpiriesAreDue()
{
    // langgenius/dify#41162: rows without an expiry were never selected.
    QFETCH(qint64, leftMs);
    world().start();
    const qint64 now = world().clock.nowMs();
    store::AccountRow row = accountRow(u"a"_s, u"a@example.com"_s,
                                       leftMs == -2       ? 0
                                           : leftMs == -1 ? -1
                                                          : now + leftMs);
    core::Subscription &subscription = row.subscriptions.first();
    subscription.nextTargetAt = core::nextTarget({u"a"_s, subscription.expiresAt});
    world().store.add(row);
    QTEST(QCoro::waitFor(world().engine->scan()).enqueued == 1, "due");
}

void TestRenewalEngine::liveJobsAreNotEnqueuedTwice()
{
    world().start();
    addMany(5);
    QCoro::waitFor(world().engine->scan());
    const ScanResult again = QCoro::waitFor(world().engine->scan());
    QCOMPARE(again.due, 5);
    QCOMPARE(again.enqueued, 0);
}

void TestRenewalEngine::keysHoldNoAddress()
{
    world().start();
    world().store.add(accountRow(u"someone@example.com"_s, u"someone@example.com"_s, 0));
    QCoro::waitFor(world().engine->scan());
    QVERIFY(!world().enqueued.first().dedupeKey.contains(u'@'));
}

void TestRenewalEngine::databaseAway()
{
    world().start();
    world().store.dueFails = true;
    queue::Job job;
    job.type = RenewalEngine::scanJob;
    const queue::JobOutcome outcome = QCoro::waitFor(world().engine->run(job));
    QCOMPARE(outcome.kind, queue::JobOutcome::Kind::Retry);
    QCOMPARE(world().engine->status().value("last_scan"_L1)["error"_L1].toString(),
             u"The database is away."_s);
}

void TestRenewalEngine::requestsMakeOneScan()
{
    world().start();
    addMany(3);
    for (int i = 0; i < 10; ++i)
        world().engine->requestScan();
    QTRY_COMPARE_WITH_TIMEOUT(world().enqueued.size(), 3, 1'000);
}

void TestRenewalEngine::fullBatchIsFollowedByTheNext()
{
    world().provider.batchSize = 8;
    world().start();
    addMany(20);
    QCoro::waitFor(world().engine->scan());
    world().work();
    QTRY_COMPARE_WITH_TIMEOUT(world().enqueued.size(), 8, 2'000);
}

void TestRenewalEngine::renewNow_data()
{
    QTest::addColumn<int>("state");
    QTest::addColumn<QString>("code");
    QTest::newRow("active") << static_cast<int>(core::AccountState::Active) << QString();
    QTest::newRow("paused") << static_cast<int>(core::AccountState::Paused) << u"conflict"_s;
    QTest::newRow("needs reauth") << static_cast<int>(core::AccountState::NeedsReauth) << u"conflict"_s;
    QTest::newRow("unknown") << -1 << u"not_found"_s;
}

void TestRenewalEngine::renewNow()
{
    QFETCH(int, state);
    world().start();
    store::AccountRow row = accountRow(u"a"_s, u"a@example.com"_s, world().clock.nowMs() + 7 * core::dayMs);
    row.subscriptions.first().nextTargetAt = world().clock.nowMs() + core::dayMs;
    row.account.state = static_cast<core::AccountState>(qMax(0, state));
    if (state >= 0)
        world().store.add(row);
    const Result<queue::EnqueueResult> result = QCoro::waitFor(world().engine->renewNow(u"a"_s));
    QTEST(result ? QString() : result.error().code, "code");
    if (!result)
        return;
    QCOMPARE(result->result, u"added"_s);
    QVERIFY(world().enqueued.first().urgent);
    world().work();
    QCOMPARE(world().provider.renewed.size(), 1); // although it was not due
}

void TestRenewalEngine::renewNowForMany()
{
    world().start();
    addMany(1'203);
    world().store.rows[u"00007"_s].account.state = core::AccountState::Parked;
    const Result<QStringList> begun = QCoro::waitFor(world().engine->renewNow(world().store.rows.values()));
    QVERIFY(begun.has_value());
    QCOMPARE(begun->size(), 1'202);
    QVERIFY(!begun->contains(u"00007"_s));
    // All are under way.
    QVERIFY(QCoro::waitFor(world().engine->renewNow(world().store.rows.values()))->isEmpty());
}

void TestRenewalEngine::takingOverFreesWhatAnotherHolds()
{
    world().start();
    store::AccountRow row = accountRow(u"a"_s, u"a@example.com"_s, world().clock.nowMs() + core::dayMs);
    row.account.state = core::AccountState::Parked;
    row.subscriptions.first().errorClass = toString(core::OutcomeKind::OwnedElsewhere);
    world().store.add(row);
    row = accountRow(u"gone"_s, u"gone@example.com"_s, world().clock.nowMs() + core::dayMs);
    row.account.state = core::AccountState::Parked;
    world().store.add(row);

    const auto refused = QCoro::waitFor(world().engine->renewNow(u"a"_s));
    QCOMPARE(refused.error().code, u"conflict"_s);
    QVERIFY(refused.error().text.contains(u"--take-over"_s));
    // Parked for another reason: there is nothing to take over.
    QCOMPARE(QCoro::waitFor(world().engine->renewNow(u"gone"_s, true)).error().code, u"conflict"_s);
    QVERIFY(world().enqueued.isEmpty());

    QVERIFY(QCoro::waitFor(world().engine->renewNow(u"a"_s, true)).has_value());
    QVERIFY(world().store.account(u"a"_s).state == core::AccountState::Active);
    QCOMPARE(world().enqueued.size(), 1);
    QVERIFY(world().enqueued.first().payload.value("take_over"_L1).toBool());
}

void TestRenewalEngine::explainNamesTheBreaker()
{
    world().start();
    addMany(2);
    world().token = tl::unexpected(core::Outcome::configuration(core::FaultScope::Client, u"invalid_client"_s,
                                                                u"Wrong secret."_s, u"Mend it."_s));
    world().renew(u"00000"_s);
    const Result<QJsonObject> explained = QCoro::waitFor(world().engine->explain(u"00001"_s));
    QVERIFY(explained.has_value());
    const QString summary = explained->value("subscriptions"_L1).toArray().first()["summary"_L1].toString();
    QVERIFY2(summary.contains(u"Wrong secret."_s), qPrintable(summary));
    QVERIFY(!QCoro::waitFor(world().engine->explain(u"nobody"_s)).has_value());
}

void TestRenewalEngine::providersAreChecked()
{
    class Nameless final : public SubscriptionProvider {
    public:
        QJsonObject describe() const override { return {}; }
        void renew(const QJsonObject &, const QString &, Reply *) override { }
        void remove(const QJsonObject &, const QString &, Reply *) override { }
    };
    Nameless nameless;
    Providers providers;
    QVERIFY(!providers.add(&nameless));
    QVERIFY(providers.add(&world().provider));
    QVERIFY(!providers.add(&world().provider)); // the first of a name stays
    QCOMPARE(providers.find(u"gmail"_s)->cursorKeys, QStringList{u"history_id"_s});
    QVERIFY(!providers.find(u"graph"_s));
}

QTEST_GUILESS_MAIN(TestRenewalEngine)
#include "tst_renewalengine.moc"
