// SPDX-License-Identifier: Apache-2.0
#include "store/accountstore.h"
#include "store/grantstore.h"
#include "store/wavestore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using core::AccountState;

namespace {

constexpr qint64 now = 1'800'000'000'000;

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

store::Wave wave()
{
    store::Wave wave;
    wave.project = u"default"_s;
    wave.client = u"default"_s;
    wave.code = u"invalid_grant"_s;
    wave.sinceMs = now;
    wave.openedAt = now + 1'000;
    return wave;
}

store::BreakerRow breaker(const QString &scope = {})
{
    return {scope, {{u"kind"_s, u"wave"_s}}, now, {60'000, now + 60'000, false}, 0};
}

} // namespace

class WaveStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void breakersAreComparedAndSet();
    void openingBringsBackWhomItStopped();
    void onlyItsMemberEndsIt();
    void confirmedOnceAndAudited();

private:
    store::AccountRow account(const QString &id) { return *wait(m_accounts->find(id)); }
    void put(const QString &id)
    {
        store::AccountChange change;
        change.email = id + u"@example.com"_s;
        change.grant.kind = store::GrantChange::Kind::Set;
        change.grant.sealedRefreshToken = "sealed";
        change.grant.keyId = u"k1"_s;
        change.grant.fingerprint = u"f-"_s + id;
        QVERIFY(wait(m_accounts->put(id, change, now)).has_value());
    }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::GrantStore> m_grants;
    std::unique_ptr<store::WaveStore> m_waves;
};

void WaveStoreTest::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    m_grants = std::make_unique<store::GrantStore>(m_database->database());
    m_waves = std::make_unique<store::WaveStore>(m_database->database());
    put(u"a"_s);
    put(u"b"_s);
}

void WaveStoreTest::breakersAreComparedAndSet()
{
    store::BreakerStore breakers(m_database->database());
    store::BreakerRow row = breaker(u"project\ndefault"_s);
    QVERIFY(*wait(breakers.open(row)));
    QVERIFY(!*wait(breakers.open(row)));
    row.state.probing = true;
    QVERIFY(*wait(breakers.replace(row)));
    QVERIFY(!*wait(breakers.replace(row))); // of two engines one probes
    QCOMPARE(wait(breakers.all())->first().generation, 1);
    QVERIFY(wait(breakers.all())->first().state.probing);
    QVERIFY(!*wait(breakers.close(row.scope, 0)));
    QVERIFY(*wait(breakers.close(row.scope, 1)));
    QVERIFY(wait(breakers.all())->isEmpty());
}

void WaveStoreTest::openingBringsBackWhomItStopped()
{
    // xorbitsai/xagent#1988: after a rotation of the client's secret the old tokens give invalid_grant too.
    QVERIFY(wait(m_grants->retire(u"a"_s, u"invalid_grant"_s, account(u"a"_s).account.generation, now)));
    QVERIFY(!account(u"a"_s).account.hasRefreshToken);
    const auto opened = wait(m_waves->open(wave(), breaker()));
    QVERIFY2(opened, opened ? "" : qPrintable(opened.error().text));
    QCOMPARE(opened->restored, QStringList{u"a"_s});
    QVERIFY(account(u"a"_s).account.state == AccountState::Active);
    QVERIFY(account(u"a"_s).account.hasRefreshToken);
    QCOMPARE(wait(m_waves->open(wave(), breaker())).error().code, u"conflict"_s);
    QCOMPARE(wait(m_waves->list(10))->first().members, 1);
}

void WaveStoreTest::onlyItsMemberEndsIt()
{
    const qint64 id = wait(m_waves->open(wave(), breaker()))->wave.id;
    QVERIFY(wait(m_waves->hold(id, u"a"_s, u"f-a"_s, now)));
    QVERIFY(!*wait(m_waves->recover(id, u"b"_s, u"f-b"_s, now)));
    QVERIFY(!*wait(m_waves->recover(id, u"a"_s, u"another"_s, now))); // the user connected anew
    QVERIFY(*wait(m_waves->recover(id, u"a"_s, u"f-a"_s, now)));
    QVERIFY(!*wait(m_waves->recover(id, u"a"_s, u"f-a"_s, now)));
    QCOMPARE(m_database->sql(u"SELECT COUNT(*) FROM breakers"_s).toInt(), 0);
    QVERIFY(wait(m_waves->current(0))->isEmpty());
}

void WaveStoreTest::confirmedOnceAndAudited()
{
    QCOMPARE(wait(m_waves->confirm(7, u"kim"_s, now)).error().code, u"not_found"_s);
    const qint64 id = wait(m_waves->open(wave(), breaker()))->wave.id;
    QCOMPARE(wait(m_waves->confirm(id, u"kim"_s, now))->endedBy, u"kim"_s);
    QCOMPARE(wait(m_waves->confirm(id, u"kim"_s, now)).error().code, u"conflict"_s);
    QCOMPARE(m_database->sql(u"SELECT COUNT(*) FROM audit WHERE action = 'wave.confirm'"_s).toInt(), 1);
    QCOMPARE(wait(m_waves->current(now - 1))->size(), 1);
    QVERIFY(wait(m_waves->current(now))->isEmpty());
}

QTEST_GUILESS_MAIN(WaveStoreTest)
#include "tst_wavestore.moc"
