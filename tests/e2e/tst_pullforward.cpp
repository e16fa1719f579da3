// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::Product;

namespace {

constexpr int accountCount = 200;
constexpr int spreadMs = 60'000; // the least that the engine takes
constexpr int patienceMs = 30'000;

} // namespace

/// As after a change of the topic: every watch is renewed out of turn, with real processes.
class TestPullForward : public QObject {
    Q_OBJECT

private:
    int watches() { return m_product.googleTotals()[u"watches"_s].toInt(); }
    int renewedAgain() { return watches() - accountCount; }

    Product m_product;

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_product.startGoogle());
        // Each second, so that the test sees the spread of the targets and not that of the scans.
        QVERIFY2(m_product.startEngine("[plugins.watch-renewal]\ncron = \"* * * * * *\"\n"),
                 m_product.engine->log().constData());
        QVERIFY(m_product.importAccounts(accountCount));
        QVERIFY(Product::eventually(patienceMs, [&] {
            const QJsonObject healthy = m_product.engineGet(u"/api/v1/accounts?limit=1&band=healthy"_s).body;
            return healthy["total"_L1].toInt() == accountCount;
        }));
        QCOMPARE(watches(), accountCount);
    }

    void watchesAreSpreadAndNoneIsRenewedTwice()
    {
        const QJsonObject all{{u"filter"_s, QJsonObject()}, {u"spread_ms"_s, spreadMs}};
        const demo::JsonAnswer pulled = m_product.enginePost(u"/api/v1/accounts/renew"_s, all);
        QVERIFY2(pulled.good(), qPrintable(pulled.body["detail"_L1].toString()));
        QCOMPARE(pulled.body["scheduled"_L1].toInt(), accountCount);
        QElapsedTimer since;
        since.start();
        // A second request while it goes on moves nobody back and adds no call.
        QVERIFY(m_product.enginePost(u"/api/v1/accounts/renew"_s, all).good());

        for (const int part : {25, 50, 75}) {
            QTest::qWait(std::max<int>(0, part * spreadMs / 100 - int(since.elapsed())));
            const int share = renewedAgain() * 100 / accountCount;
            QVERIFY2(share > part - 20 && share < part + 20,
                     qPrintable(u"%1 % after %2 % of the time"_s.arg(share).arg(part)));
        }
        QVERIFY(Product::eventually(patienceMs, [&] { return watches() == 2 * accountCount; }));
        QTest::qWait(3'000); // some scans later
        QCOMPARE(watches(), 2 * accountCount);
        const QJsonArray accounts = m_product.googleGet(u"/sim/state"_s).body["accounts"_L1].toArray();
        QCOMPARE(accounts.size(), accountCount);
        for (const QJsonValue &account : accounts)
            QCOMPARE(account["watches"_L1].toArray().size(), 2);
    }
};

QTEST_GUILESS_MAIN(TestPullForward)
#include "tst_pullforward.moc"
