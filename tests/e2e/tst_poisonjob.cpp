// SPDX-License-Identifier: Apache-2.0
#include "jobscene.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::JobScene;
using test::Product;

/// Jobs of plugins in the whole product: run, and set aside when they kill it.
class TestPoisonJob : public QObject {
    Q_OBJECT

private:
    static constexpr auto shortLease = "[queue]\nlease = \"2s\"\n";

    static QJsonObject dead(JobScene &scene, const QString &queue)
    {
        return scene.product.engineGet(u"/api/v1/queues/%1/dead"_s.arg(queue)).body;
    }
    static QJsonObject counts(JobScene &scene, const QString &queue)
    {
        const QJsonArray queues = scene.product.engineGet(u"/api/v1/queues"_s).body["queues"_L1].toArray();
        for (const QJsonValue &each : queues) {
            if (each["name"_L1] == queue)
                return each.toObject();
        }
        return {};
    }

private Q_SLOTS:
    void slowJobsHoldUpNoRenewal()
    {
        JobScene scene;
        QVERIFY(scene.product.startGoogle());
        QVERIFY2(scene.start(), scene.product.engine->log().constData());
        QVERIFY(scene.ask({JobScene::job(u"a"_s, u"wait"_s, 60'000), JobScene::job(u"b"_s, u"wait"_s, 60'000),
                           JobScene::job(u"c"_s, u"done"_s)}));
        QVERIFY(scene.journalSays(u"began b"_s));
        QVERIFY(scene.product.importAccounts(3));
        QVERIFY(Product::eventually(20'000,
                                    [&] { return scene.product.googleTotals()["watches"_L1].toInt() == 3; }));
        QCOMPARE(scene.times(u"began c"_s), 0); // two at a time
        QCOMPARE(counts(scene, u"plugins"_s)["running"_L1].toInt(), 2);
        QCOMPARE(counts(scene, u"renew"_s)["dead"_L1].toInt(), 0);
    }

    /// The handler ends the process before any counter of its own could move (pipeshub-ai/pipeshub-ai#3037). The
    /// loop starts it again, as Restart=always does.
    void isADeadLetterAfterThreeStarts()
    {
        JobScene scene;
        QVERIFY2(scene.start(shortLease), scene.product.engine->log().constData());
        // All four are in hand when it strikes: the neighbour runs beside it, the other two wait for their turn.
        QVERIFY(scene.ask({JobScene::job(u"poison"_s, u"abort"_s, 1'000),
                           JobScene::job(u"beside"_s, u"wait"_s, 1'500), JobScene::job(u"next"_s, u"done"_s),
                           JobScene::job(u"last"_s, u"done"_s)}));
        QCOMPARE(scene.product.engine->waitFinished(10'000), -1);
        QCOMPARE(scene.jobCount(u"poison"_s, u"starts"_s), 1);
        for (const QString &prefetched : {u"next"_s, u"last"_s}) {
            QCOMPARE(scene.jobCount(prefetched, u"starts"_s), 0);
            QCOMPARE(scene.jobField(prefetched, u"state"_s), "claimed");
        }

        int crashes = 1;
        const auto poisonIsDead = [&] { return dead(scene, u"plugins"_s)["total"_L1].toInt() == 1; };
        QVERIFY2(scene.start(shortLease), scene.product.engine->log().constData());
        QVERIFY(Product::eventually(60'000, [&] {
            if (scene.product.engine->isRunning() && scene.product.engine->waitFinished(0) == -1
                && scene.product.engine->isRunning())
                return poisonIsDead();
            ++crashes;
            return !scene.start(shortLease); // false: goes on
        }));
        QCOMPARE(crashes, 3);
        QCOMPARE(scene.times(u"began poison"_s), 3);

        const QJsonObject letter = dead(scene, u"plugins"_s)["dead"_L1][0].toObject();
        QCOMPARE(letter["error_class"_L1].toString(), u"stalled"_s);
        QCOMPARE(letter["payload"_L1]["name"_L1].toString(), u"poison"_s); // raw payload kept
        for (const QString &name : {u"beside"_s, u"next"_s, u"last"_s}) {
            QVERIFY2(scene.journalSays(u"done "_s + name), qPrintable(name));
            QCOMPARE(scene.times(u"done "_s + name), 1);
        }
        QCOMPARE(scene.times(u"began next"_s), 1);
        QCOMPARE(scene.times(u"began last"_s), 1);

        // The engine lives on, with the plugin.
        QVERIFY(scene.ask({JobScene::job(u"after"_s, u"done"_s)}));
        QVERIFY(scene.journalSays(u"done after"_s));
        QVERIFY(scene.product.engine->isRunning());
        const QJsonArray plugins = scene.product.engineGet(u"/api/v1/plugins"_s).body["plugins"_L1].toArray();
        const auto isOurs = [](const QJsonValue &plugin) { return plugin["id"_L1] == "e2e-jobs"_L1; };
        const auto ours = std::find_if(plugins.begin(), plugins.end(), isOurs);
        QVERIFY(ours != plugins.end());
        QCOMPARE((*ours)["state"_L1].toString(), u"running"_s);
    }
};

QTEST_GUILESS_MAIN(TestPoisonJob)
#include "tst_poisonjob.moc"
