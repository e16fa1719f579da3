// SPDX-License-Identifier: Apache-2.0
// Renewals that a person asks for: one, several, all that match, or all of them over some time.
#include "accountsfixture.h"
#include "http/renewalcontroller.h"
#include "renewal/sqlrenewalstore.h"
#include "unit/renewal/fakes.h"

#include <QtCore/QJsonArray>
#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using http::Method;
using test::AccountsFixture;
using Answer = AccountsFixture::Answer;

namespace {

/// The accounts' routes and those of renewing on one database; jobs go into a list.
class Fixture : public AccountsFixture {
public:
    explicit Fixture(int accountCount, const QString &mode = u"renew"_s)
    {
        world.provider.mode = mode;
        world.provider.cost = 100;
        world.providers.add(&world.provider);
        renewal::Ports ports = world.ports();
        engine = std::make_unique<renewal::RenewalEngine>(
            renewal::Ports{.store = m_store,
                           .incidents = ports.incidents,
                           .leases = ports.leases,
                           .limiters = ports.limiters,
                           .clock = clock,
                           .token = ports.token,
                           .enqueue = ports.enqueue,
                           .publish = ports.publish,
                           .report = ports.report,
                           .refund = ports.refund,
                           .shareAttempt = ports.shareAttempt,
                           .sleep = ports.sleep,
                           .random = ports.random,
                           .quotas = [this](const QString &) { return quotas; }},
            world.providers);
        m_renewal =
            std::make_unique<http::RenewalController>(m_router, *engine, accounts, m_audit, clock, windowMs);
        for (int i = 0; i < accountCount; ++i)
            add(u"a%1"_s.arg(i));
    }

    /// Due in a day.
    void add(const QString &id)
    {
        store::AccountChange change;
        change.email = id + u"@example.com"_s;
        change.watchExpiresAt = now() + 7 * core::dayMs;
        if (!QCoro::waitFor(accounts.put(id, change, now())))
            qFatal("not added");
        core::Subscription subscription = *QCoro::waitFor(accounts.subscription(id + u"/gmail"_s));
        subscription.nextTargetAt = now() + core::dayMs;
        if (!QCoro::waitFor(accounts.compareAndSet(subscription)))
            qFatal("not saved");
    }

