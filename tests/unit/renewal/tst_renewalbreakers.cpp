// SPDX-License-Identifier: Apache-2.0
#include "fakes.h"

#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::renewal;
using namespace tidekeeper::renewal::test;

namespace {

const QString a = u"a"_s;

core::Outcome revoked()
{
    return core::Outcome::revoked(u"invalid_grant"_s, u"Token has been expired or revoked."_s);
}

core::Outcome wrongSecret()
{
    return core::Outcome::configuration(core::FaultScope::Client, u"invalid_client"_s, u"Wrong secret."_s,
                                        u"Mend it."_s);
}

} // namespace

/// What a fault of configuration does to many accounts, and how they go on once it is mended.
class TestRenewalBreakers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_world.reset(); }

    void wrongSecretMarksNobody();
    void probeClosesTheBreaker();
    void mendedSecretRenewsAllAtTheFirstProbe();
    void waitersLookAgainAfterTheProbe();
    void oneFaultMendedTheNextOneFound();
    void topicFaultStopsTheProjectOnly();
    void aThousandMeetTheTopicFault();
    void manyLostGrantsAtOnceAreHeld();
    void confirmedLossesEndOneByOne();
    void fewLostGrantsAreRevocations();
    void troubleOfManyPausesTheProject();
    void theOtherEngineOpenedIt();
    void closedCostsNoQuestion();

private:
    World &world() { return *m_world; }
    qint64 wake();
    std::unique_ptr<World> m_world;
};

void TestRenewalBreakers::init()
{
    m_world = std::make_unique<World>();
    world().start();
    world().store.add(accountRow(a, u"a@example.com"_s, world().clock.nowMs() + core::dayMs));
}

