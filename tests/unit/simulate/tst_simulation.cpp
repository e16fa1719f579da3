// SPDX-License-Identifier: Apache-2.0
#include "simulate/simulation.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::simulate;

namespace {

/// A thousand watches that expire within one hour, and sixteen days of this trouble.
Scenario scenarioWith(QList<Outage> outages, double errors = 0, double revoked = 0)
{
    Scenario scenario;
    scenario.accounts = 1'000;
    scenario.days = 16;
    scenario.outages = std::move(outages);
    scenario.errors = errors;
    scenario.revoked = revoked;
    return scenario;
}

const Outage worker{Trouble::Worker, 13 * core::dayMs / 2, 6 * core::hourMs};
const Outage google{Trouble::Google, 13 * core::dayMs, 24 * core::hourMs};
const Outage network{Trouble::Network, 13 * core::dayMs, 24 * core::hourMs};
const Outage secret{Trouble::Secret, 21 * core::dayMs / 2, 2 * core::hourMs};
const Outage grants{Trouble::Grants, 21 * core::dayMs / 2, 2 * core::hourMs};
const Outage topic{Trouble::Topic, 21 * core::dayMs / 2, 2 * core::hourMs};

} // namespace

class TestSimulation : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void oursReachesItsGoals_data();
    void oursReachesItsGoals();
    void expiryDayLapsesWithItsWorker();
    void fiftyPerHourIsTooSlowAndLosesGoodGrants();
    void revokedGrantsAreNeitherLapsedNorLost();
    void whoBeginsWithoutAWatchLacksOne();
    void sameSeedSameFigures();
};

void TestSimulation::oursReachesItsGoals_data()
{
    QTest::addColumn<Scenario>("scenario");
    QTest::newRow("calm") << scenarioWith({});
    QTest::newRow("worker") << scenarioWith({worker});
    QTest::newRow("google") << scenarioWith({google});
    QTest::newRow("network") << scenarioWith({network});
    QTest::newRow("errors") << scenarioWith({}, 0.02);
    QTest::newRow("revoked") << scenarioWith({}, 0, 0.01);
    QTest::newRow("secret") << scenarioWith({secret}); // semaphoreio/semaphore#1193
    QTest::newRow("grants") << scenarioWith({grants}); // xorbitsai/xagent#1988
    QTest::newRow("topic") << scenarioWith({topic}); // googleapis/google-api-nodejs-client#3593
    QTest::newRow("all") << scenarioWith({worker, google, secret}, 0.02, 0.01);
}

void TestSimulation::oursReachesItsGoals()
{
    QFETCH(Scenario, scenario);
    // Calls of the few renewals that a small installation may begin together: of ten thousand accounts they do not show.
    constexpr int atOnce = 2 * 20;
    const Figures ours = simulate::simulate(scenario, PolicyKind::Ours);
    QCOMPARE(ours.lapsed, 0);
    QCOMPARE(ours.lapseMs, 0);
    QCOMPARE(ours.grantsLost, 0);
    QVERIFY2(ours.peakPerHour <= 2 * ours.meanPerHour + atOnce,
             qPrintable(QString::number(ours.peakPerHour)));
    QVERIFY2(ours.recoveryPeakPerHour <= 4 * ours.meanPerHour,
             qPrintable(QString::number(ours.recoveryPeakPerHour)));
    // It did work: everybody is renewed about once a day, a token and a watch each time.
    QVERIFY(ours.meanPerHour > 0.9 * 2 * scenario.accounts / 24);
}

void TestSimulation::expiryDayLapsesWithItsWorker()
{
    const Figures calm = simulate::simulate(scenarioWith({}), PolicyKind::ExpiryDay);
    QCOMPARE(calm.lapsed, 0);
    QVERIFY(calm.peakRatio() > 50); // all in one hour
    // The run of the very day of expiry falls into an outage.
    Scenario scenario = scenarioWith({google});
    QVERIFY(simulate::simulate(scenario, PolicyKind::ExpiryDay).lapsed > scenario.accounts / 2);
    scenario = scenarioWith({worker});
    QVERIFY(simulate::simulate(scenario, PolicyKind::ExpiryDay).lapsed > scenario.accounts / 2);
}

void TestSimulation::fiftyPerHourIsTooSlowAndLosesGoodGrants()
{
    // Fifty an hour are 8,400 in a week.
    Scenario many = scenarioWith({});
    many.accounts = 10'000;
    many.days = 8;
    QVERIFY(simulate::simulate(many, PolicyKind::FiftyPerHour).lapsed > 1'000);
    // langgenius/dify#41162: any error of a refresh throws a good grant away.
    const Figures figures =
        simulate::simulate(scenarioWith({google, secret}, 0.02), PolicyKind::FiftyPerHour);
    QVERIFY(figures.grantsLost > 20);
}

void TestSimulation::revokedGrantsAreNeitherLapsedNorLost()
{
    const Figures all = simulate::simulate(scenarioWith({}, 0, 1), PolicyKind::Ours);
    QCOMPARE(all.grantsLost, 0); // each was given up by its user
}

void TestSimulation::whoBeginsWithoutAWatchLacksOne()
{
    Scenario scenario;
    scenario.days = 1;
    scenario.expiries = {0, scenario.startMs + 3 * core::dayMs};
    scenario.outages = {{Trouble::Worker, 0, core::hourMs}};
    const Figures ours = simulate::simulate(scenario, PolicyKind::Ours);
    QCOMPARE(ours.lapsed, 1);
    QVERIFY(ours.lapseMs >= core::hourMs);
    QVERIFY(ours.lapseMs < core::hourMs + 2 * core::minuteMs);
}

void TestSimulation::sameSeedSameFigures()
{
    Scenario scenario = scenarioWith({google}, 0.05, 0.05);
    scenario.accounts = 200;
    for (const PolicyKind kind : allPolicies) {
        const QJsonObject first = simulate::simulate(scenario, kind).toJson();
        QCOMPARE(simulate::simulate(scenario, kind).toJson(), first);
    }
    const QJsonObject first = simulate::simulate(scenario, PolicyKind::Ours).toJson();
    ++scenario.seed;
    QVERIFY(simulate::simulate(scenario, PolicyKind::Ours).toJson() != first);
}

QTEST_GUILESS_MAIN(TestSimulation)
#include "tst_simulation.moc"
