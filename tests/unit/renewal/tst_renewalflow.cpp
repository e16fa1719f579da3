// SPDX-License-Identifier: Apache-2.0
#include "fakes.h"

#include <QtTest/QTest>

using namespace tidekeeper;
using namespace tidekeeper::renewal;
using namespace tidekeeper::renewal::test;
using Kind = queue::JobOutcome::Kind;

namespace {

const QString a = u"a"_s;

core::Outcome revoked()
{
    return core::Outcome::revoked(u"invalid_grant"_s, u"Token has been expired or revoked."_s);
}

} // namespace

class TestRenewalFlow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { m_world.reset(); }

    void success();
    void asksTheLimiterAndSleepsBeforeTheCall();
    void longWaitAsksOnceMore();
    void refusedByTheLimiter();
    void limiterAway();
    void costThatNeverFitsIsConfiguration();
    void oneFreshToken();
    void freshTokenRefusedToo();
    void revokedCostsOneAttempt();
    void newerTokenWinsOverRevoked();
    void unreadableGrantCostsNothing();
    void saveFailsAfterGoogleSaidYes();
    void saveFailsForGood();
    void saveWaitsForADatabaseThatIsAway();
    void rowChangedMeanwhile();
    void leaseTaken();
    void rowIsReadAgainUnderTheLease();
    void mailboxIsTheKeyNotTheAccount();
    void notActiveOrNotDueIsLeftAlone_data();
    void notActiveOrNotDueIsLeftAlone();
    void forceSkipsBackoffButNotARateAnswer();
    void wishesReachTheProvider();
    void silentPluginIsTransient();
    void observeCallsNothing();
    void tellsTheLimiterWhatTheApiSaid_data();
    void tellsTheLimiterWhatTheApiSaid();
    void aLongWaitIsReportedWithTheGrantThatPaid();
    void leavingStopsAndForgets();
    void leavingWithASharedMailboxStopsNothing();
    void leavingIsRetriedThenForgotten();

private:
    World &world() { return *m_world; }
    std::unique_ptr<World> m_world;
};

void TestRenewalFlow::init()
{
    m_world = std::make_unique<World>();
    world().start();
    world().store.add(accountRow(a, u"a@example.com"_s, world().clock.nowMs() + core::dayMs));
}

void TestRenewalFlow::success()
{
    const qint64 now = world().clock.nowMs();
    QCOMPARE(world().renew(a).kind, Kind::Done);
    const core::Subscription &row = world().store.subscription(a);
    QCOMPARE(row.expiresAt, now + 7 * core::dayMs);
    QCOMPARE(row.lastSuccessAt, now);
    QCOMPARE(world().provider.renewed.size(), 1);
    QCOMPARE(world().provider.renewed.first().value("project"_L1).toString(), u"default"_s);
    QCOMPARE(world().provider.tokens, QStringList{u"ya29.first"_s});
    QCOMPARE(world().events, QStringList{u"account.renewed"_s});
    QCOMPARE(world().leases.held, 0);
    QCOMPARE(world().renew(a).kind, Kind::Done); // not due any more
    QCOMPARE(world().provider.renewed.size(), 1);
}

