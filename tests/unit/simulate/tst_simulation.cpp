// SPDX-License-Identifier: Apache-2.0
#include "simulate/simulation.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::simulate;

class TestSimulation : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void goals_data();
    void goals();
};

void TestSimulation::goals_data()
{
    QTest::addColumn<Scenario>("scenario");
    const auto row = [](const char *name, QList<Outage> outages, double errors = 0, double revoked = 0) {
        Scenario scenario;
        scenario.outages = std::move(outages);
        scenario.errors = errors;
        scenario.revoked = revoked;
        QTest::newRow(name) << scenario;
    };
    const Outage worker{Trouble::Worker, 13 * core::dayMs / 2, 6 * core::hourMs};
    const Outage google{Trouble::Google, 13 * core::dayMs, 24 * core::hourMs};
    const Outage secret{Trouble::Secret, 41 * core::dayMs / 2, 2 * core::hourMs};
    const Outage grants{Trouble::Grants, 41 * core::dayMs / 2, 2 * core::hourMs};
    const Outage topic{Trouble::Topic, 41 * core::dayMs / 2, 2 * core::hourMs};
    const Outage network{Trouble::Network, 13 * core::dayMs, 24 * core::hourMs};
    row("calm", {});
    row("worker", {worker});
    row("google", {google});
    row("network", {network});
    row("errors", {}, 0.02);
    row("revoked", {}, 0, 0.01);
    row("secret", {secret});
    row("grants", {grants});
    row("topic", {topic});
    row("all", {worker, google, secret}, 0.02, 0.01);
}

void TestSimulation::goals()
{
    QFETCH(Scenario, scenario);
    for (const PolicyKind kind : allPolicies) {
        QElapsedTimer timer;
        timer.start();
        const Figures f = simulate::simulate(scenario, kind);
        qDebug() << f.policy << "lapsed" << f.lapsed << "min" << f.lapseMs / 60000 << "lost" << f.grantsLost
                 << "mean" << f.meanPerHour << "peak" << f.peakPerHour << f.peakRatio() << "rec"
                 << f.recoveryPeakPerHour << f.recoveryPeakRatio() << "ms" << timer.elapsed();
    }
}

QTEST_GUILESS_MAIN(TestSimulation)
#include "tst_simulation.moc"
