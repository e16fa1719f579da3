// SPDX-License-Identifier: Apache-2.0
#include "decide/preset.h"
#include "decide/price.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace gmailquota;
using tidekeeper::QuotaRequest;
using tidekeeper::Status;

class TestDecide : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void costs_data();
    void costs();
    void unknownMethodsNameTheirNeighbours_data();
    void unknownMethodsNameTheirNeighbours();
    void prices_data();
    void prices();
    void presets_data();
    void presets();
    void daysOfPresets();
    void costsOfOnesOwn();
    void badProjects_data();
    void badProjects();
};

void TestDecide::costs_data()
{
    QTest::addColumn<int>("legacy");
    QTest::addColumn<int>("of2026");
    const auto row = [](const char *method, int legacy, int of2026) {
        QTest::newRow(method) << legacy << of2026;
    };
    // The six that changed on 1 May 2026.
    row("drafts.get", 5, 20);
    row("messages.get", 5, 20);
    row("messages.attachments.get", 5, 20);
    row("messages.trash", 5, 20);
    row("threads.get", 10, 40);
    row("threads.trash", 10, 20);
    // Others that a mail product calls.
    row("threads.list", 10, 10);
    row("messages.list", 5, 5);
    row("messages.send", 100, 100);
    row("messages.batchModify", 50, 50);
    row("messages.import", 25, 25);
    row("history.list", 2, 2);
    row("getProfile", 1, 1);
    row("watch", 100, 100);
    row("stop", 50, 50);
    row("settings.sendAs.verify", 100, 100);
    row("settings.updatePop", 100, 100);
    row("settings.filters.create", 5, 5);
    // Not listed in the new table: it costs what it cost before.
    row("threads.untrash", 10, 10);
}

void TestDecide::costs()
{
    QFETCH(int, legacy);
    QFETCH(int, of2026);

    const QString method = u"gmail.users."_s + QString::fromLatin1(QTest::currentDataTag());
    QCOMPARE(CostTable(CostTable::Generation::Legacy).cost(method), std::optional<qint64>(legacy));
    QCOMPARE(CostTable(CostTable::Generation::Of2026).cost(method), std::optional<qint64>(of2026));
}

