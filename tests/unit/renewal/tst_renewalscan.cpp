// SPDX-License-Identifier: Apache-2.0
#include "fakes.h"

#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::renewal;
using namespace tidekeeper::renewal::test;

/// Scans over many ticks and of many engines: nobody starves, nobody is renewed twice.
class TestRenewalScan : public QObject {
    Q_OBJECT

private:
    static int renewedOf(const World &world)
    {
        int renewed = 0;
        for (const store::AccountRow &row : world.store.rows)
            renewed += row.subscriptions.first().lastSuccessAt > 0 ? 1 : 0;
        return renewed;
    }

private Q_SLOTS:
    void failuresOfTheFirstBatchDoNotStarveTheRest()
    {
        // xorbitsai/xagent#704: 1,200 were due and the first 500, which fail each time, were selected for ever.
        // Each fails for a reason of its own: what Google refuses to many at once pauses their project.
        World world;
        world.provider.batchSize = 500;
        world.start();
        for (int i = 0; i < 1'200; ++i) {
            const QString id = u"%1"_s.arg(i, 5, 10, QLatin1Char('0'));
            world.store.add(accountRow(id, id + u"@example.com"_s, world.clock.nowMs() + (i + 1) * 1'000LL));
            if (i < 500)
                world.tokenOf.insert(id, tl::unexpected(core::Outcome::local(u"unreadable"_s, u"No."_s)));
        }
        // Their first back-off is one tick, so they come ahead once more; from then on it grows.
        for (int tick = 0; tick < 5; ++tick) {
            QCoro::waitFor(world.engine->scan());
            world.work();
            world.clock.advance(core::minuteMs);
        }
        QCOMPARE(renewedOf(world), 700);
        QCOMPARE(world.provider.renewed.size(), 700); // each one once
    }

    void enginesThatStartTogetherRenewEachAccountOnce()
    {
        // One queue and one pace for all of them.
        World world;
        world.start();
        std::vector<std::unique_ptr<RenewalEngine>> engines;
        for (int i = 0; i < 4; ++i)
            engines.push_back(std::make_unique<RenewalEngine>(world.ports(), world.providers));
        for (int i = 0; i < 10; ++i)
            world.store.add(accountRow(u"a%1"_s.arg(i), u"a%1@example.com"_s.arg(i), 0));
        int enqueued = 0;
        for (const auto &engine : engines)
            enqueued += QCoro::waitFor(engine->scan()).enqueued;
        QCOMPARE(enqueued, 10);
        world.work();
        for (const auto &engine : engines)
            QCOMPARE(QCoro::waitFor(engine->scan()).due, 0);
        QCOMPARE(world.provider.renewed.size(), 10);
    }

    void enginesShareOnePace()
    {
        World world;
        world.start();
        for (int i = 0; i < 100; ++i)
            world.store.add(accountRow(u"a%1"_s.arg(i), u"a%1@example.com"_s.arg(i),
                                       world.clock.nowMs() + 5 * core::dayMs));
        RenewalEngine second(world.ports(), world.providers);
        const int first = QCoro::waitFor(world.engine->scan()).enqueued;
        world.work();
        QCOMPARE(first, 20);
        QCOMPARE(QCoro::waitFor(second.scan()).enqueued, 0); // the first has used it up
        QCOMPARE(second.lastScan().held, 80);
    }

    void whatIsSwitchedOffCallsNothingAndIsShown()
    {
        // xorbitsai/xagent#1231: with the feature off its watches went on to be made, or lapsed unseen.
        World world;
        world.provider.mode = u"observe"_s;
        world.start();
        world.store.add(accountRow(u"a"_s, u"a@example.com"_s, world.clock.nowMs() - core::hourMs));
        const ScanResult scan = QCoro::waitFor(world.engine->scan());
        QCOMPARE(scan.due, 1);
        QCOMPARE(scan.enqueued, 0);
        world.renew(u"a"_s, true);
        QVERIFY(world.provider.renewed.isEmpty());
        const auto explained = QCoro::waitFor(world.engine->explain(u"a"_s));
        QVERIFY(explained.has_value());
        const QJsonValue view = (*explained)["subscriptions"_L1].toArray().first();
        QCOMPARE(view["band"_L1].toString(), u"expired"_s);
        QVERIFY(view["summary"_L1].toString().startsWith(u"Due, but renewing only observes"_s));
    }

    void explainTellsWhoWaitsForThePaceAndWhoIsHeld()
    {
        World world;
        world.start();
        for (int i = 0; i < 30; ++i)
            world.store.add(accountRow(u"a%1"_s.arg(i), u"a%1@example.com"_s.arg(i),
                                       world.clock.nowMs() + 5 * core::dayMs));
        QCoro::waitFor(world.engine->scan());
        const auto summary = [&world](const QString &account) {
            const auto explained = QCoro::waitFor(world.engine->explain(account));
            return explained->value("subscriptions"_L1).toArray().first()["summary"_L1].toString();
        };
        QVERIFY2(summary(u"a29"_s).contains(u"the last scan left 10 for"_s), qPrintable(summary(u"a29"_s)));
        world.engine->hold(u"The database is a copy."_s);
        QCOMPARE(summary(u"a29"_s), u"Due, but nothing is called: The database is a copy."_s);
    }
};

QTEST_GUILESS_MAIN(TestRenewalScan)
#include "tst_renewalscan.moc"