void TestRenewalFlow::asksTheLimiterAndSleepsBeforeTheCall()
{
    world().limiters.next = {granted(700)};
    world().provider.onRenew = [this] { QCOMPARE(world().sleepsMs, QList<qint64>{700}); };
    world().renew(a);
    QCOMPARE(world().provider.renewed.size(), 1);
    QCOMPARE(world().limiters.requests.size(), 1);
    const QuotaRequest &request = world().limiters.requests.first();
    QCOMPARE(request.lane, u"renewal"_s);
    QCOMPARE(request.method, u"gmail.users.watch"_s);
    QCOMPARE(request.account, u"a@example.com"_s);
    QCOMPARE(request.maxWaitMs, 10'000);
}

void TestRenewalFlow::longWaitAsksOnceMore()
{
    QuotaAnswer frozen;
    frozen.refusedBy = u"account_frozen"_s;
    frozen.retryAfterMs = 60'000;
    world().limiters.next = {granted(5'000, u"g-7"_s), frozen};
    world().renew(a);
    QCOMPARE(world().limiters.requests.size(), 2);
    QCOMPARE(world().limiters.requests[1].cost, 0);
    QCOMPARE(world().refunded, QStringList{u"g-7"_s}); // the booking is void
    QVERIFY(world().provider.renewed.isEmpty());
    QCOMPARE(world().store.subscription(a).errorClass, u"rate"_s);
}

void TestRenewalFlow::refusedByTheLimiter()
{
    QuotaAnswer refusal;
    refusal.refusedBy = u"project"_s;
    refusal.retryAfterMs = 4'000;
    world().limiters.next = {refusal};
    const qint64 now = world().clock.nowMs();
    QCOMPARE(world().renew(a).kind, Kind::Done);
    const core::Subscription &row = world().store.subscription(a);
    QCOMPARE(row.nextAttemptAt, now + 4'000);
    QCOMPARE(row.deferrals, 1);
    QCOMPARE(row.attempts, 0);
    QVERIFY(world().provider.renewed.isEmpty());
}

void TestRenewalFlow::limiterAway()
{
    world().limiters.status = Status::failure(u"limiter_unavailable"_s, u"Redis is away."_s);
    world().renew(a);
    QCOMPARE(world().store.subscription(a).errorClass, u"rate"_s);
    QCOMPARE(world().store.subscription(a).attempts, 0);
    QVERIFY(world().provider.renewed.isEmpty());
}

void TestRenewalFlow::costThatNeverFitsIsConfiguration()
{
    QuotaAnswer never;
    never.refusedBy = u"never"_s;
    never.cost = 100;
    world().limiters.next = {never};
    world().renew(a);
    QCOMPARE(world().events, QStringList{u"project.breaker_open"_s});
    QCOMPARE(world().store.subscription(a).errorCode, u"cost_exceeds_capacity"_s);
}

void TestRenewalFlow::oneFreshToken()
{
    world().provider.next = {{{u"outcome"_s, u"unauthorized"_s}}};
    world().renew(a);
    QCOMPARE(world().provider.tokens, (QStringList{u"ya29.first"_s, u"ya29.fresh"_s}));
    QCOMPARE(world().rejectedTokens, (QStringList{QString(), u"ya29.first"_s}));
    QCOMPARE(world().limiters.requests.size(), 2); // both calls cost units
    QVERIFY(world().store.subscription(a).errorClass.isEmpty());
}

void TestRenewalFlow::freshTokenRefusedToo()
{
    world().provider.usual = {{u"outcome"_s, u"unauthorized"_s}};
    world().renew(a);
    QCOMPARE(world().provider.renewed.size(), 2);
    QCOMPARE(world().store.subscription(a).errorClass, u"transient"_s);
    QCOMPARE(toString(world().store.account(a).state), toString(core::AccountState::Active));
}

void TestRenewalFlow::revokedCostsOneAttempt()
{
    // autokitteh/autokitteh#1073, cloudflare/mcp#137: revoked grants were retried for ever.
    world().token = tl::unexpected(revoked());
    const queue::JobOutcome outcome = world().renew(a);
    QCOMPARE(outcome.kind, Kind::Dead); // counted, once
    QCOMPARE(outcome.errorClass, u"revoked"_s);
    QCOMPARE(toString(world().store.account(a).state), toString(core::AccountState::NeedsReauth));
    QCOMPARE(world().store.account(a).stateReason, u"invalid_grant"_s);
    QCOMPARE(world().store.retired, 1);
    QCOMPARE(world().events, QStringList{u"account.reauth_required"_s});
    for (int day = 0; day < 30; ++day) {
        world().clock.advance(core::dayMs);
        QCoro::waitFor(world().engine->scan());
        world().work();
    }
    QCOMPARE(world().rejectedTokens.size(), 1); // one token call in 30 days
}

void TestRenewalFlow::newerTokenWinsOverRevoked()
{
    world().token = tl::unexpected(revoked());
    Ports ports = world().ports();
    ports.token = [this](core::Account, QString) {
        ++world().store.rows[a].account.generation; // a PUT, while Google refuses the old token
        return world().answerToken({}, {});
    };
    world().engine = std::make_unique<RenewalEngine>(ports, world().providers);
    QCOMPARE(world().renew(a).kind, Kind::Done);
    QCOMPARE(toString(world().store.account(a).state), toString(core::AccountState::Active));
    QVERIFY(world().events.isEmpty());
}

void TestRenewalFlow::unreadableGrantCostsNothing()
{
    // langgenius/dify-official-plugins#3461: what cannot be decrypted is a fault of ours.
    world().token =
        tl::unexpected(core::Outcome::local(u"grant_unreadable"_s, u"Sealed with another key."_s));
    QCOMPARE(world().renew(a).kind, Kind::Done);
    QCOMPARE(toString(world().store.account(a).state), toString(core::AccountState::Active));
    QCOMPARE(world().store.subscription(a).errorClass, u"local"_s);
    QVERIFY(world().provider.renewed.isEmpty());
}

void TestRenewalFlow::saveFailsAfterGoogleSaidYes()
{
    world().store.saveFailures = {u"database_unavailable"_s, u"database_unavailable"_s,
                                  u"database_unavailable"_s};
    const qint64 now = world().clock.nowMs();
    QCOMPARE(world().renew(a).kind, Kind::Done);
    QCOMPARE(world().provider.renewed.size(), 1); // one watch call
    QCOMPARE(world().store.saves, 4);
    QCOMPARE(world().store.subscription(a).expiresAt, now + 7 * core::dayMs);
    QCOMPARE(world().sleepsMs, (QList<qint64>{100, 200, 500}));
}

void TestRenewalFlow::saveFailsForGood()
{
    world().store.saveFailures.assign(100, u"database_unavailable"_s);
    const queue::JobOutcome outcome = world().renew(a);
    QCOMPARE(outcome.kind, Kind::Retry);
    QCOMPARE(outcome.errorClass, u"store"_s);
    QCOMPARE(world().provider.renewed.size(), 1);
    QCOMPARE(world().leases.held, 0);
    QVERIFY(!world().events.contains(u"account.renewed"_s));
}

void TestRenewalFlow::saveWaitsForADatabaseThatIsAway()
{
    world().store.saveFailures.assign(40, u"database_unavailable"_s);
    world().provider.onRenew = [this] { world().store.isAway = true; };
    QCOMPARE(world().renew(a).kind, Kind::Done);
    QCOMPARE(world().provider.renewed.size(), 1); // one watch call, however long it takes
    QCOMPARE(world().store.saves, 41);
    QCOMPARE(world().sleepsMs.last(), 20'000);
}

void TestRenewalFlow::rowChangedMeanwhile()
{
    world().provider.usual.insert(u"data"_s, QJsonObject{{u"history_id"_s, u"900"_s}});
    world().provider.onRenew = [this] {
        core::Subscription &row = world().store.subscription(a);
        row.data.insert(u"history_id"_s, u"850"_s); // a consumer moved its cursor
        ++row.generation;
    };
    QCOMPARE(world().renew(a).kind, Kind::Done);
    QCOMPARE(world().provider.renewed.size(), 1);
    const core::Subscription &row = world().store.subscription(a);
    QCOMPARE(row.data.value("history_id"_L1).toString(), u"850"_s);
    QVERIFY(row.lastSuccessAt > 0);
}

void TestRenewalFlow::leaseTaken()
{
    world().leases.busy = true;
    const queue::JobOutcome outcome = world().renew(a);
    QCOMPARE(outcome.kind, Kind::Release);
    QVERIFY(world().provider.renewed.isEmpty());
    QCOMPARE(world().store.saves, 0);
}

void TestRenewalFlow::rowIsReadAgainUnderTheLease()
{
    world().leases.onTake = [this] { // the worker before us has renewed it
        core::Subscription &row = world().store.subscription(a);
        row.expiresAt = world().clock.nowMs() + 7 * core::dayMs;
        row.nextTargetAt = world().clock.nowMs() + core::dayMs;
    };
    QCOMPARE(world().renew(a).kind, Kind::Done);
    QVERIFY(world().provider.renewed.isEmpty());
}

void TestRenewalFlow::mailboxIsTheKeyNotTheAccount()
{
    world().store.add(accountRow(u"b"_s, u"a@example.com"_s, 0));
    world().renew(a);
    world().renew(u"b"_s);
    QCOMPARE(world().leases.taken.size(), 2);
    QCOMPARE(world().leases.taken[0], world().leases.taken[1]);
    QVERIFY(!world().leases.taken[0].contains(u'@'));
}

void TestRenewalFlow::notActiveOrNotDueIsLeftAlone_data()
{
    QTest::addColumn<int>("state");
    QTest::addColumn<qint64>("attemptInMs");
    QTest::newRow("paused") << static_cast<int>(core::AccountState::Paused) << qint64(0);
    QTest::newRow("needs reauth") << static_cast<int>(core::AccountState::NeedsReauth) << qint64(0);
    QTest::newRow("parked") << static_cast<int>(core::AccountState::Parked) << qint64(0);
    QTest::newRow("leaving") << static_cast<int>(core::AccountState::Leaving) << qint64(0);
    QTest::newRow("waits for its back-off") << static_cast<int>(core::AccountState::Active) << core::minuteMs;
}

void TestRenewalFlow::notActiveOrNotDueIsLeftAlone()
{
    QFETCH(int, state);
    QFETCH(qint64, attemptInMs);
    world().store.rows[a].account.state = static_cast<core::AccountState>(state);
    if (attemptInMs > 0)
        world().store.subscription(a).nextAttemptAt = world().clock.nowMs() + attemptInMs;
    QCOMPARE(world().renew(a).kind, Kind::Done);
    QVERIFY(world().provider.renewed.isEmpty());
    QVERIFY(world().rejectedTokens.isEmpty());
}

void TestRenewalFlow::forceSkipsBackoffButNotARateAnswer()
{
    core::Subscription &row = world().store.subscription(a);
    row.nextAttemptAt = world().clock.nowMs() + core::hourMs;
    row.errorClass = u"rate"_s;
    world().renew(a, true);
    QVERIFY(world().provider.renewed.isEmpty());
    world().store.subscription(a).errorClass = u"transient"_s;
    world().renew(a, true);
    QCOMPARE(world().provider.renewed.size(), 1);
}

void TestRenewalFlow::wishesReachTheProvider()
{
    queue::Job job;
    job.payload = {
        {u"account"_s, a}, {u"subscription"_s, u"a/gmail"_s}, {u"force"_s, true}, {u"take_over"_s, true}};
    QCoro::waitFor(world().engine->run(job));
    QVERIFY(world().provider.renewed.last().value("take_over"_L1).toBool());
    QVERIFY(!world().provider.renewed.last().contains("repair"_L1));
    job.payload = {
        {u"account"_s, a}, {u"subscription"_s, u"a/gmail"_s}, {u"force"_s, true}, {u"repair"_s, true}};
    QCoro::waitFor(world().engine->run(job));
    QVERIFY(world().provider.renewed.last().value("repair"_L1).toBool());
    QVERIFY(!world().provider.renewed.last().contains("take_over"_L1));
}

void TestRenewalFlow::silentPluginIsTransient()
{
    world().provider.usual = {};
    world().renew(a);
    QCOMPARE(world().store.subscription(a).errorClass, u"transient"_s);
    QCOMPARE(world().store.subscription(a).attempts, 1);
}

void TestRenewalFlow::observeCallsNothing()
{
    World observing;
    observing.provider.mode = u"observe"_s;
    observing.start();
    observing.store.add(accountRow(a, u"a@example.com"_s, 0));
    const ScanResult result = QCoro::waitFor(observing.engine->scan());
    QCOMPARE(result.due, 1);
    QVERIFY(result.observed);
    QVERIFY(observing.enqueued.isEmpty());
    observing.renew(a, true); // a job from before the switch
    QVERIFY(observing.provider.renewed.isEmpty());
    QVERIFY(observing.rejectedTokens.isEmpty());
}

void TestRenewalFlow::tellsTheLimiterWhatTheApiSaid_data()
{
    QTest::addColumn<QJsonObject>("outcome"); // empty: as usual
    QTest::addColumn<QJsonObject>("verdict"); // empty: nothing is said
    const QJsonObject whom{
        {u"account"_s, u"a@example.com"_s}, {u"project"_s, u"default"_s}, {u"grant_id"_s, u"g-1"_s}};
    const auto with = [whom](QJsonObject more) {
        for (auto it = whom.begin(); it != whom.end(); ++it)
            more.insert(it.key(), it.value());
        return more;
    };
    const auto outcome = [](const QString &word, QJsonObject more = {}) {
        more.insert(u"outcome"_s, word);
        return more;
    };
    const QJsonObject ok = with({{u"rate"_s, false}});
    const qint64 now = tidekeeper::test::FakeClock().nowMs();
    QTest::newRow("renewed") << QJsonObject() << ok;
    QTest::newRow("gone") << outcome(u"gone"_s) << ok;
    QTest::newRow("parked") << outcome(u"account"_s, {{u"reason"_s, u"mail_service_not_enabled"_s}}) << ok;
    QTest::newRow("time-out") << outcome(u"transient"_s) << QJsonObject();
    QTest::newRow("token refused") << outcome(u"unauthorized"_s) << QJsonObject();
    QTest::newRow("account, 15 minutes")
        << outcome(u"rate"_s, {{u"scope"_s, u"account"_s}, {u"until"_s, now + 900'000}})
        << with({{u"rate"_s, true}, {u"scope"_s, u"account"_s}, {u"retry_after_ms"_s, 900'000}});
    QTest::newRow("project, unknown")
        << outcome(u"rate"_s, {{u"scope"_s, u"project"_s}})
        << with({{u"rate"_s, true}, {u"scope"_s, u"project"_s}, {u"retry_after_ms"_s, 0}});
    // A time that has passed is an answer too: not the back-off of one that said nothing.
    QTest::newRow("in the past") << outcome(u"rate"_s, {{u"scope"_s, u"account"_s}, {u"until"_s, now - 1}})
                                 << with({{u"rate"_s, true},
                                          {u"scope"_s, u"account"_s},
                                          {u"retry_after_ms"_s, 1}});
}

void TestRenewalFlow::tellsTheLimiterWhatTheApiSaid()
{
    QFETCH(QJsonObject, outcome);
    QFETCH(QJsonObject, verdict);

    if (!outcome.isEmpty())
        world().provider.usual = outcome;
    world().renew(a);
    QVERIFY(!world().provider.renewed.isEmpty());
    QCOMPARE(world().verdicts, verdict.isEmpty() ? QList<QJsonObject>() : QList<QJsonObject>{verdict});
    QVERIFY(world().refunded.isEmpty());
}

void TestRenewalFlow::aLongWaitIsReportedWithTheGrantThatPaid()
{
    world().limiters.next = {granted(5'000, u"paid"_s), granted(0, u"asked again for 0"_s)};
    world().renew(a);
    QCOMPARE(world().verdicts.size(), 1);
    QCOMPARE(world().verdicts.first()["grant_id"_L1].toString(), u"paid"_s);
    QVERIFY(world().refunded.isEmpty());
}

void TestRenewalFlow::leavingStopsAndForgets()
{
    world().store.rows[a].account.state = core::AccountState::Leaving;
    const ScanResult result = QCoro::waitFor(world().engine->scan());
    QCOMPARE(result.leaving, 1);
    world().work();
    QCOMPARE(world().provider.removed.size(), 1);
    QCOMPARE(world().limiters.requests.first().method, u"gmail.users.stop"_s);
    QVERIFY(world().store.rows.isEmpty());
    QCOMPARE(world().events, QStringList{u"account.removed"_s});
}

void TestRenewalFlow::leavingWithASharedMailboxStopsNothing()
{
    world().store.rows[a].account.state = core::AccountState::Leaving;
    world().store.add(accountRow(u"b"_s, u"a@example.com"_s, world().clock.nowMs() + core::dayMs));
    queue::Job job;
    job.type = RenewalEngine::removeJob;
    job.payload = {{u"account"_s, a}};
    QCOMPARE(QCoro::waitFor(world().engine->run(job)).kind, Kind::Done);
    QVERIFY(world().provider.removed.isEmpty());
    QVERIFY(!world().store.rows.contains(a));
}

void TestRenewalFlow::leavingIsRetriedThenForgotten()
{
    world().store.rows[a].account.state = core::AccountState::Leaving;
    world().provider.removal = {{u"outcome"_s, u"transient"_s}};
    queue::Job job;
    job.type = RenewalEngine::removeJob;
    job.payload = {{u"account"_s, a}};
    for (job.attempts = 0; job.attempts < 2; ++job.attempts) {
        QCOMPARE(QCoro::waitFor(world().engine->run(job)).kind, Kind::Retry);
        QVERIFY(world().store.rows.contains(a));
    }
    QCOMPARE(QCoro::waitFor(world().engine->run(job)).kind, Kind::Done);
    QVERIFY(!world().store.rows.contains(a));
}

QTEST_GUILESS_MAIN(TestRenewalFlow)
#include "tst_renewalflow.moc"
