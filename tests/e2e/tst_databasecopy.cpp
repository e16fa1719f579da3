// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <QtCore/QDir>
#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::Product;

/// An engine on a copied database calls nothing until somebody says that it is the one to work.
class TestDatabaseCopy : public QObject {
    Q_OBJECT

private:
    static constexpr int patienceMs = 60'000;

    static QJsonObject renewalOf(Product &product)
    {
        return product.engineGet(u"/api/v1/overview"_s).body["renewal"_L1].toObject();
    }

    static QStringList problemsOf(Product &product)
    {
        QStringList codes;
        for (const QJsonValue &problem :
             product.engineGet(u"/api/v1/overview"_s).body["problems"_L1].toArray())
            codes.append(problem["code"_L1].toString());
        return codes;
    }

    static int inBand(Product &product, const QString &band)
    {
        return product.engineGet(u"/api/v1/overview"_s).body["accounts"_L1]["active_band"_L1][band].toInt();
    }

    static void endEngine(Product &product)
    {
        product.engine->terminate();
        QCOMPARE(product.engine->waitFinished(15'000), 0);
    }

    static void movedFiles(const Product &product, const QStringList &names)
    {
        const QString old = product.folder.filePath(u"original"_s);
        QVERIFY(QDir().rename(product.stateDir(), old));
        QVERIFY(QDir().mkpath(product.stateDir()));
        QVERIFY(QFile::setPermissions(product.stateDir(),
                                      QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        for (const QString &name : names)
            QVERIFY(QFile::copy(old + u'/' + name, product.stateDir() + u'/' + name));
    }

private Q_SLOTS:
    void onlyObservesUntilItIsAdopted()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY2(product.startEngine("[plugins.watch-renewal]\nmode = \"observe\"\n"),
                 product.engine->log().constData());
        QVERIFY(product.importAccounts(10));
        endEngine(product);
        movedFiles(product, {u"tidekeeper.db"_s, u"sealing.key"_s});

        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QVERIFY(
            Product::eventually(patienceMs, [&] { return problemsOf(product).contains(u"observing"_s); }));
        const QString reason = renewalOf(product)["mode_reason"_L1].toString();
        QVERIFY2(reason.contains(u"tidekeeper accounts adopt"_s), qPrintable(reason));
        QVERIFY(product.engine->log().contains("may be a copy"));
        QVERIFY(Product::eventually(
            patienceMs, [&] { return renewalOf(product)["last_scan"_L1]["due"_L1].toInt() == 10; }));
        const QJsonObject explained = product.engineGet(u"/api/v1/accounts/user-1/explain"_s).body;
        const QString why = explained["subscriptions"_L1].toArray().first()["summary"_L1].toString();
        QVERIFY2(why.contains(u"may be a copy"_s), qPrintable(why));
        QCOMPARE(product.enginePost(u"/api/v1/accounts/user-1/renew"_s).status, 409);
        QCOMPARE(product.googleTotals()["watches"_L1].toInt(), 0);
        QCOMPARE(product.googleTotals()["tokens_issued"_L1].toInt(), 0);

        const demo::JsonAnswer adopted = product.enginePost(u"/api/v1/accounts/adopt"_s);
        QVERIFY(adopted.good());
        QCOMPARE(adopted.body["adopted"_L1].toBool(), true);
        QVERIFY(Product::eventually(patienceMs, [&] { return inBand(product, u"healthy"_s) == 10; }));
        QCOMPARE(product.googleTotals()["watches"_L1].toInt(), 10);
        QVERIFY(!problemsOf(product).contains(u"observing"_s));
        QVERIFY(!product.enginePost(u"/api/v1/accounts/adopt"_s).body["adopted"_L1].toBool(true));

        const QJsonArray past =
            product.engineGet(u"/api/v1/accounts/user-1/timeline?limit=10"_s).body["entries"_L1].toArray();
        QVERIFY(!past.isEmpty());
        QCOMPARE(past.first()["kind"_L1].toString(), u"account.renewed"_s);
    }

    /// The private Redis is gone, database and engine are the same.
    void aLostRedisIsNoCopy()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QVERIFY(product.importAccounts(3));
        QVERIFY(Product::eventually(patienceMs, [&] { return inBand(product, u"healthy"_s) == 3; }));
        endEngine(product);
        QVERIFY(QDir(product.stateDir() + u"/redis"_s).removeRecursively());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QCOMPARE(renewalOf(product)["mode"_L1].toString(), u"renew"_s);
        QCOMPARE(renewalOf(product)["mode_reason"_L1].toString(), QString());
    }

    /// A restored backup on the same machine, under the same engine.
    void aRestoredBackupIsNoCopy()
    {
        Product product;
        QVERIFY(product.startGoogle());
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        endEngine(product);
        movedFiles(product, {u"tidekeeper.db"_s, u"sealing.key"_s, u"engine-id"_s});
        QVERIFY2(product.startEngine(), product.engine->log().constData());
        QCOMPARE(renewalOf(product)["mode"_L1].toString(), u"renew"_s);
    }
};

QTEST_GUILESS_MAIN(TestDatabaseCopy)
#include "tst_databasecopy.moc"