void TestDecide::unknownMethodsNameTheirNeighbours_data()
{
    QTest::addColumn<QString>("method");
    QTest::addColumn<QString>("near"); // the best one; empty: none
    QTest::newRow("singular") << u"gmail.users.thread.get"_s << u"gmail.users.threads.get"_s;
    QTest::newRow("without prefix") << u"threads.get"_s << u"gmail.users.threads.get"_s;
    QTest::newRow("upper case") << u"GMAIL.USERS.WATCH"_s << u"gmail.users.watch"_s;
    QTest::newRow("typo") << u"gmail.users.mesages.send"_s << u"gmail.users.messages.send"_s;
    QTest::newRow("settings") << u"gmail.users.settings.getPopp"_s << u"gmail.users.settings.getPop"_s;
    QTest::newRow("something else") << u"calendar.events.quickAdd"_s << QString();
    QTest::newRow("empty name") << u"gmail.users."_s << QString();
    QTest::newRow("very long") << QString(100'000, u'x') << QString();
}

void TestDecide::unknownMethodsNameTheirNeighbours()
{
    QFETCH(QString, method);
    QFETCH(QString, near);

    QuotaRequest request;
    request.method = method;
    qint64 cost = 0;
    const Status status = price(CostTable(CostTable::Generation::Of2026), request, &cost);
    QCOMPARE(status.code, u"unknown_method"_s);
    const QJsonArray names = status.details["near"_L1].toArray();
    QCOMPARE(names.isEmpty() ? QString() : names.first().toString(), near);
    QVERIFY(names.size() <= 3);
    QCOMPARE(status.text.contains(u"Did you mean"_s), !near.isEmpty());
}

void TestDecide::prices_data()
{
    QTest::addColumn<QString>("method");
    QTest::addColumn<qint64>("cost");
    QTest::addColumn<qint64>("count");
    QTest::addColumn<qint64>("price"); // −1: refused
    QTest::addColumn<QString>("field");
    const QString get = u"gmail.users.threads.get"_s;
    QTest::newRow("method") << get << qint64(-1) << qint64(1) << qint64(40) << QString();
    QTest::newRow("batch") << get << qint64(-1) << qint64(50) << qint64(2'000) << QString();
    QTest::newRow("largest batch") << get << qint64(-1) << qint64(1'000) << qint64(40'000) << QString();
    QTest::newRow("plain") << QString() << qint64(7) << qint64(1) << qint64(7) << QString();
    QTest::newRow("nothing to take") << QString() << qint64(0) << qint64(1) << qint64(0) << QString();
    QTest::newRow("both") << get << qint64(7) << qint64(1) << qint64(-1) << u"cost"_s;
    QTest::newRow("neither") << QString() << qint64(-1) << qint64(1) << qint64(-1) << u"method"_s;
    QTest::newRow("count 0") << get << qint64(-1) << qint64(0) << qint64(-1) << u"count"_s;
    QTest::newRow("count 1001") << get << qint64(-1) << qint64(1'001) << qint64(-1) << u"count"_s;
    QTest::newRow("count of a cost") << QString() << qint64(7) << qint64(2) << qint64(-1) << u"count"_s;
}

void TestDecide::prices()
{
    QFETCH(QString, method);
    QFETCH(qint64, cost);
    QFETCH(qint64, count);
    QFETCH(qint64, price);
    QFETCH(QString, field);

    QuotaRequest request;
    request.method = method;
    request.cost = cost;
    request.count = count;
    qint64 units = -1;
    const Status status = gmailquota::price(CostTable(CostTable::Generation::Of2026), request, &units);
    QCOMPARE(units, price);
    QCOMPARE(status.ok(), price >= 0);
    if (price < 0) {
        QCOMPARE(status.code, u"invalid_request"_s);
        QCOMPARE(status.details["field"_L1].toString(), field);
    }
}

void TestDecide::presets_data()
{
    QTest::addColumn<QJsonObject>("project");
    QTest::addColumn<QList<qint64>>(
        "numbers"); // published, published, capacity, refill, capacity, refill, threads.get
    QTest::newRow("default") << QJsonObject{}
                             << QList<qint64>{6'000, 1'200'000, 360, 5'450, 72'000, 1'090'000, 40};
    QTest::newRow("2026") << QJsonObject{{u"preset"_s, u"gmail-2026"_s}}
                          << QList<qint64>{6'000, 1'200'000, 360, 5'450, 72'000, 1'090'000, 40};
    QTest::newRow("legacy") << QJsonObject{{u"preset"_s, u"gmail-legacy"_s}}
                            << QList<qint64>{15'000, 1'200'000, 900, 13'625, 72'000, 1'090'000, 10};
    QTest::newRow("one number") << QJsonObject{{u"preset"_s, u"gmail-legacy"_s}, {u"account_capacity"_s, 500}}
                                << QList<qint64>{15'000, 1'200'000, 500, 13'625, 72'000, 1'090'000, 10};
    QJsonObject custom{{u"preset"_s, u"custom"_s},          {u"account_capacity"_s, 1},
                       {u"account_refill_per_minute"_s, 2}, {u"project_capacity"_s, 3},
                       {u"project_refill_per_minute"_s, 4}, {u"costs"_s, u"gmail-legacy"_s}};
    QTest::newRow("custom, old costs") << custom << QList<qint64>{15'000, 1'200'000, 1, 2, 3, 4, 10};
    custom[u"published_account"_s] = 0;
    custom[u"published_project"_s] = 5;
    custom[u"method_costs"_s] = QJsonObject{{u"gmail.users.threads.get"_s, 12}};
    QTest::newRow("custom, all given") << custom << QList<qint64>{0, 5, 1, 2, 3, 4, 12};
    QTest::newRow("custom") << QJsonObject{{u"preset"_s, u"custom"_s},
                                           {u"account_capacity"_s, 1},
                                           {u"account_refill_per_minute"_s, 2},
                                           {u"project_capacity"_s, 3},
                                           {u"project_refill_per_minute"_s, 4}}
                            << QList<qint64>{6'000, 1'200'000, 1, 2, 3, 4, 40};
}

void TestDecide::presets()
{
    QFETCH(QJsonObject, project);
    QFETCH(QList<qint64>, numbers);

    ProjectQuota quota;
    QVERIFY(quotaOf(u"default"_s, project, &quota).ok());
    const QList<qint64> got{quota.publishedAccount,
                            quota.publishedProject,
                            quota.accountCapacity,
                            quota.accountRefill,
                            quota.projectCapacity,
                            quota.projectRefill,
                            quota.costs.cost(u"gmail.users.threads.get"_s).value()};
    QCOMPARE(got, numbers);
    QCOMPARE(quota.costs.dearest().cost, 100);
    QCOMPARE(quota.costs.cost(quota.costs.dearest().method), std::optional<qint64>(100));
}

void TestDecide::daysOfPresets()
{
    const auto budget = [](const QJsonObject &project) {
        ProjectQuota quota;
        return quotaOf(u"default"_s, project, &quota).ok() ? quota.dayBudget : -1;
    };
    QCOMPARE(budget({}), 80'000'000);
    QCOMPARE(budget({{u"preset"_s, u"gmail-legacy"_s}}), 0);
    QCOMPARE(budget({{u"preset"_s, u"gmail-legacy"_s}, {u"day_budget"_s, 5}}), 5);
    QCOMPARE(budget({{u"day_budget"_s, 0}}), 0);
}

void TestDecide::costsOfOnesOwn()
{
    CostTable costs(CostTable::Generation::Of2026);
    costs.replace(u"gmail.users.labels.patch"_s, 150);
    costs.replace(u"gmail.users.watch"_s, 1);
    QCOMPARE(costs.cost(u"gmail.users.labels.patch"_s), std::optional<qint64>(150));
    QCOMPARE(costs.cost(u"gmail.users.watch"_s), std::optional<qint64>(1));
    QCOMPARE(costs.cost(u"gmail.users.threads.get"_s), std::optional<qint64>(40));
    QCOMPARE(costs.dearest().method, u"gmail.users.labels.patch"_s);
    QCOMPARE(costs.dearest().cost, 150);
    QCOMPARE(costs.nearest(u"labels.ptch"_s).first(), u"gmail.users.labels.patch"_s);
}

void TestDecide::badProjects_data()
{
    QTest::addColumn<QJsonObject>("project");
    QTest::addColumn<QString>("field");
    QTest::newRow("preset") << QJsonObject{{u"preset"_s, u"gmail-2025"_s}}
                            << u"google.projects.mine.preset"_s;
    const QJsonObject custom{{u"preset"_s, u"custom"_s},
                             {u"account_capacity"_s, 1},
                             {u"account_refill_per_minute"_s, 2},
                             {u"project_capacity"_s, 3},
                             {u"project_refill_per_minute"_s, 4}};
    const auto with = [&](const QString &key, const QJsonValue &value) {
        QJsonObject project = custom;
        project[key] = value;
        return project;
    };
    QTest::newRow("costs") << with(u"costs"_s, u"custom"_s) << u"google.projects.mine.costs"_s;
    QTest::newRow("costs as a number") << with(u"costs"_s, 5) << u"google.projects.mine.costs"_s;
    QTest::newRow("published") << with(u"published_account"_s, -1)
                               << u"google.projects.mine.published_account"_s;
    QTest::newRow("day budget") << QJsonObject{{u"day_budget"_s, -1}} << u"google.projects.mine.day_budget"_s;
    QTest::newRow("day action") << QJsonObject{{u"day_action"_s, u"stop"_s}}
                                << u"google.projects.mine.day_action"_s;
    QTest::newRow("custom needs all") << QJsonObject{{u"preset"_s, u"custom"_s}, {u"account_capacity"_s, 1}}
                                      << u"google.projects.mine.account_refill_per_minute"_s;
    for (const QJsonValue &value : {QJsonValue(0), QJsonValue(1.5), QJsonValue(u"1"_s), QJsonValue(2e9)})
        QTest::addRow("capacity %s", qPrintable(value.toVariant().toString()))
            << QJsonObject{{u"project_capacity"_s, value}} << u"google.projects.mine.project_capacity"_s;
}

void TestDecide::badProjects()
{
    QFETCH(QJsonObject, project);
    QFETCH(QString, field);

    ProjectQuota quota;
    const Status status = quotaOf(u"mine"_s, project, &quota);
    QCOMPARE(status.code, u"bad_configuration"_s);
    QCOMPARE(status.details["field"_L1].toString(), field);
}

QTEST_APPLESS_MAIN(TestDecide)
#include "tst_decide.moc"
