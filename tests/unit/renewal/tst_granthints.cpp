// SPDX-License-Identifier: Apache-2.0
// From retired grants to the hint, on the accounts' database.
#include "core/planner.h"
#include "renewal/granthints.h"
#include "store/accountstore.h"
#include "store/grantstore.h"
#include "store/wavestore.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

} // namespace

class TestGrantHints : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void saidOnceByOneEngine();
    void outlivesTheGrants();
    void aRestoredGrantDidNotDie();
    void aWaveTakesItsDeathsBack();
    void forgottenAfterAMonth();

private:
    std::unique_ptr<renewal::GrantHints> engine()
    {
        return std::make_unique<renewal::GrantHints>(*m_deaths, m_clock,
                                                     [this](const QString &type, const QJsonObject &event) {
                                                         m_events.append({type, event});
                                                     });
    }
    void put(const QString &id)
    {
        store::AccountChange change;
        change.email = id + u"@example.com"_s;
        change.grant.kind = store::GrantChange::Kind::Set;
        change.grant.sealedRefreshToken = "sealed";
        change.grant.keyId = u"k"_s;
        change.grant.fingerprint = u"f-"_s + id;
        QVERIFY(wait(m_accounts->put(id, change, m_clock.nowMs())).has_value());
    }
    void retire(const QString &id)
    {
        const qint64 generation = wait(m_accounts->find(id))->account.generation;
        QVERIFY(wait(m_grants->retire(id, u"invalid_grant"_s, generation, m_clock.nowMs())).has_value());
    }
    /// Three accounts come, are renewed once after six days, and are refused a day later.
    void threeDieAtSevenDays()
    {
        for (const QString &id : ids)
            put(id);
        m_clock.advance(6 * core::dayMs);
        for (const QString &id : ids) {
            store::AccountRow row = *wait(m_accounts->find(id));
            core::Subscription subscription = row.subscriptions.first();
            subscription.lastSuccessAt = m_clock.nowMs();
            QVERIFY(wait(m_accounts->compareAndSet(subscription)).has_value());
        }
        m_clock.advance(core::dayMs);
        for (const QString &id : ids)
            retire(id);
    }

    const QStringList ids{u"a"_s, u"b"_s, u"c"_s};
    test::FakeClock m_clock;
    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::GrantStore> m_grants;
    std::unique_ptr<store::GrantDeathStore> m_deaths;
    QList<std::pair<QString, QJsonObject>> m_events;
};

void TestGrantHints::init()
{
    m_events.clear();
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    m_grants = std::make_unique<store::GrantStore>(m_database->database());
    m_deaths = std::make_unique<store::GrantDeathStore>(m_database->database());
}

// hanydd/BilibiliSponsorBlock#330, insanum/gcalcli#628
void TestGrantHints::saidOnceByOneEngine()
{
    threeDieAtSevenDays();
    const auto first = engine();
    const auto second = engine();
    wait(first->look());
    wait(second->look());
    wait(first->look());
    QCOMPARE(m_events.size(), 1);
    QCOMPARE(m_events.first().first, u"consent_screen_in_testing"_s);
    QCOMPARE(m_events.first().second["client"_L1].toString(), u"default"_s);
    // Whoever told it, every engine shows it.
    QCOMPARE(second->status().size(), 1);
    QCOMPARE(second->status().first()["code"_L1].toString(), u"consent_screen_in_testing"_s);
    QVERIFY(second->of(u"default"_s, u"default"_s).contains(u"Publish the app"_s));
    QVERIFY(second->of(u"default"_s, u"other"_s).isEmpty());

    m_clock.advance(core::grantDeathsShownMs);
    wait(first->look());
    QVERIFY(first->status().isEmpty());
}

void TestGrantHints::outlivesTheGrants()
{
    threeDieAtSevenDays();
    m_clock.advance(4 * core::dayMs);
    QCOMPARE(*wait(m_grants->shred(m_clock.nowMs())), 3);
    const auto hints = engine();
    wait(hints->look());
    QCOMPARE(hints->status().size(), 1);
    QCOMPARE(hints->status().first()["deaths"_L1].toInt(), 3);
}

void TestGrantHints::aRestoredGrantDidNotDie()
{
    threeDieAtSevenDays();
    QVERIFY(wait(m_grants->restore(u"a"_s, m_clock.nowMs())).has_value());
    const auto hints = engine();
    wait(hints->look());
    QVERIFY(hints->status().isEmpty());
    QVERIFY(m_events.isEmpty());
}

void TestGrantHints::aWaveTakesItsDeathsBack()
{
    threeDieAtSevenDays();
    store::Wave wave;
    wave.project = u"default"_s;
    wave.client = u"default"_s;
    wave.code = u"invalid_grant"_s;
    wave.sinceMs = m_clock.nowMs() - core::hourMs;
    wave.openedAt = m_clock.nowMs();
    store::WaveStore waves(m_database->database());
    const auto opened = wait(waves.open(wave, {u"scope"_s, {}, m_clock.nowMs(), {}, 0}));
    QVERIFY(opened.has_value());
    QCOMPARE(opened->restored.size(), 3);
    const auto hints = engine();
    wait(hints->look());
    QVERIFY(hints->status().isEmpty());
}

void TestGrantHints::forgottenAfterAMonth()
{
    threeDieAtSevenDays();
    m_clock.advance(renewal::GrantHints::keptDays * core::dayMs - 1);
    wait(engine()->look());
    QCOMPARE(wait(m_deaths->since(0))->size(), 3);
    m_clock.advance(1);
    wait(engine()->look());
    QCOMPARE(wait(m_deaths->since(0))->size(), 0);
}

QTEST_GUILESS_MAIN(TestGrantHints)
#include "tst_granthints.moc"