    Answer renew(const QByteArray &body) { return call(Method::Post, u"/renew"_s, body); }
    qsizetype dueWithin(qint64 ms) { return QCoro::waitFor(accounts.due(now() + ms, 1'000))->size(); }
    store::AuditEntry lastAudit() { return QCoro::waitFor(journal.audits(0, 1))->value(0); }

    renewal::test::World world;
    QMap<QString, core::ProjectQuota> quotas;
    std::unique_ptr<renewal::RenewalEngine> engine;

private:
    store::GrantStore m_grants{database.database()};
    store::PaceStore m_pace{database.database()};
    renewal::SqlRenewalStore m_store{accounts, m_grants, m_pace};
    std::unique_ptr<http::RenewalController> m_renewal;
};

} // namespace

class RenewalControllerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void dryRunEstimates();
    void manyAreQueuedOnce();
    void idsSayWhyOneIsSkipped();
    void pullsForwardOverTheSpread();
    void refusesTooShortASpread();
    void observingPlansAndCallsNothing();
    void oneIsTakenOver();
    void refuses_data();
    void refuses();
};

void RenewalControllerTest::dryRunEstimates()
{
    Fixture engine(10);
    engine.call(Method::Post, u"/a0/pause"_s);
    engine.quotas = {{u"default"_s, {300, 0}}};
    const Answer answer = engine.renew(R"({"filter":{},"dry_run":true})");
    QCOMPARE(answer.status, 200);
    QCOMPARE(answer.json[u"matched"_s].toInt(), 9);
    QCOMPARE(answer.json[u"estimate_ms"_s].toInteger(), 3 * core::minuteMs); // 900 units at 300 a minute
    QCOMPARE(answer.json[u"least_spread_ms"_s].toInteger(), 6 * core::minuteMs);
    QVERIFY(engine.world.enqueued.isEmpty());
    QCOMPARE(engine.lastAudit().action, u"account.pause"_s);
}

void RenewalControllerTest::manyAreQueuedOnce()
{
    Fixture engine(10);
    const Answer answer = engine.renew(R"({"filter":{}})");
    QCOMPARE(answer.status, 202);
    QCOMPARE(answer.json[u"matched"_s].toInt(), 10);
    QCOMPARE(answer.json[u"enqueued"_s].toInt(), 10);
    QCOMPARE(answer.json[u"skipped_count"_s].toInt(), 0);
    QCOMPARE(engine.world.enqueued.size(), 10);
    QCOMPARE(engine.lastAudit().action, u"account.renew"_s);
    QCOMPARE(engine.lastAudit().details[u"enqueued"_s].toInt(), 10);

    const Answer again = engine.renew(R"({"filter":{}})");
    QCOMPARE(again.json[u"enqueued"_s].toInt(), 0);
    QCOMPARE(again.json[u"skipped_count"_s].toInt(), 10);
    QVERIFY(again.json[u"skipped"_s][0][u"reason"_s].toString().contains(u"under way"_s));
    QCOMPARE(engine.world.enqueued.size(), 10);
}

void RenewalControllerTest::idsSayWhyOneIsSkipped()
{
    Fixture engine(4);
    engine.call(Method::Post, u"/a2/pause"_s);
    const Answer answer = engine.renew(R"({"ids":["a1","a2","nobody"]})");
    QCOMPARE(answer.json[u"matched"_s].toInt(), 2);
    QCOMPARE(answer.json[u"enqueued"_s].toInt(), 1);
    const QJsonArray skipped = answer.json[u"skipped"_s].toArray();
    QCOMPARE(skipped.size(), 2);
    QCOMPARE(skipped[0][u"id"_s].toString(), u"a2"_s);
    QVERIFY(skipped[0][u"reason"_s].toString().contains(u"paused"_s));
    QCOMPARE(skipped[1][u"id"_s].toString(), u"nobody"_s);
}

void RenewalControllerTest::pullsForwardOverTheSpread()
{
    Fixture engine(100);
    QCOMPARE(engine.dueWithin(core::hourMs), 0);
    const Answer answer = engine.renew(R"({"filter":{},"spread_ms":3600000})");
    QCOMPARE(answer.status, 202);
    QCOMPARE(answer.json[u"scheduled"_s].toInt(), 100);
    QVERIFY(engine.world.enqueued.isEmpty()); // the scan takes them as they come due
    const qsizetype half = engine.dueWithin(core::hourMs / 2);
    QVERIFY2(half > 30 && half < 70, qPrintable(QString::number(half)));
    QCOMPARE(engine.dueWithin(core::hourMs), 100);
    QCOMPARE(engine.lastAudit().details[u"scheduled"_s].toInt(), 100);
    // The same again: nobody is moved back.
    QCOMPARE(engine.renew(R"({"filter":{},"spread_ms":3600000})").json[u"scheduled"_s].toInt(), 0);
}

void RenewalControllerTest::refusesTooShortASpread()
{
    Fixture engine(10);
    engine.quotas = {{u"default"_s, {100, 0}}};
    for (const QByteArray dryRun : {"true", "false"}) {
        const Answer answer = engine.renew(R"({"filter":{},"spread_ms":600000,"dry_run":)" + dryRun + '}');
        QCOMPARE(answer.status, 422);
        QCOMPARE(answer.field(), u"spread_ms"_s);
        QCOMPARE(answer.json[u"least_spread_ms"_s].toInteger(), 20 * core::minuteMs);
        QVERIFY2(answer.detail().contains(u"\"default\" may spend 100 units"_s), qPrintable(answer.detail()));
        QVERIFY2(answer.detail().contains(u"1200000 (20 minutes)"_s), qPrintable(answer.detail()));
    }
    QCOMPARE(engine.dueWithin(core::hourMs), 0);
    QCOMPARE(engine.renew(R"({"filter":{},"spread_ms":1200000})").status, 202);
}

void RenewalControllerTest::observingPlansAndCallsNothing()
{
    Fixture engine(3, u"observe"_s);
    QCOMPARE(engine.renew(R"({"filter":{}})").status, 409);
    QCOMPARE(engine.call(Method::Post, u"/a1/renew"_s).status, 409);
    QVERIFY(engine.world.enqueued.isEmpty());
    QCOMPARE(engine.renew(R"({"filter":{},"dry_run":true})").json[u"matched"_s].toInt(), 3);
    QCOMPARE(engine.renew(R"({"filter":{},"spread_ms":60000})").json[u"scheduled"_s].toInt(), 3);
}

void RenewalControllerTest::oneIsTakenOver()
{
    Fixture engine(1);
    core::Subscription subscription = *QCoro::waitFor(engine.accounts.subscription(u"a0/gmail"_s));
    subscription.errorClass = toString(core::OutcomeKind::OwnedElsewhere);
    QVERIFY(QCoro::waitFor(engine.accounts.compareAndSet(subscription)).has_value());
    const store::AccountRow row = *QCoro::waitFor(engine.accounts.find(u"a0"_s));
    QVERIFY(QCoro::waitFor(engine.accounts.setState(u"a0"_s, core::AccountState::Parked,
                                                    u"watch_owned_elsewhere"_s, row.account.generation,
                                                    engine.now()))
                .has_value());

    const Answer refused = engine.call(Method::Post, u"/a0/renew"_s);
    QCOMPARE(refused.status, 409);
    QVERIFY(refused.detail().contains(u"--take-over"_s));
    const Answer taken = engine.call(Method::Post, u"/a0/renew"_s, R"({"take_over":true})");
    QCOMPARE(taken.status, 202);
    QCOMPARE(engine.call(Method::Get, u"/a0"_s).json[u"state"_s].toString(), u"active"_s);
    QCOMPARE(engine.world.enqueued.size(), 1);
    QVERIFY(engine.world.enqueued.first().payload.value("take_over"_L1).toBool());
    QCOMPARE(engine.lastAudit().target, u"a0"_s);
    QVERIFY(engine.lastAudit().details[u"take_over"_s].toBool());
    QCOMPARE(engine.call(Method::Post, u"/a0/renew"_s, R"({"take_over":"yes"})").field(), u"take_over"_s);
}

void RenewalControllerTest::refuses_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("field");
    QTest::newRow("nobody chosen") << QByteArray("{}") << u"filter"_s;
    QTest::newRow("paused ones") << QByteArray(R"({"filter":{"state":"paused"}})") << u"state"_s;
    QTest::newRow("no time at all") << QByteArray(R"({"filter":{},"spread_ms":0})") << u"spread_ms"_s;
    QTest::newRow("more than a watch lives")
        << QByteArray(R"({"filter":{},"spread_ms":604800001})") << u"spread_ms"_s;
    QTest::newRow("time in words") << QByteArray(R"({"filter":{},"spread_ms":"6h"})") << u"spread_ms"_s;
}

void RenewalControllerTest::refuses()
{
    QFETCH(QByteArray, body);
    Fixture engine(1);
    const Answer answer = engine.renew(body);
    QCOMPARE(answer.status, 422);
    QTEST(answer.field(), "field");
    QVERIFY(engine.world.enqueued.isEmpty());
    QCOMPARE(engine.dueWithin(core::hourMs), 0);
}

QTEST_GUILESS_MAIN(RenewalControllerTest)
#include "tst_renewalcontroller.moc"
