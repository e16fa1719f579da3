// SPDX-License-Identifier: Apache-2.0
// Engines on one database, without Redis: what is changed in one is in force in the others within a second and after
// a restart, and a schedule whose plugin is gone is not forgotten.
#include "settings/schedulesettings.h"
#include "store/journal.h"
#include "support/realclock.h"
#include "support/testdatabase.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

/// One engine's schedules; its Redis is not there.
struct Side {
    redis::RedisConnection connection{redis::Endpoint()};
    redis::FunctionLibrary library{connection, "tidekeeper_queue", queue::libraryCode()};
    redis::FunctionLibrary leaseLibrary{connection, "tidekeeper_lease",
                                        redis::FunctionLibrary::embedded(u"lease.lua"_s)};
    queue::Leases leases{leaseLibrary};
    queue::JobQueue jobs{u"plugins"_s, library};
    queue::LeaderLease lease{leases, {}};
    test::RealClock clock;
    scheduler::Scheduler scheduler{clock, {&jobs}, lease};
    store::SettingsStore store;
    settings::ScheduleSettings settings;

    explicit Side(store::Database &database) : store(database), settings(store, scheduler, clock) { }
    ~Side() { QCoro::waitFor(settings.stop()); }

    void declare(const QString &id)
    {
        const QJsonObject job{{u"type"_s, u"digest"_s}};
        QVERIFY(scheduler.declare({{u"id"_s, id}, {u"interval_ms"_s, 60'000}, {u"job"_s, job}}, u"digest"_s)
                    .ok());
    }
    QJsonObject find(const QString &id) { return QCoro::waitFor(scheduler.find(id)).value_or(QJsonObject()); }
    Result<> change(const QString &id, const QJsonObject &patch)
    {
        return QCoro::waitFor(scheduler.change(id, patch, u"kim"_s));
    }
};

} // namespace

class TestScheduleSettings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aPauseReachesTheOthersWithinASecond();
    void changesAndOrphansSurviveARestart();
    void twoEnginesChangeAtOnce();
    void withoutTheDatabaseNothingChanges();
    void otherNamesAreLeftAlone();
};

void TestScheduleSettings::aPauseReachesTheOthersWithinASecond()
{
    test::TestDatabase shared;
    store::Database second(shared.url());
    QVERIFY(QCoro::waitFor(second.open()));
    Side one(shared.database());
    Side two(second);
    for (Side *side : {&one, &two}) {
        side->declare(u"s"_s);
        QCoro::waitFor(side->settings.start());
    }
    QSignalSpy changed(&two.scheduler, &scheduler::Scheduler::changed);
    QElapsedTimer timer;
    timer.start();
    QVERIFY(one.change(u"s"_s, {{u"paused"_s, true}}));
    QVERIFY(one.find(u"s"_s)[u"paused"].toBool());
    QTRY_VERIFY(two.find(u"s"_s)[u"paused"].toBool());
    QVERIFY(timer.elapsed() < 1'500);
    QCOMPARE(changed.size(), 1);
    QVERIFY(two.change(u"s"_s, {{u"paused"_s, QJsonValue()}})); // back to what was declared
    QTRY_VERIFY(!one.find(u"s"_s)[u"changed"].toBool());
    QVERIFY(!one.find(u"s"_s)[u"paused"].toBool());
}

void TestScheduleSettings::changesAndOrphansSurviveARestart()
{
    test::TestDatabase database;
    {
        Side side(database.database());
        QSignalSpy known(&side.settings, &settings::ScheduleSettings::known);
        side.declare(u"s"_s);
        QCoro::waitFor(side.settings.start());
        QCOMPARE(known.size(), 1);
        QVERIFY(side.change(u"s"_s, {{u"cron"_s, u"@daily"_s}, {u"zone"_s, u"Asia/Seoul"_s}}));
    }
    {
        Side without(database.database()); // the plugin is gone
        QCoro::waitFor(without.settings.start());
        const QJsonObject orphan = without.find(u"s"_s);
        QVERIFY(orphan[u"orphaned"].toBool());
        QCOMPARE(orphan[u"plugin"].toString(), u"digest"_s);
        QCOMPARE(orphan[u"cron"].toString(), u"@daily"_s);
        QVERIFY(without.change(u"s"_s, {{u"paused"_s, true}}));
    }
    Side again(database.database());
    again.declare(u"s"_s);
    QCoro::waitFor(again.settings.start());
    QVERIFY(!again.find(u"s"_s)[u"orphaned"].toBool());
    QVERIFY(again.find(u"s"_s)[u"paused"].toBool());
    QCOMPARE(again.find(u"s"_s)[u"zone"].toString(), u"Asia/Seoul"_s);

    Side without(database.database());
    QCoro::waitFor(without.settings.start());
    QVERIFY(QCoro::waitFor(without.settings.forget(u"s"_s, u"kim"_s)));
    QVERIFY(without.find(u"s"_s).isEmpty());
    QVERIFY(QCoro::waitFor(without.store.all(u"schedule"_s))->isEmpty());
}

void TestScheduleSettings::twoEnginesChangeAtOnce()
{
    test::TestDatabase shared;
    store::Database second(shared.url());
    QVERIFY(QCoro::waitFor(second.open()));
    Side one(shared.database());
    Side two(second);
    for (Side *side : {&one, &two}) {
        side->declare(u"s"_s);
        QCoro::waitFor(side->settings.start());
    }
    QObject receiver;
    int done = 0;
    const auto count = [&](const Result<> &result) { done += result ? 1 : 0; };
    for (int i = 1; i <= 5; ++i) {
        const QString cap = u"misfire_cap"_s;
        const QString jitter = u"jitter_ms"_s;
        one.scheduler.change(u"s"_s, {{cap, i}}, u"kim"_s).then(count);
        two.scheduler.change(u"s"_s, {{jitter, 1'000 * i}}, u"lee"_s).then(count);
        QTRY_COMPARE(done, 2 * i);
        for (Side *side : {&one, &two}) { // neither has overwritten the other
            QTRY_COMPARE(side->find(u"s"_s)[cap].toInt(), i);
            QTRY_COMPARE(side->find(u"s"_s)[jitter].toInt(), 1'000 * i);
        }
    }
}

void TestScheduleSettings::withoutTheDatabaseNothingChanges()
{
    test::TestDatabase database;
    Side side(database.database());
    side.declare(u"s"_s);
    QCoro::waitFor(side.settings.start());
    database.sql(u"ALTER TABLE settings RENAME TO elsewhere"_s);
    QCOMPARE(side.change(u"s"_s, {{u"paused"_s, true}}).error().code, u"database_unavailable"_s);
    QVERIFY(!side.find(u"s"_s)[u"paused"].toBool());
    QTRY_VERIFY(!side.settings.readProblem().isEmpty());
    database.sql(u"ALTER TABLE elsewhere RENAME TO settings"_s);
    QVERIFY(side.change(u"s"_s, {{u"paused"_s, true}}));
    QVERIFY(side.find(u"s"_s)[u"paused"].toBool());
    QVERIFY(side.settings.readProblem().isEmpty());
}

void TestScheduleSettings::otherNamesAreLeftAlone()
{
    // A declaration written by a newer version, and one whose name does not match: left as they are, and nothing stops.
    test::TestDatabase database;
    Side side(database.database());
    const QJsonObject strange{{u"plugin"_s, u"p"_s},
                              {u"schedule"_s, QJsonObject{{u"id"_s, u"x"_s}, {u"lunar"_s, 1}}}};
    QVERIFY(QCoro::waitFor(side.store.set(u"schedule_declared.x"_s, strange, u"tests"_s, 1)));
    side.declare(u"s"_s);
    QCoro::waitFor(side.settings.start());
    QVERIFY(side.find(u"x"_s).isEmpty());
    QVERIFY(!side.find(u"s"_s).isEmpty());
    QCOMPARE(QCoro::waitFor(side.store.all(u"schedule_declared.x"_s))->value(u"schedule_declared.x"_s),
             strange);
}

QTEST_GUILESS_MAIN(TestScheduleSettings)
#include "tst_schedulesettings.moc"
