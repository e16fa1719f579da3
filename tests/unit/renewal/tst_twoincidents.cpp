// SPDX-License-Identifier: Apache-2.0
// Two engines, one database, one Redis: what stops many accounts is decided, told and probed once.
#include "fakes.h"
#include "queueredis.h"
#include "renewal/attemptshare.h"
#include "renewal/incidents.h"
#include "store/accountstore.h"
#include "store/grantstore.h"
#include "support/testdatabase.h"

#include <QtCore/QDateTime>
#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::renewal;
using namespace tidekeeper::renewal::test;
using EventList = QList<std::pair<QString, QJsonObject>>;

namespace {

constexpr int soonMs = 10'000;

core::Outcome revoked()
{
    return core::Outcome::revoked(u"invalid_grant"_s, u"Token has been expired or revoked."_s);
}

core::Outcome wrongSecret()
{
    return core::Outcome::configuration(core::FaultScope::Client, u"invalid_client"_s, u"Wrong secret."_s,
                                        u"Mend it."_s);
}

core::Outcome renewed()
{
    core::Outcome outcome;
    outcome.kind = core::OutcomeKind::Renewed;
    return outcome;
}

/// One engine's part in incidents, with connections of its own. EventList go to a list that all share.
struct Side {
    Side(World &world, store::Database &database, const tidekeeper::test::QueueRedis &redis,
         EventList &events)
        : store(database), connection(redis.endpoint(), {.commandTimeoutMs = 2'000}),
          share(connection, world.clock), ports(world.ports()), own(portsWith(world, events)), incidents(own)
    {
        QObject::connect(&share, &AttemptShare::arrived, &incidents,
                         [this](const QList<core::EndedAttempt> &attempts) { incidents.arrived(attempts); });
        connection.open();
    }
    ~Side()
    {
        share.stop();
        QCoro::waitFor(incidents.stop());
    }

    bool start()
    {
        if (!QCoro::waitFor(connection.waitReady(soonMs)))
            return false;
        incidents.start();
        return true;
    }

    Ports portsWith(World &world, EventList &events)
    {
        return {.store = world.store,
                .incidents = store,
                .leases = world.leases,
                .limiters = world.limiters,
                .clock = world.clock,
                .token = ports.token,
                .enqueue = ports.enqueue,
                .publish =
                    [&events](const QString &type, const QJsonObject &event) {
                        events.append({type, event});
                    },
                .report = ports.report,
                .refund = ports.refund,
                .shareAttempt = [this](const core::EndedAttempt &attempt) { share.add(attempt); },
                .sleep = ports.sleep,
                .random = ports.random};
    }

    Breakers::Ticket admit(const store::AccountRow &row)
    {
        return QCoro::waitFor(incidents.admit(row.account, {}, false));
    }
    core::Hold end(const store::AccountRow &row, const core::Outcome &outcome,
                   const Breakers::Ticket &ticket = {true, 0, {}})
    {
        Attempted attempted;
        attempted.outcome = outcome;
        attempted.freshToken = true;
        return QCoro::waitFor(incidents.judge(row, {}, ticket, attempted)).hold;
    }

    SqlIncidentStore store;
    redis::RedisConnection connection;
    AttemptShare share;
    Ports ports;
    Ports own;
    Incidents incidents;
};

} // namespace

class TestTwoIncidents : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init();
    void cleanup();

    void oneAlertAndOneProbe();
    void lossesSpreadOverBothAreOneWave();

private:
    store::AccountRow find(const QString &id) { return *QCoro::waitFor(m_accounts->find(id)); }
    int told(const QString &type) const
    {
        return static_cast<int>(std::count_if(m_events.begin(), m_events.end(),
                                              [&type](const auto &event) { return event.first == type; }));
    }

