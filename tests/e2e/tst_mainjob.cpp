// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <QtCore/QDateTime>
#include <QtCore/QDirIterator>
#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

#include <csignal>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::Product;

/// The product's main job with real processes: engine, private Redis, SQLite, plugins and a simulated Google.
class TestMainJob : public QObject {
    Q_OBJECT

private:
    static constexpr int patienceMs = 60'000;

    static int inBand(Product &product, const QString &band)
    {
        return product.engineGet(u"/api/v1/overview"_s).body["accounts"_L1]["active_band"_L1][band].toInt();
    }

    static QJsonObject account(Product &product, const QString &id)
    {
        return product.engineGet(u"/api/v1/accounts/"_s + id).body;
    }

    static qint64 privateRedisPid(const Product &product)
    {
        QProcess process;
        process.start(u"pgrep"_s, {u"-f"_s, u"redis-server.*"_s + product.stateDir()});
        process.waitForFinished();
        return process.readAllStandardOutput().trimmed().split('\n').first().toLongLong();
    }

private Q_SLOTS:
    void renewsWhatIsDue()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QVERIFY(product.importAccounts(40));
        QVERIFY(Product::eventually(patienceMs, [&] { return inBand(product, u"healthy"_s) == 40; }));

        const QJsonObject truth = product.googleTotals();
        QCOMPARE(truth["watches"_L1].toInt(), 40); // one call each, no more
        QCOMPARE(truth["refused"_L1].toInt(), 0);
        QCOMPARE(truth["lapses"_L1].toInt(), 0);

        const QJsonObject renewed = account(product, u"user-1"_s);
        QVERIFY(renewed["watch_expires_at"_L1].toInteger()
                > QDateTime::currentMSecsSinceEpoch() + 6 * 86'400'000LL);
        QCOMPARE(renewed["attempts"_L1].toInt(), 0);
        QVERIFY(!renewed.contains("refresh_token"_L1));

        product.engine->terminate();
        QCOMPARE(product.engine->waitFinished(15'000), 0);
        QCOMPARE(privateRedisPid(product), 0);
        QVERIFY(!QFile::exists(product.stateDir() + u"/endpoint"_s));
    }

    void onlyARevokedGrantIsLost()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY(product
                    .googlePost(u"/sim/faults"_s,
                                {{u"kind"_s, u"revoked"_s}, {u"account"_s, u"user-2@example.com"_s}})
                    .good());
        QVERIFY(product
                    .googlePost(u"/sim/faults"_s,
                                {{u"kind"_s, u"error"_s},
                                 {u"methods"_s, QJsonArray{u"gmail.users.watch"_s}},
                                 {u"account"_s, u"user-3@example.com"_s},
                                 {u"status"_s, 503}})
                    .good());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QVERIFY(product.importAccounts(5));
        QVERIFY(Product::eventually(patienceMs, [&] {
            return account(product, u"user-2"_s)["state"_L1] == "needs_reauth"_L1
                && account(product, u"user-3"_s)["attempts"_L1].toInt() == 1
                && inBand(product, u"healthy"_s) == 3;
        }));

        const QJsonObject revoked = account(product, u"user-2"_s);
        QCOMPARE(revoked["error"_L1]["class"_L1].toString(), u"revoked"_s);
        QCOMPARE(revoked["error"_L1]["code"_L1].toString(), u"invalid_grant"_s);
        const QJsonObject failing = account(product, u"user-3"_s);
        QCOMPARE(failing["state"_L1].toString(), u"active"_s);
        QCOMPARE(failing["error"_L1]["class"_L1].toString(), u"transient"_s);
        QVERIFY(failing["has_refresh_token"_L1].toBool());
        QVERIFY(failing["next_attempt_at"_L1].toInteger() > QDateTime::currentMSecsSinceEpoch());
    }

