// SPDX-License-Identifier: Apache-2.0
#include "cli/simulateoptions.h"

#include <QtCore/QBuffer>
#include <QtCore/QTemporaryFile>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::cli;

/// How `tidekeeper simulate` reads its options, and that each refusal names the one it is about.
class TestSimulateOptions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void outages_data();
    void outages();
    void badOutages_data();
    void badOutages();
    void shares_data();
    void shares();
    void expiries();
    void badExpiries();
    void wholeScenario();
    void refusalsNameTheOption_data();
    void refusalsNameTheOption();
    void realExpiriesBeginNow();
    void policies();
};

void TestSimulateOptions::outages_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("trouble");
    QTest::addColumn<qint64>("lengthMs");
    QTest::addColumn<qint64>("fromMs");
    QTest::newRow("worker") << u"worker=6h@5d"_s << int(simulate::Trouble::Worker) << 6 * core::hourMs
                            << 5 * core::dayMs;
    QTest::newRow("google") << u"google=24h@10d"_s << int(simulate::Trouble::Google) << core::dayMs
                            << 10 * core::dayMs;
    QTest::newRow("network") << u"network=90m@36h"_s << int(simulate::Trouble::Network) << 90 * core::minuteMs
                             << 36 * core::hourMs;
    QTest::newRow("secret") << u"secret=2h@1d"_s << int(simulate::Trouble::Secret) << 2 * core::hourMs
                            << core::dayMs;
    QTest::newRow("grants") << u"grants=2h@1d"_s << int(simulate::Trouble::Grants) << 2 * core::hourMs
                            << core::dayMs;
    QTest::newRow("topic at once") << u"topic=30s@0s"_s << int(simulate::Trouble::Topic) << qint64(30'000)
                                   << qint64(0);
}

void TestSimulateOptions::outages()
{
    QFETCH(QString, text);
    const Result<simulate::Outage> outage = outageFrom(text);
    QVERIFY(outage);
    QTEST(int(outage->trouble), "trouble");
    QTEST(outage->lengthMs, "lengthMs");
    QTEST(outage->fromMs, "fromMs");
}

void TestSimulateOptions::badOutages_data()
{
    QTest::addColumn<QString>("text");
    for (const char *text : {"", "google", "google=24h", "google=@10d", "google=24h@", "google=0s@1d",
                             "gmail=24h@10d", "google=-1h@10d", "google=24h@tomorrow", "=24h@10d"})
        QTest::newRow(text) << QString::fromLatin1(text);
}

void TestSimulateOptions::badOutages()
{
    QFETCH(QString, text);
    const Result<simulate::Outage> outage = outageFrom(text);
    QVERIFY(!outage);
    QCOMPARE(outage.error().code, u"usage"_s);
    QVERIFY(outage.error().text.contains(u"--outage "_s + text));
    QVERIFY(outage.error().text.contains(u"google=24h@10d"_s));
}

void TestSimulateOptions::shares_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("share"); // < 0: refused
    QTest::newRow("percent") << u"2%"_s << 0.02;
    QTest::newRow("fraction") << u"0.02"_s << 0.02;
    QTest::newRow("none") << u"0"_s << 0.;
    QTest::newRow("all") << u"100%"_s << 1.;
    QTest::newRow("half a percent") << u"0.5%"_s << 0.005;
    for (const char *text : {"", "%", "2", "101%", "-1%", "few", "nan"})
        QTest::newRow(text) << QString::fromLatin1(text) << -1.;
}

void TestSimulateOptions::shares()
{
    QFETCH(QString, text);
    QFETCH(double, share);
    const Result<double> found = shareFrom(text);
    QCOMPARE(found.has_value(), share >= 0);
    if (found)
        QCOMPARE(*found, share);
}

void TestSimulateOptions::expiries()
{
    QByteArray text = "1800000000000\n\n  0  \n"
                      R"({"id": "a", "watch_expires_at": 1800000001000, "email": "a@example.com"})"
                      "\n"
                      R"({"id": "b"})";
    QBuffer lines(&text);
    QVERIFY(lines.open(QIODevice::ReadOnly));
    const Result<QList<qint64>> expiries = expiriesFrom(lines);
    QVERIFY(expiries);
    QCOMPARE(*expiries, (QList<qint64>{1'800'000'000'000, 0, 1'800'000'001'000, 0}));
}

void TestSimulateOptions::badExpiries()
{
    for (QByteArray text : {"", "\n\n", "soon", "1800000000000\n-5", "1800000000000\n{not json"}) {
        QBuffer lines(&text);
        QVERIFY(lines.open(QIODevice::ReadOnly));
        const Result<QList<qint64>> expiries = expiriesFrom(lines);
        QVERIFY2(!expiries, text);
        QVERIFY(expiries.error().text.startsWith(u"--expiries"_s));
        QCOMPARE(expiries.error().text.contains(u"line 2"_s), text.startsWith("18"));
    }
}