    tidekeeper::test::QueueRedis m_redis;
    std::unique_ptr<World> m_world;
    std::unique_ptr<tidekeeper::test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<Side> m_a;
    std::unique_ptr<Side> m_b;
    EventList m_events;
};

void TestTwoIncidents::init()
{
    m_redis.clear();
    m_events.clear();
    m_world = std::make_unique<World>();
    // Redis stamps what the engines share.
    m_world->clock.advance(QDateTime::currentMSecsSinceEpoch() - m_world->clock.nowMs());
    m_database = std::make_unique<tidekeeper::test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    for (int i = 0; i < 40; ++i) {
        store::AccountChange change;
        change.email = u"%1@example.com"_s.arg(i);
        change.grant.kind = store::GrantChange::Kind::Set;
        change.grant.sealedRefreshToken = "sealed";
        change.grant.keyId = u"k"_s;
        change.grant.fingerprint = u"f%1"_s.arg(i);
        QVERIFY(
            QCoro::waitFor(m_accounts->put(QString::number(i), change, m_world->clock.nowMs())).has_value());
    }
    m_a = std::make_unique<Side>(*m_world, m_database->database(), m_redis, m_events);
    m_b = std::make_unique<Side>(*m_world, m_database->database(), m_redis, m_events);
    QVERIFY(m_a->start() && m_b->start());
}

void TestTwoIncidents::cleanup()
{
    m_a.reset();
    m_b.reset();
    m_accounts.reset();
    m_database.reset();
    m_world.reset();
}

void TestTwoIncidents::oneAlertAndOneProbe()
{
    const store::AccountRow one = find(u"1"_s);
    const store::AccountRow two = find(u"2"_s);
    const Breakers::Ticket first = m_a->admit(one);
    const Breakers::Ticket second = m_b->admit(two);
    QVERIFY(first.admitted && second.admitted);
    m_a->end(one, wrongSecret(), first);
    m_b->end(two, wrongSecret(), second); // was under way when the other one opened it
    QCOMPARE(told(u"project.breaker_open"_s), 1);

    QTRY_VERIFY_WITH_TIMEOUT(!m_b->incidents.openBreakers().isEmpty(), soonMs);
    QVERIFY(!m_a->admit(one).admitted);
    QVERIFY(!m_b->admit(two).admitted);

    m_world->clock.advance(core::minuteMs + 1'000);
    const Breakers::Ticket probe = m_b->admit(two);
    QVERIFY(probe.admitted);
    QCOMPARE(probe.probes.size(), 1);
    QVERIFY(!m_a->admit(one).admitted); // as it knew it before, the probe was to be had
    m_b->end(two, renewed(), probe);
    QCOMPARE(told(u"project.breaker_closed"_s), 1);
    QTRY_VERIFY_WITH_TIMEOUT(m_a->admit(one).admitted, soonMs);
    QTest::qWait(1'200); // both look again
    QCOMPARE(told(u"project.breaker_closed"_s), 1);
    QCOMPARE(told(u"project.breaker_open"_s), 1);
}

// 12 of 40: neither engine alone saw enough for a suspicion, and what was stopped before it comes back.
void TestTwoIncidents::lossesSpreadOverBothAreOneWave()
{
    store::GrantStore grants(m_database->database());
    for (int i = 12; i < 40; ++i)
        (i % 2 ? m_a : m_b)->end(find(QString::number(i)), renewed());
    int stopped = 0;
    for (int i = 0; i < 12; ++i) {
        const store::AccountRow row = find(QString::number(i));
        if ((i % 2 ? m_a : m_b)->end(row, revoked()) != core::Hold::None)
            continue;
        ++stopped;
        QVERIFY(QCoro::waitFor(grants.retire(row.account.id, u"invalid_grant"_s, row.account.generation,
                                             m_world->clock.nowMs()))
                    .has_value());
    }
    QCOMPARE(stopped, 12);
    m_a->share.start(); // now each hears what the other one met
    m_b->share.start();

    QTRY_COMPARE_WITH_TIMEOUT(told(u"wave.opened"_s), 1, soonMs);
    QTRY_COMPARE_WITH_TIMEOUT(told(u"account.restored"_s), 12, soonMs);
    for (int i = 0; i < 12; ++i) {
        const store::AccountRow row = find(QString::number(i));
        QVERIFY(row.account.state == core::AccountState::Active);
        QVERIFY(row.account.hasRefreshToken);
    }
    const auto waves = QCoro::waitFor(m_b->incidents.waves(10));
    QVERIFY(waves.has_value());
    QCOMPARE(waves->size(), 1);
    QCOMPARE(waves->first().members, 12);
    QTRY_COMPARE_WITH_TIMEOUT(m_a->incidents.openWaves().size(), 1, soonMs);
    QTRY_COMPARE_WITH_TIMEOUT(m_b->incidents.openWaves().size(), 1, soonMs);
    // The thirteenth is held by the engine that did not open it, too.
    QCOMPARE(m_a->end(find(u"13"_s), revoked()), core::Hold::Wave);
    QCOMPARE(m_b->end(find(u"14"_s), revoked()), core::Hold::Wave);
    QTest::qWait(1'200); // both look again
    QCOMPARE(told(u"wave.opened"_s), 1);

    // Confirmed by one, it holds at neither.
    QVERIFY(QCoro::waitFor(m_a->incidents.confirm(waves->first().id, u"operator"_s)).has_value());
    QTRY_VERIFY_WITH_TIMEOUT(m_b->incidents.openWaves().isEmpty(), soonMs);
    QCOMPARE(told(u"wave.confirmed"_s), 1);
    QCOMPARE(m_b->end(find(u"0"_s), revoked()), core::Hold::None);
    QVERIFY(!QCoro::waitFor(m_b->incidents.confirm(waves->first().id, u"operator"_s)).has_value());
}

QTEST_GUILESS_MAIN(TestTwoIncidents)
#include "tst_twoincidents.moc"