/// Lets the engine's own timer fire and the clock move as far: how far.
qint64 TestRenewalBreakers::wake()
{
    auto *timer = world().engine->findChild<QTimer *>(u"probe"_s);
    if (!timer->isActive())
        return core::dayMs; // it would sleep on
    const qint64 waitMs = timer->interval();
    world().clock.advance(waitMs);
    timer->start(0);
    const auto scanned = [this] { return world().engine->lastScan().at == world().clock.nowMs(); };
    return QTest::qWaitFor(scanned, 1'000) ? waitMs : core::dayMs;
}

void TestRenewalBreakers::wrongSecretMarksNobody()
{
    // semaphoreio/semaphore#1193: a wrong client secret marked the whole fleet as revoked.
    for (int i = 0; i < 200; ++i)
        world().store.add(accountRow(QString::number(i), u"%1@example.com"_s.arg(i), 0));
    world().token = tl::unexpected(wrongSecret());
    QCoro::waitFor(world().engine->scan());
    world().work();
    QCOMPARE(world().store.count(core::AccountState::Active), 201);
    QCOMPARE(world().rejectedTokens.size(), 1); // one call, then the breaker
    QCOMPARE(world().events, QStringList{u"project.breaker_open"_s});
    QCOMPARE(world().lastEvent[u"project.breaker_open"_s].value("remedy"_L1).toString(), u"Mend it."_s);
    QCOMPARE(world().engine->openBreakers().size(), 1);
    for (const store::AccountRow &row : std::as_const(world().store.rows)) {
        QCOMPARE(row.subscriptions.first().attempts, 0);
        QVERIFY(row.subscriptions.first().nextAttemptAt > world().clock.nowMs());
    }
    // Two hours of it: probes only, at 1, 3, 7, 15, 30 … minutes.
    for (int minute = 0; minute < 120; ++minute) {
        world().clock.advance(core::minuteMs);
        QCoro::waitFor(world().engine->scan());
        world().work();
    }
    QVERIFY(world().rejectedTokens.size() <= 12);
    QCOMPARE(world().events.count(u"project.breaker_open"_s), 1);
    QCOMPARE(world().store.count(core::AccountState::Active), 201);
}

void TestRenewalBreakers::probeClosesTheBreaker()
{
    world().token = tl::unexpected(wrongSecret());
    world().renew(a);
    world().token = oauth::AccessToken{u"ya29.first"_s, 0, {}};
    world().renew(a);
    QVERIFY(world().provider.renewed.isEmpty()); // its time has not come
    world().clock.advance(2 * core::minuteMs);
    world().renew(a);
    QCOMPARE(world().provider.renewed.size(), 1);
    QVERIFY(world().engine->openBreakers().isEmpty());
    QVERIFY(world().events.contains(u"project.breaker_closed"_s));
}

void TestRenewalBreakers::mendedSecretRenewsAllAtTheFirstProbe()
{
    const qint64 now = world().clock.nowMs();
    // The most urgent ones can prove nothing, or are not to be renewed at all.
    for (int i = 0; i < 5; ++i) {
        world().store.add(accountRow(u"none%1"_s.arg(i), u"none%1@example.com"_s.arg(i), now + 1 + i));
        world().store.add(accountRow(u"revoked%1"_s.arg(i), u"revoked%1@example.com"_s.arg(i), now + 10 + i));
    }
    for (int i = 0; i < 50; ++i)
        world().store.add(accountRow(u"good%1"_s.arg(i), u"good%1@example.com"_s.arg(i), now + 1'000 + i));
    world().token = tl::unexpected(wrongSecret());
    QCoro::waitFor(world().engine->scan());
    world().work();
    QCOMPARE(world().rejectedTokens.size(), 1);

    world().token = oauth::AccessToken{u"ya29.first"_s, 0, {}};
    const core::Outcome noGrant =
        core::Outcome::account(core::AccountState::NeedsReauth, u"no_grant"_s, u"No refresh token."_s);
    for (int i = 0; i < 5; ++i) {
        world().tokenOf.insert(u"none%1"_s.arg(i), tl::unexpected(noGrant));
        world().tokenOf.insert(u"revoked%1"_s.arg(i), tl::unexpected(revoked()));
    }
    // No scan of the minute: the engine wakes by itself.
    QVERIFY(wake() <= core::minuteMs + 1'000);
    world().work();
    QCOMPARE(world().store.count(core::AccountState::NeedsReauth), 10);
    QCOMPARE(world().provider.renewed.size(), 51);
    QVERIFY(world().engine->openBreakers().isEmpty());
    QCOMPARE(world().events.count(u"project.breaker_closed"_s), 1);
}

void TestRenewalBreakers::waitersLookAgainAfterTheProbe()
{
    world().store.add(accountRow(u"b"_s, u"b@example.com"_s, 0));
    world().token = tl::unexpected(wrongSecret());
    QCoro::waitFor(world().engine->scan());
    world().work();
    world().token = oauth::AccessToken{u"ya29.first"_s, 0, {}};
    QVERIFY(wake() <= core::minuteMs + 1'000);
    // Another worker comes while the probe is under way: it must not wait for the next probe of a minute later.
    world().provider.onRenew = [this] {
        world().provider.onRenew = {};
        world().renew(a); // less urgent than b, the probe
    };
    world().work();
    QCOMPARE(world().provider.renewed.size(), 1);
    QVERIFY(world().engine->openBreakers().isEmpty());
    QVERIFY(wake() <= 6'000);
    world().work();
    QCOMPARE(world().provider.renewed.size(), 2);
}

void TestRenewalBreakers::oneFaultMendedTheNextOneFound()
{
    world().token = tl::unexpected(wrongSecret());
    world().renew(a);
    world().token = oauth::AccessToken{u"ya29.first"_s, 0, {}};
    world().provider.next.append({{u"outcome"_s, u"configuration"_s},
                                  {u"scope"_s, u"project"_s},
                                  {u"code"_s, u"topic_not_found"_s},
                                  {u"text"_s, u"No such topic."_s}});
    world().events.clear();
    world().clock.advance(core::minuteMs);
    world().renew(a);
    QCOMPARE(world().events, (QStringList{u"project.breaker_closed"_s, u"project.breaker_open"_s}));
    const QJsonArray open = world().engine->openBreakers();
    QCOMPARE(open.size(), 1);
    QCOMPARE(open.first()["code"_L1].toString(), u"topic_not_found"_s);
    QCOMPARE(open.first()["next_probe_in_ms"_L1].toInteger(), core::minuteMs);
}

void TestRenewalBreakers::topicFaultStopsTheProjectOnly()
{
    // googleapis/google-api-nodejs-client#3593: no retry mends the rights on a topic.
    store::AccountRow other = accountRow(u"b"_s, u"b@example.com"_s, 0);
    other.account.client = u"second"_s;
    world().store.add(other);
    store::AccountRow elsewhere = accountRow(u"c"_s, u"c@example.com"_s, 0);
    elsewhere.account.project = u"other"_s;
    world().store.add(elsewhere);
    world().provider.next = {{{u"outcome"_s, u"configuration"_s}, {u"scope"_s, u"project"_s}}};
    world().renew(a);
    world().renew(u"b"_s);
    QCOMPARE(world().provider.renewed.size(), 1); // the same project by another client waits too
    world().renew(u"c"_s);
    QCOMPARE(world().provider.renewed.size(), 2);
}

void TestRenewalBreakers::aThousandMeetTheTopicFault()
{
    // googleapis/google-api-nodejs-client#3593, with a fleet: one alert, some probes, and no grant suffers.
    for (int i = 0; i < 1'000; ++i)
        world().store.add(accountRow(u"t%1"_s.arg(i), u"t%1@example.com"_s.arg(i), 0));
    world().provider.usual = {
        {u"outcome"_s, u"configuration"_s}, {u"scope"_s, u"project"_s}, {u"code"_s, u"topic_permission"_s}};
    for (int minute = 0; minute < 60; ++minute) {
        QCoro::waitFor(world().engine->scan());
        world().work();
        world().clock.advance(core::minuteMs);
    }
    QVERIFY2(world().provider.renewed.size() >= 3 && world().provider.renewed.size() <= 8,
             qPrintable(QString::number(world().provider.renewed.size()))); // after 1, 3, 7, 15, 30 min …
    QCOMPARE(world().events, QStringList{u"project.breaker_open"_s});
    QCOMPARE(world().store.count(core::AccountState::Active), 1'001);
    QCOMPARE(world().store.retired, 0);
    for (const store::AccountRow &row : std::as_const(world().store.rows))
        QCOMPARE(row.subscriptions.first().attempts, 0);
}

void TestRenewalBreakers::manyLostGrantsAtOnceAreHeld()
{
    // xorbitsai/xagent#1988: after a rotation of the client's secret the old tokens give invalid_grant too.
    for (int i = 0; i < 40; ++i) {
        const QString id = u"w%1"_s.arg(i, 2, 10, QChar(u'0'));
        world().store.add(accountRow(id, id + u"@example.com"_s, 0));
        if (i >= 28)
            world().tokenOf.insert(id, tl::unexpected(revoked()));
    }
    for (int i = 0; i < 40; ++i)
        world().renew(u"w%1"_s.arg(i, 2, 10, QChar(u'0')));
    // Nine looked like revocations; bringing them back is up to the store, and tested with it.
    QCOMPARE(world().store.count(core::AccountState::NeedsReauth), 9);
    QCOMPARE(world().incidents.members, QStringList{u"w37"_s});
    QCOMPARE(world().events.count(u"wave.opened"_s), 1);
    QCOMPARE(world().store.subscription(u"w37"_s).errorClass, u"configuration"_s);
    // The others wait for the breaker, and a healthy one closes it.
    world().clock.advance(2 * core::minuteMs);
    world().renew(a, true);
    QCOMPARE(world().events.count(u"project.breaker_closed"_s), 1);
    // The wave is still open: whoever meets it is held, without another alert and without stopping the healthy.
    world().renew(u"w38"_s);
    world().renew(u"w39"_s);
    QCOMPARE(world().incidents.members.size(), 3);
    QVERIFY(world().engine->openBreakers().isEmpty());
    QCOMPARE(world().events.count(u"wave.opened"_s), 1);
    QCOMPARE(world().store.count(core::AccountState::NeedsReauth), 9);
}

void TestRenewalBreakers::confirmedLossesEndOneByOne()
{
    const auto id = [](int i) { return u"w%1"_s.arg(i, 2, 10, QChar(u'0')); };
    for (int i = 0; i < 20; ++i) {
        world().store.add(accountRow(id(i), id(i) + u"@example.com"_s, 0));
        world().tokenOf.insert(id(i), tl::unexpected(revoked()));
    }
    for (int i = 0; i < 20; ++i)
        world().renew(id(i), true);
    QCOMPARE(world().store.retired, 9); // before there was a suspicion
    QCOMPARE(world().events.count(u"wave.opened"_s), 1);
    const qint64 wave = world().incidents.waves.first().id;
    QVERIFY(QCoro::waitFor(world().engine->incidents().confirm(wave, u"operator"_s)).has_value());

    world().clock.advance(core::hourMs);
    for (int i = 9; i < 20; ++i) {
        QCOMPARE(world().renew(id(i), true).kind, queue::JobOutcome::Kind::Dead);
        QCOMPARE(world().store.retired, i + 1);
        QVERIFY(world().renew(id(i)).kind != queue::JobOutcome::Kind::Dead); // its one dead letter
    }
    QCOMPARE(world().store.count(core::AccountState::NeedsReauth), 20);
    QCOMPARE(world().events.count(u"account.reauth_required"_s), 20);
    QCOMPARE(world().events.count(u"wave.opened"_s), 1);
    // A day later many losses at once are suspicious again.
    world().clock.advance(core::dayMs);
    world().engine->incidents().start(); // looks
    for (int i = 30; i < 42; ++i) {
        world().store.add(accountRow(id(i), id(i) + u"@example.com"_s, 0));
        world().tokenOf.insert(id(i), tl::unexpected(revoked()));
        world().renew(id(i), true);
    }
    QCOMPARE(world().events.count(u"wave.opened"_s), 2);
}

void TestRenewalBreakers::fewLostGrantsAreRevocations()
{
    for (int i = 0; i < 9; ++i) {
        const QString id = u"w%1"_s.arg(i);
        world().store.add(accountRow(id, id + u"@example.com"_s, 0));
        world().tokenOf.insert(id, tl::unexpected(revoked()));
        QCOMPARE(world().renew(id).kind, queue::JobOutcome::Kind::Dead);
    }
    QCOMPARE(world().store.count(core::AccountState::NeedsReauth), 9);
    QVERIFY(world().incidents.waves.isEmpty());
}

void TestRenewalBreakers::troubleOfManyPausesTheProject()
{
    for (int i = 0; i < 30; ++i)
        world().store.add(accountRow(u"t%1"_s.arg(i), u"t%1@example.com"_s.arg(i), 0));
    const QJsonObject good = world().provider.usual;
    world().provider.usual = {{u"outcome"_s, u"transient"_s}};
    for (int i = 0; i < 30; ++i)
        world().renew(u"t%1"_s.arg(i));
    QCOMPARE(world().provider.renewed.size(), 20); // then it pauses
    QCOMPARE(world().events.count(u"project.breaker_open"_s), 1);
    QCOMPARE(world().engine->status().value("pauses"_L1).toArray().size(), 1);
    QCOMPARE(world().store.subscription(u"t19"_s).attempts, 0);
    // Ten minutes: one probe each, and nothing is counted.
    for (int minute = 0; minute < 10; ++minute) {
        world().clock.advance(core::minuteMs);
        world().renew(u"t20"_s);
        world().renew(u"t21"_s);
    }
    QCOMPARE(world().provider.renewed.size(), 30);
    QCOMPARE(world().store.subscription(u"t20"_s).attempts, 0);
    world().provider.usual = good;
    world().clock.advance(core::minuteMs);
    world().renew(u"t20"_s);
    QVERIFY(world().engine->status().value("pauses"_L1).toArray().isEmpty());
    QCOMPARE(world().events.count(u"project.breaker_closed"_s), 1);
}

void TestRenewalBreakers::theOtherEngineOpenedIt()
{
    Providers providers;
    providers.add(&world().provider);
    RenewalEngine other(world().ports(), providers);
    world().token = tl::unexpected(wrongSecret());
    world().renew(a);
    queue::Job job;
    job.type = RenewalEngine::renewJob;
    job.payload = {{u"account"_s, a}, {u"subscription"_s, a + u"/gmail"_s}, {u"force"_s, false}};
    world().store.subscription(a).nextAttemptAt = 0;
    QCoro::waitFor(other.run(job));
    QCOMPARE(world().rejectedTokens.size(), 1); // known there before its first attempt
    QCOMPARE(world().events.count(u"project.breaker_open"_s), 1);
    // Both may probe, one does.
    world().clock.advance(2 * core::minuteMs);
    world().store.subscription(a).nextAttemptAt = 0;
    QCoro::waitFor(other.run(job));
    world().store.subscription(a).nextAttemptAt = 0;
    world().renew(a);
    QCOMPARE(world().rejectedTokens.size(), 2);
}

void TestRenewalBreakers::closedCostsNoQuestion()
{
    world().renew(a);
    const int looks = world().incidents.looks;
    for (int i = 0; i < 20; ++i)
        world().renew(a, true);
    QCOMPARE(world().incidents.looks, looks);
    QCOMPARE(world().incidents.writes, 0);
}

QTEST_GUILESS_MAIN(TestRenewalBreakers)
#include "tst_renewalbreakers.moc"
