// SPDX-License-Identifier: Apache-2.0
#include "../renewal/fakes.h"
#include "simulate/judgement.h"
#include "simulate/ourpolicy.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::simulate;
using renewal::test::FakeIncidents;
using renewal::test::World;

namespace {

/// Brings back whom a wave stopped and ends it, over the world's rows, as the wave store does in the database.
class Waves final : public FakeIncidents {
public:
    explicit Waves(World &world) : m_world(world) { }

    QCoro::Task<Result<store::WaveStore::Opened>> openWave(store::Wave wave,
                                                           store::BreakerRow breaker) override
    {
        Result<store::WaveStore::Opened> opened =
            co_await FakeIncidents::openWave(std::move(wave), std::move(breaker));
        for (store::AccountRow &row : m_world.store.rows) {
            if (row.account.stateReason != opened->wave.code
                || stoppedAt.value(row.account.id) < opened->wave.sinceMs)
                continue;
            row.account.state = core::AccountState::Active;
            row.account.stateReason.clear();
            ++row.account.generation;
            core::Subscription &member = row.subscriptions.first();
            member.errorClass = toString(core::OutcomeKind::Configuration);
            member.nextTargetAt = m_world.clock.nowMs();
            member = core::postponed(member, m_world.clock.nowMs(), core::minuteMs);
            members.append(row.account.id);
            opened->restored.append(row.account.id);
        }
        co_return opened;
    }

    QCoro::Task<Result<bool>> recover(qint64 id, QString account, QString, qint64) override
    {
        if (!members.contains(account))
            co_return false;
        for (store::AccountRow &row : m_world.store.rows) {
            core::Subscription &member = row.subscriptions.first();
            if (members.contains(row.account.id) && member.errorCode == waves.first().code)
                member = core::postponed(member, 0, 0);
        }
        waves.clear();
        members.clear();
        rows.removeIf([id](const store::BreakerRow &row) { return row.scope == store::waveScope(id); });
        co_return true;
    }

    QHash<QString, qint64> stoppedAt;

private:
    World &m_world;
};

/// The engine itself with its own Google, driven minute by minute.
class Engine {
public:
    explicit Engine(const Scenario &scenario)
        : m_google(scenario), m_incidents(m_world), m_jitter(OurPolicy::jitterOf(scenario)),
          m_tokenUntil(scenario.count(), 0)
    {
        m_world.provider.batchSize = scenario.batchSize;
        m_world.providers.add(&m_world.provider);
        const QList<qint64> expiries = firstExpiries(scenario);
        for (int account = 0; account < expiries.size(); ++account)
            add(QString::number(account), expiries.at(account), scenario.startMs);
        renewal::Ports ports = m_world.ports();
        m_world.engine = std::make_unique<renewal::RenewalEngine>(
            renewal::Ports{ports.store, m_incidents, ports.leases, ports.limiters, ports.clock,
                           [this](core::Account account, QString) { return token(account); }, ports.enqueue,
                           ports.publish, ports.report, ports.refund, ports.shareAttempt, ports.sleep,
                           [this] { return m_jitter.next(); }},
            m_world.providers);
        // Its own timer runs in real time: here it is scanned when the simulation is.
        m_world.engine->findChild<QTimer *>(u"probe"_s)->disconnect();
    }

    qint64 nowMs() const { return m_world.clock.nowMs(); }
    void scanAndWork(qint64 nowMs)
    {
        m_world.clock.advance(nowMs - m_world.clock.nowMs());
        QCoro::waitFor(m_world.engine->scan());
        std::stable_partition(m_world.enqueued.begin(), m_world.enqueued.end(),
                              [](const queue::JobSpec &spec) { return spec.urgent; });
        m_world.work();
    }

    const store::AccountRow row(int account) const
    {
        return m_world.store.rows.value(QString::number(account));
    }
    std::optional<qint64> nextWakeAt() const
    {
        const auto waitMs = m_world.engine->incidents().nextWakeMs();
        return waitMs ? std::optional(nowMs() + *waitMs) : std::nullopt;
    }
    int count(const QString &event) const { return static_cast<int>(m_world.events.count(event)); }
    QList<int> asked; ///< accounts, in the order in which Google was asked for them

private:
    void add(const QString &id, qint64 expiresAt, qint64 nowMs)
    {
        store::AccountRow row = renewal::test::accountRow(id, id + u"@example.com"_s, expiresAt);
        row.account.project = u"default"_s;
        row.account.client = u"default"_s;
        core::Subscription &subscription = row.subscriptions.first();
        subscription.nextTargetAt = core::firstTarget(id, expiresAt, nowMs);
        subscription.dueAt = core::dueAt(expiresAt, subscription.nextTargetAt, 0);
        m_world.store.add(row);
    }

