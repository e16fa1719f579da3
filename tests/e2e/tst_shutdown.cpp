// SPDX-License-Identifier: Apache-2.0
#include "jobscene.h"
#include "support/testredis.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QFile>
#include <QtTest/QTest>

#include <csignal>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::JobScene;
using test::Product;

/// The end of the real engine. Public cases: langfuse/langfuse#16966 (open connections and endless reconnects keep
/// the process alive until it is killed), rails/solid_queue#568 (a job both done and failed by the shutdown).
class TestShutdown : public QObject {
    Q_OBJECT

private:
    static constexpr int boundMs = 15'000;
    static constexpr int cutShort = 9;

    /// Of a fresh engine's signal, or −1: how it ended, with the time in m_tookMs.
    int endOf(JobScene &scene)
    {
        m_timer.start();
        scene.product.engine->terminate();
        const int code = scene.product.engine->waitFinished(boundMs);
        m_tookMs = m_timer.elapsed();
        return code;
    }

    QElapsedTimer m_timer;
    qint64 m_tookMs = 0;

private Q_SLOTS:
    void idle()
    {
        JobScene scene;
        QVERIFY2(scene.start(), scene.product.engine->log().constData());
        QCOMPARE(endOf(scene), 0);
        QVERIFY2(m_tookMs < 2'000, qPrintable(QString::number(m_tookMs)));
    }

    void aShortJobIsDoneOnce()
    {
        JobScene scene;
        QVERIFY2(scene.start(), scene.product.engine->log().constData());
        QVERIFY(scene.ask({JobScene::job(u"short"_s, u"wait"_s, 1'500)}));
        QVERIFY(scene.journalSays(u"began short"_s));
        QCOMPARE(endOf(scene), 0);
        QCOMPARE(scene.times(u"done short"_s), 1);

        QVERIFY2(scene.start(), scene.product.engine->log().constData());
        QVERIFY(scene.ask({JobScene::job(u"later"_s, u"done"_s)}));
        QVERIFY(scene.journalSays(u"done later"_s));
        QCOMPARE(scene.times(u"began short"_s), 1);
    }

    void aLongJobGoesBackUncounted()
    {
        JobScene scene;
        QVERIFY2(scene.start(), scene.product.engine->log().constData());
        QVERIFY(scene.ask({JobScene::job(u"long"_s, u"wait"_s, 60'000),
                           JobScene::job(u"other"_s, u"wait"_s, 60'000),
                           JobScene::job(u"in-hand"_s, u"done"_s)}));
        QVERIFY(scene.journalSays(u"began other"_s));
        QCOMPARE(scene.jobCount(u"long"_s, u"starts"_s), 1);
        QCOMPARE(endOf(scene), 0);
        QCOMPARE(scene.times(u"began in-hand"_s), 0);

        QVERIFY2(scene.start(), scene.product.engine->log().constData());
        QVERIFY(Product::eventually(5'000, [&] { return scene.times(u"began other"_s) == 2; }));
        // The first start of this run: none of the last one was kept, nor an attempt. It needed no take-over either.
        QCOMPARE(scene.jobCount(u"long"_s, u"starts"_s), 1);
        QCOMPARE(scene.jobCount(u"long"_s, u"attempts"_s), 0);
        QCOMPARE(scene.jobCount(u"long"_s, u"deferrals"_s), 0);
        QCOMPARE(scene.times(u"done long"_s), 0);
    }

    void aSecondSignalEndsItAtOnce_data()
    {
        QTest::addColumn<QString>("how");
        QTest::newRow("a long job") << u"wait"_s;
        QTest::newRow("a plugin that holds the main thread") << u"block"_s;
    }

    void aSecondSignalEndsItAtOnce()
    {
        QFETCH(const QString, how);
        JobScene scene;
        const QByteArray shortLease = "[queue]\nlease = \"1s\"\n";
        QVERIFY2(scene.start(shortLease), scene.product.engine->log().constData());
        QVERIFY(scene.ask({JobScene::job(u"long"_s, how, 8'000)}));
        QVERIFY(scene.journalSays(u"began long"_s));
        scene.product.engine->terminate();
        QTest::qWait(300);
        QVERIFY(scene.product.engine->isRunning());
        m_timer.start();
        scene.product.engine->terminate();
        QCOMPARE(scene.product.engine->waitFinished(boundMs), cutShort);
        QVERIFY2(m_timer.elapsed() < 1'000, qPrintable(QString::number(m_timer.elapsed())));

        // What was running is taken over.
        QVERIFY2(scene.start(shortLease), scene.product.engine->log().constData());
        QVERIFY(Product::eventually(10'000, [&] { return scene.times(u"began long"_s) == 2; }));
    }

    void redisIsSilent()
    {
        JobScene scene;
        QVERIFY2(scene.start(), scene.product.engine->log().constData());
        QVERIFY(scene.ask({JobScene::job(u"long"_s, u"wait"_s, 60'000)}));
        QVERIFY(scene.journalSays(u"began long"_s));
        QVERIFY(scene.redisPid() > 0);
        QCOMPARE(::kill(pid_t(scene.redisPid()), SIGSTOP), 0);
        QCOMPARE(endOf(scene), 0);
    }

    void redisOfOthersIsSilentOrAway_data()
    {
        QTest::addColumn<bool>("silent");
        QTest::newRow("silent") << true;
        QTest::newRow("away") << false;
    }

    void redisOfOthersIsSilentOrAway()
    {
        QFETCH(const bool, silent);
        test::TestRedis redis;
        QVERIFY(redis.start());
        JobScene scene;
        QVERIFY2(scene.start("[redis]\nurl = \"" + redis.url().toUtf8() + "\"\n"),
                 scene.product.engine->log().constData());
        QVERIFY(scene.ask({JobScene::job(u"long"_s, u"wait"_s, 60'000)}));
        QVERIFY(scene.journalSays(u"began long"_s));
        if (silent)
            redis.pause();
        else
            redis.kill();
        QTest::qWait(1'500); // reconnects are under way
        QCOMPARE(endOf(scene), 0);
        redis.resume();
    }

    void whileItStarts_data()
    {
        QTest::addColumn<int>("afterMs");
        for (const int ms : {0, 20, 50, 100, 150, 200, 300, 500})
            QTest::addRow("after %d ms", ms) << ms;
    }

    void whileItStarts()
    {
        QFETCH(const int, afterMs);
        JobScene scene;
        test::Program engine(
            u"tidekeeperd"_s,
            QStringList{u"--state-dir"_s, scene.product.stateDir(), u"--listen"_s, u"127.0.0.1:0"_s},
            scene.product.folder.filePath(u"early.log"_s));
        // From then on it reads signals.
        QVERIFY(Product::eventually(10'000, [&] { return QFile::exists(scene.product.stateDir()); }));
        QTest::qWait(afterMs);
        m_timer.start();
        engine.terminate();
        QCOMPARE(engine.waitFinished(boundMs), 0);
        QVERIFY2(m_timer.elapsed() < 5'000, qPrintable(QString::number(m_timer.elapsed())));
        QVERIFY2(!engine.log().contains("tidekeeperd: "), engine.log().constData()); // no complaint
    }

    void whileItWaitsForRedis()
    {
        test::TestRedis redis;
        QVERIFY(redis.start());
        redis.pause();
        JobScene scene;
        QFile config(scene.product.folder.filePath(u"early.toml"_s));
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write("[redis]\nurl = \"" + redis.url().toUtf8() + "\"\n");
        config.close();
        test::Program engine(u"tidekeeperd"_s,
                             QStringList{u"--config"_s, config.fileName(), u"--state-dir"_s,
                                         scene.product.stateDir(), u"--listen"_s, u"127.0.0.1:0"_s},
                             scene.product.folder.filePath(u"early.log"_s));
        QTest::qWait(1'000);
        m_timer.start();
        engine.terminate();
        QCOMPARE(engine.waitFinished(boundMs), 0);
        QVERIFY(m_timer.elapsed() < 5'000);
        redis.resume();
    }
};

QTEST_GUILESS_MAIN(TestShutdown)
#include "tst_shutdown.moc"