    // A wrong secret of ours is the operator's fault, not the users' (semaphoreio/semaphore#1193).
    void wrongClientSecretCostsNoGrant()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY(product.googlePost(u"/sim/faults"_s, {{u"kind"_s, u"wrong_client_secret"_s}}).good());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QVERIFY(product.importAccounts(30));
        demo::JsonAnswer ready;
        QVERIFY(Product::eventually(patienceMs, [&] {
            ready = product.engineGet(u"/readyz"_s);
            return ready.status == 503;
        }));
        QVERIFY(QJsonDocument(ready.body).toJson().contains("invalid_client"));
        const QJsonObject state =
            product.engineGet(u"/api/v1/overview"_s).body["accounts"_L1]["state"_L1].toObject();
        QCOMPARE(state["active"_L1].toInt(), 30);
        // The first failures open the breaker; the rest wait without asking Google.
        QVERIFY(product.googleTotals()["token_errors"_L1].toInt() <= 4);
    }

    void killedEngineLeavesNothingUndone()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY(product.googlePost(u"/sim/settings"_s, {{u"latency_ms"_s, 150}}).good());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QVERIFY(product.importAccounts(60));
        QVERIFY(Product::eventually(patienceMs,
                                    [&] { return product.googleTotals()["watches"_L1].toInt() > 10; }));
        product.engine->kill();
        const qint64 orphan = privateRedisPid(product);
        QVERIFY(product.googleTotals()["watches"_L1].toInt() < 60);

        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QVERIFY(Product::eventually(patienceMs, [&] { return inBand(product, u"healthy"_s) == 60; }));
        // Only what was in work when it was killed may have been asked for twice.
        QVERIFY(product.googleTotals()["watches"_L1].toInt() <= 62);
        QCOMPARE(product.googleTotals()["refused"_L1].toInt(), 0);
        const qint64 now = privateRedisPid(product);
        QVERIFY(now != 0);
        QVERIFY(orphan == 0 || now == orphan || ::kill(pid_t(orphan), 0) != 0);
        QVERIFY(product.engineGet(u"/api/v1/queues/renew/dead"_s).body["total"_L1].toInt() == 0);
    }

    void whatIsSwitchedOffIsSaid()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        const auto problems = [&product] {
            QStringList codes;
            for (const QJsonValue &problem :
                 product.engineGet(u"/api/v1/overview"_s).body["problems"_L1].toArray())
                codes.append(problem["code"_L1].toString());
            return codes;
        };
        QVERIFY(Product::eventually(patienceMs, [&] { return problems().isEmpty(); }));
        QVERIFY(product.enginePost(u"/api/v1/schedules/renewal-scan/pause"_s).good());
        QCOMPARE(problems(), QStringList{u"scan_paused"_s});
        QVERIFY(product.enginePost(u"/api/v1/schedules/renewal-scan/resume"_s).good());
        QCOMPARE(problems(), QStringList());
        product.engine.reset();
        QVERIFY(product.startEngine("[plugins.watch-renewal]\nmode = \"observe\"\n"));
        QVERIFY(Product::eventually(patienceMs, [&] { return problems() == QStringList{u"observing"_s}; }));
    }

    /// Neither a secret nor an address in the log, in Redis or in the process list.
    void keepsSecretsToItself()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY2(product.startEngine("[log]\nlevel = \"debug\"\n"), product.engine->log().constData());
        QVERIFY(product.importAccounts(5));
        QVERIFY(Product::eventually(patienceMs, [&] { return inBand(product, u"healthy"_s) == 5; }));
        product.enginePost(u"/api/v1/limiters/gmail/acquire"_s,
                           {{u"account"_s, u"user-1@example.com"_s}, {u"cost"_s, 10}, {u"id"_s, u"abc"_s}});
        QProcess processes;
        processes.start(u"ps"_s, {u"axww"_s, u"-o"_s, u"args"_s});
        processes.waitForFinished();
        product.engine->terminate();
        QCOMPARE(product.engine->waitFinished(15'000), 0);

        QByteArray outputs = product.engine->log() + processes.readAllStandardOutput();
        QDirIterator redisFiles(product.stateDir() + u"/redis"_s, QDir::Files, QDirIterator::Subdirectories);
        int files = 0;
        while (redisFiles.hasNext()) {
            QFile file(redisFiles.next());
            if (file.open(QIODevice::ReadOnly)) {
                outputs += file.readAll();
                ++files;
            }
        }
        QVERIFY(files > 1 && outputs.contains("tk:{"));
        QList<QByteArray> secrets{product.adminToken, "sim-secret"};
        for (const QByteArray &line : product.importedLines.trimmed().split('\n')) {
            const QJsonObject account = QJsonDocument::fromJson(line).object();
            secrets << account["refresh_token"_L1].toString().toUtf8()
                    << account["email"_L1].toString().toUtf8();
        }
        QCOMPARE(secrets.size(), 12);
        for (const QByteArray &secret : secrets)
            QVERIFY2(!outputs.contains(secret), secret.constData());
    }
};

QTEST_GUILESS_MAIN(TestMainJob)
#include "tst_mainjob.moc"