    /// Asks for both, as one renewal does: what Gmail says waits for the plugin.
    QCoro::Task<oauth::TokenResult> token(core::Account account)
    {
        const int number = account.id.toInt();
        asked.append(number);
        const bool isKept = nowMs() < m_tokenUntil.at(number);
        const Answers answers = m_google.renew(number, isKept, nowMs());
        if (answers.watch)
            m_world.provider.next = {watchOutcomeOf(*answers.watch, nowMs())};
        if (answers.token && answers.token->status != 200) {
            const core::Outcome refused =
                core::tokenFailure(tokenAnswerOf(*answers.token), core::GrantKind::Stored);
            if (core::stopsAccount(refused))
                m_incidents.stoppedAt.insert(account.id, nowMs());
            co_return oauth::TokenResult(tl::unexpected(refused));
        }
        if (!isKept)
            m_tokenUntil[number] = nowMs() + 3'599'000 / 10 * 9;
        co_return oauth::TokenResult(oauth::AccessToken{u"ya29.simulated"_s, 0, {}, isKept});
    }

    World m_world;
    Google m_google;
    Waves m_incidents;
    Random m_jitter;
    QList<qint64> m_tokenUntil;
};

QString shown(const core::Subscription &row, core::AccountState state)
{
    return u"%1: expires %2, target %3, attempt %4, %5 failures, %6 %7, %8"_s.arg(row.id)
        .arg(row.expiresAt)
        .arg(row.nextTargetAt)
        .arg(row.nextAttemptAt)
        .arg(row.attempts)
        .arg(row.errorClass, row.errorCode, toString(state));
}

} // namespace

/// The simulated composition of the engine's decisions comes to what the engine comes to: the same answers, given to
/// both at the same moments, leave the same rows and the same order of calls.
class TestLikeEngine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sameAnswersSameRows_data();
    void sameAnswersSameRows();
};

void TestLikeEngine::sameAnswersSameRows_data()
{
    QTest::addColumn<QList<Outage>>("outages");
    QTest::addColumn<double>("errors");
    QTest::addColumn<double>("revoked");
    QTest::addColumn<QString>("event"); // without which the row would compare nothing
    const auto of = [](Trouble trouble, qint64 fromHour) {
        return QList<Outage>{{trouble, fromHour * core::hourMs, 3 * core::hourMs}};
    };
    QTest::newRow("calm") << QList<Outage>() << 0. << 0. << u"account.renewed"_s;
    QTest::newRow("errors") << QList<Outage>() << 0.2 << 0. << u"renewal.failed"_s;
    QTest::newRow("revoked") << QList<Outage>() << 0. << 0.3 << u"account.reauth_required"_s;
    QTest::newRow("secret") << of(Trouble::Secret, 2) << 0.02 << 0. << u"project.breaker_open"_s;
    QTest::newRow("topic") << of(Trouble::Topic, 2) << 0.02 << 0. << u"project.breaker_open"_s;
    QTest::newRow("google") << of(Trouble::Google, 0) << 0. << 0. << u"project.breaker_closed"_s;
    QTest::newRow("network") << of(Trouble::Network, 0) << 0. << 0.1 << u"project.breaker_closed"_s;
    QTest::newRow("grants") << of(Trouble::Grants, 2) << 0. << 0. << u"wave.recovered"_s;
    const QList<Outage> all{{Trouble::Google, 0, core::hourMs},
                            {Trouble::Secret, 2 * core::hourMs, core::hourMs},
                            {Trouble::Topic, 7 * core::hourMs / 2, core::hourMs / 2},
                            {Trouble::Grants, 5 * core::hourMs, 3 * core::hourMs}};
    QTest::newRow("all") << all << 0.05 << 0. << u"wave.recovered"_s;
}

void TestLikeEngine::sameAnswersSameRows()
{
    QFETCH(QList<Outage>, outages);
    QFETCH(double, errors);
    QFETCH(double, revoked);
    QFETCH(QString, event);
    Scenario scenario;
    scenario.accounts = 120;
    scenario.days = 1;
    scenario.clusterMs = scenario.lifetimeMs; // some are urgent at once, most have days
    scenario.outages = outages;
    scenario.errors = errors;
    scenario.revoked = revoked;

    OurPolicy policy(scenario);
    Google google(scenario);
    Engine engine(scenario);
    QList<int> asked;
    for (qint64 nowMs = scenario.startMs; nowMs < scenario.startMs + 12 * core::hourMs;) {
        policy.scan(nowMs);
        while (const std::optional<int> account = policy.next(nowMs)) {
            asked.append(*account);
            policy.ended(*account, google.renew(*account, policy.keepsToken(*account, nowMs), nowMs), nowMs);
        }
        engine.scanAndWork(nowMs);
        QCOMPARE(engine.asked, asked);
        for (int account = 0; account < scenario.accounts; ++account) {
            const store::AccountRow row = engine.row(account);
            QCOMPARE(shown(policy.row(account), policy.state(account)),
                     shown(row.subscriptions.first(), row.account.state));
        }
        QCOMPARE(policy.incidents().nextWakeAt(nowMs), engine.nextWakeAt());
        nowMs = std::max(nowMs + 1, policy.nextScanAt(nowMs));
    }
    QVERIFY(asked.size() > scenario.accounts / 4);
    QVERIFY2(engine.count(event) > 0, qPrintable(event));
}

QTEST_GUILESS_MAIN(TestLikeEngine)
#include "tst_likeengine.moc"
