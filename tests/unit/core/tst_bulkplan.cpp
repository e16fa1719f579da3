// SPDX-License-Identifier: Apache-2.0
#include "core/bulkplan.h"
#include "core/planner.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

class TestBulkPlan : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void plans_data();
    void plans();
    void theStrictestProjectDecides();
};

void TestBulkPlan::plans_data()
{
    QTest::addColumn<qint64>("renewals");
    QTest::addColumn<qint64>("perMinute");
    QTest::addColumn<qint64>("perDay");
    QTest::addColumn<qint64>("workMs");
    QTest::addColumn<qint64>("estimateMs");
    QTest::addColumn<qint64>("leastSpreadMs");
    QTest::addColumn<QString>("because");
    const qint64 none = 0;
    QTest::newRow("nobody") << none << none << none << none << none << none << QString();
    QTest::newRow("no quota known") << qint64(1'000) << none << none << qint64(50'000) << qint64(50'000)
                                    << qint64(100'000) << u"consumers"_s;
    QTest::newRow("the minute binds") << qint64(1'000) << qint64(10'000) << none << qint64(50'000)
                                      << 10 * minuteMs << 20 * minuteMs << u"10,000 units in a minute"_s;
    QTest::newRow("half a day's budget may go at once")
        << qint64(1'000) << none << qint64(200'000) << none << none << none << QString();
    QTest::newRow("more than half of it may not")
        << qint64(2'000) << none << qint64(200'000) << none << none << 2 * dayMs << u"units in a day"_s;
    QTest::newRow("the engine binds")
        << qint64(1'000) << qint64(1'000'000) << none << hourMs << hourMs << 2 * hourMs << u"consumers"_s;
}

void TestBulkPlan::plans()
{
    QFETCH(qint64, renewals);
    QFETCH(qint64, perMinute);
    QFETCH(qint64, perDay);
    QFETCH(qint64, workMs);
    QFETCH(QString, because);
    const BulkPlan plan =
        bulkPlan({{{u"default"_s, renewals}}, {{u"default"_s, {perMinute, perDay}}}, 100, workMs});
    QTEST(plan.estimateMs, "estimateMs");
    QTEST(plan.leastSpreadMs, "leastSpreadMs");
    QVERIFY2(plan.because.contains(because) && plan.because.isEmpty() == because.isEmpty(),
             qPrintable(plan.because));
}

void TestBulkPlan::theStrictestProjectDecides()
{
    BulkInput input;
    input.costUnits = 100;
    input.renewals = {{u"large"_s, 10'000}, {u"small"_s, 100}, {u"unknown"_s, 5}};
    input.quotas = {{u"large"_s, {1'000'000, 0}}, {u"small"_s, {1'000, 0}}};
    const BulkPlan plan = bulkPlan(input);
    QCOMPARE(plan.estimateMs, 10 * minuteMs);
    QCOMPARE(plan.leastSpreadMs, 20 * minuteMs);
    QVERIFY(plan.because.contains(u"\"small\""_s));
}

QTEST_GUILESS_MAIN(TestBulkPlan)
#include "tst_bulkplan.moc"
