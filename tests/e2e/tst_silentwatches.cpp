// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::Product;

/// A Google that accepts watches and pushes nothing, with real processes and short times.
class TestSilentWatches : public QObject {
    Q_OBJECT

private:
    static constexpr int patienceMs = 30'000;

    QJsonObject pushes() { return m_product.engineGet(u"/api/v1/overview"_s).body["pushes"_L1].toObject(); }
    bool isProblem(const QString &code)
    {
        const QJsonArray problems = m_product.engineGet(u"/api/v1/overview"_s).body["problems"_L1].toArray();
        return std::any_of(problems.begin(), problems.end(),
                           [&](const QJsonValue &problem) { return problem["code"_L1] == code; });
    }
    QJsonObject account(const QString &id) { return m_product.engineGet(u"/api/v1/accounts/"_s + id).body; }
    QString stateOf(const QString &id) { return account(id)["push"_L1]["state"_L1].toString(); }
    bool report(const QString &id)
    {
        const QJsonObject push{{u"email"_s, id + u"@example.com"_s}, {u"history_id"_s, ++m_historyId}};
        return m_product.enginePost(u"/api/v1/pushes"_s, push).good();
    }
    bool isRenewedAfter(const QString &id, qint64 before)
    {
        return account(id)["last_success_at"_L1].toInteger() > before;
    }

    Product m_product;
    qint64 m_historyId = 1'000'000;

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_product.startGoogle());
        QVERIFY2(m_product.startEngine("[push]\nproven_within = \"2s\"\nbroken_after = \"4s\"\n"),
                 m_product.engine->log().constData());
        QVERIFY(m_product.importAccounts(2));
        QVERIFY(Product::eventually(
            patienceMs, [&] { return isRenewedAfter(u"user-1"_s, 0) && isRenewedAfter(u"user-2"_s, 0); }));
    }

    void offUntilTheFirstPush()
    {
        QCOMPARE(pushes()["on"_L1].toBool(), false);
        QCOMPARE(stateOf(u"user-1"_s), u"unproven"_s);
    }

    void aPushProves()
    {
        QVERIFY(report(u"user-1"_s));
        QCOMPARE(stateOf(u"user-1"_s), u"proven"_s);
        QVERIFY(Product::eventually(patienceMs, [&] { return pushes()["proven"_L1].toInt() == 1; }));
        QVERIFY(!isProblem(u"push_path_broken"_s));
    }

    void renewalsWithoutPushesBreakThePath()
    {
        const qint64 before = account(u"user-1"_s)["last_success_at"_L1].toInteger();
        QTest::qWait(1'500); // beyond what a push may be early
        QVERIFY(m_product.enginePost(u"/api/v1/accounts/user-1/renew"_s).good());
        QVERIFY(Product::eventually(patienceMs, [&] { return isRenewedAfter(u"user-1"_s, before); }));
        QVERIFY(Product::eventually(patienceMs, [&] { return isProblem(u"push_path_broken"_s); }));
        QCOMPARE(stateOf(u"user-1"_s), u"silent"_s);
        QCOMPARE(m_product.engine->log().count("push.path_broken"), 1);
    }

    void pushesMendIt()
    {
        QVERIFY(report(u"user-1"_s));
        QCOMPARE(stateOf(u"user-1"_s), u"proven"_s);
        QVERIFY(Product::eventually(patienceMs, [&] { return !isProblem(u"push_path_broken"_s); }));
        QVERIFY(Product::eventually(
            patienceMs, [&] { return m_product.engine->log().count("push.path_recovered") == 1; }));
        QVERIFY(!m_product.engine->log().contains("user-1@example.com"));
    }
};

QTEST_GUILESS_MAIN(TestSilentWatches)
#include "tst_silentwatches.moc"