void TestSimulateOptions::wholeScenario()
{
    SimulateOptions options;
    options.accounts = 50;
    options.days = 3;
    options.cluster = "2h";
    options.lifetime = "5d";
    options.window = "4d";
    options.batchSize = 10;
    options.consumers = 4;
    options.callTime = "1s";
    options.outages = {"worker=6h@1d", "secret=1h@2d"};
    options.errors = "3%";
    options.revoked = "4%";
    options.lostAnswers = "5%";
    options.seed = 7;
    const Result<simulate::Scenario> scenario = scenarioOf(options, 1);
    QVERIFY(scenario);
    QCOMPARE(scenario->count(), 50);
    QCOMPARE(scenario->days, 3);
    QCOMPARE(scenario->clusterMs, 2 * core::hourMs);
    QCOMPARE(scenario->lifetimeMs, 5 * core::dayMs);
    QCOMPARE(scenario->windowMs, 4 * core::dayMs);
    QCOMPARE(scenario->batchSize, 10);
    QCOMPARE(scenario->consumers, 4);
    QCOMPARE(scenario->callMs, 1'000);
    QCOMPARE(scenario->outages.size(), 2);
    QCOMPARE(scenario->errors, 0.03);
    QCOMPARE(scenario->revoked, 0.04);
    QCOMPARE(scenario->lostAnswers, 0.05);
    QCOMPARE(scenario->seed, 7u);
    QVERIFY(scenario->startMs > 1); // a fixed moment, so that the same seed gives the same figures
}

void TestSimulateOptions::refusalsNameTheOption_data()
{
    QTest::addColumn<QString>("option");
    QTest::addColumn<SimulateOptions>("options");
    const auto row = [](const char *option, const auto &change) {
        SimulateOptions options;
        change(options);
        QTest::newRow(option) << QString::fromLatin1(option) << options;
    };
    row("--cluster", [](SimulateOptions &o) { o.cluster = "even"; });
    row("--lifetime", [](SimulateOptions &o) { o.lifetime = "0s"; });
    row("--window", [](SimulateOptions &o) { o.window = "week"; });
    row("--call-time", [](SimulateOptions &o) { o.callTime = ""; });
    row("--outage", [](SimulateOptions &o) { o.outages = {"worker=6h@1d", "worker"}; });
    row("--errors", [](SimulateOptions &o) { o.errors = "2"; });
    row("--revoked", [](SimulateOptions &o) { o.revoked = "-1%"; });
    row("--lost-answers", [](SimulateOptions &o) { o.lostAnswers = "x"; });
    row("--expiries", [](SimulateOptions &o) { o.expiries = "/nonexistent/expiries"; });
    QTest::newRow("--cluster beyond the lifetime") << u"--cluster"_s << [] {
        SimulateOptions options;
        options.cluster = "8d";
        return options;
    }();
}

void TestSimulateOptions::refusalsNameTheOption()
{
    QFETCH(QString, option);
    QFETCH(SimulateOptions, options);
    const Result<simulate::Scenario> scenario = scenarioOf(options, 1);
    QVERIFY(!scenario);
    QCOMPARE(scenario.error().code, u"usage"_s);
    QVERIFY2(scenario.error().text.startsWith(option), qPrintable(scenario.error().text));
}

void TestSimulateOptions::realExpiriesBeginNow()
{
    QTemporaryFile file;
    QVERIFY(file.open());
    file.write("1800000000000\n0\n");
    file.close();
    SimulateOptions options;
    options.expiries = file.fileName().toStdString();
    const Result<simulate::Scenario> scenario = scenarioOf(options, 1'799'999'000'000);
    QVERIFY(scenario);
    QCOMPARE(scenario->count(), 2);
    QCOMPARE(scenario->startMs, 1'799'999'000'000);
}

void TestSimulateOptions::policies()
{
    SimulateOptions options;
    QCOMPARE(policiesOf(options)->size(), 3);
    options.policies = {"ours", "expiry-day"};
    QVERIFY(*policiesOf(options)
            == (QList<simulate::PolicyKind>{simulate::PolicyKind::Ours, simulate::PolicyKind::ExpiryDay}));
    options.policies = {"theirs"};
    QVERIFY(policiesOf(options).error().text.startsWith(u"--policy theirs"_s));
}

QTEST_GUILESS_MAIN(TestSimulateOptions)
#include "tst_simulateoptions.moc"
