// SPDX-License-Identifier: Apache-2.0
#include "store/accountstore.h"
#include "store/grantstore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using core::AccountState;
using store::AccountChange;
using store::AccountRow;
using store::AccountStore;
using store::GrantChange;
using store::GrantStore;

namespace {

constexpr qint64 now = 1'800'000'000'000;

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

GrantChange token(const QString &fingerprint)
{
    GrantChange grant;
    grant.kind = GrantChange::Kind::Set;
    grant.sealedRefreshToken = "sealed " + fingerprint.toLatin1();
    grant.keyId = u"k1"_s;
    grant.fingerprint = fingerprint;
    return grant;
}

} // namespace

class GrantStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void retiredTokenIsOutOfUseButKept();
    void newerTokenWinsOverRetiring();
    void restoredTokenIsUsedAgain();
    void restoreWithoutARetiredToken();
    void newTokenReplacesARetiredOne();
    void shredTakesOnlyWhatIsOldEnough();
    void rotationKeepsStateAndPlan();
    void rotationLosesAgainstANewToken();

private:
    AccountRow account() { return *wait(m_accounts->find(u"a1"_s)); }
    void put(const QString &fingerprint)
    {
        AccountChange change;
        change.email = u"kim@example.com"_s;
        change.grant = token(fingerprint);
        QVERIFY(wait(m_accounts->put(u"a1"_s, change, now)).has_value());
    }
    void retire()
    {
        QVERIFY(wait(m_grants->retire(u"a1"_s, u"invalid_grant"_s, account().account.generation, now))
                    .has_value());
    }
    int grants() { return m_database->sql(u"SELECT COUNT(*) FROM grants"_s).toInt(); }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<AccountStore> m_accounts;
    std::unique_ptr<GrantStore> m_grants;
};

void GrantStoreTest::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<AccountStore>(m_database->database());
    m_grants = std::make_unique<GrantStore>(m_database->database());
    put(u"t1"_s);
}

void GrantStoreTest::retiredTokenIsOutOfUseButKept()
{
    retire();
    QVERIFY(account().account.state == AccountState::NeedsReauth);
    QCOMPARE(account().account.stateReason, u"invalid_grant"_s);
    QVERIFY(!account().account.hasRefreshToken);
    QCOMPARE(wait(m_accounts->sealedGrant(u"a1"_s)).error().code, u"not_found"_s);
    QVERIFY(wait(m_accounts->due(now, 10))->isEmpty());
    QCOMPARE(grants(), 1);
}

void GrantStoreTest::newerTokenWinsOverRetiring()
{
    const qint64 generation = account().account.generation;
    put(u"t2"_s);
    const Result<> late = wait(m_grants->retire(u"a1"_s, u"invalid_grant"_s, generation, now));
    QCOMPARE(late.error().code, u"conflict"_s);
    QVERIFY(account().account.state == AccountState::Active);
    QCOMPARE(wait(m_accounts->sealedGrant(u"a1"_s))->fingerprint, u"t2"_s);
}

void GrantStoreTest::restoredTokenIsUsedAgain()
{
    retire();
    QVERIFY(wait(m_grants->restore(u"a1"_s, now + 1)).has_value());
    QVERIFY(account().account.state == AccountState::Active);
    QVERIFY(account().account.stateReason.isEmpty());
    QVERIFY(account().account.hasRefreshToken);
    QCOMPARE(wait(m_accounts->sealedGrant(u"a1"_s))->sealedRefreshToken, QByteArray("sealed t1"));
    QCOMPARE(wait(m_accounts->due(now + 1, 10))->size(), 1);
}

void GrantStoreTest::restoreWithoutARetiredToken()
{
    QCOMPARE(wait(m_grants->restore(u"a1"_s, now)).error().code, u"not_found"_s);
    QCOMPARE(wait(m_grants->restore(u"nobody"_s, now)).error().code, u"not_found"_s);
    QVERIFY(account().account.state == AccountState::Active);
}

void GrantStoreTest::newTokenReplacesARetiredOne()
{
    retire();
    put(u"t2"_s);
    QVERIFY(account().account.state == AccountState::Active);
    QCOMPARE(grants(), 1);
    QCOMPARE(wait(m_grants->restore(u"a1"_s, now)).error().code, u"not_found"_s);
    QCOMPARE(*wait(m_grants->shred(now + 1'000'000)), 0);
}

void GrantStoreTest::shredTakesOnlyWhatIsOldEnough()
{
    retire();
    QCOMPARE(*wait(m_grants->shred(now - 1)), 0);
    QCOMPARE(grants(), 1);
    QCOMPARE(*wait(m_grants->shred(now)), 1);
    QCOMPARE(grants(), 0);
    QCOMPARE(wait(m_grants->restore(u"a1"_s, now)).error().code, u"not_found"_s);
}

void GrantStoreTest::rotationKeepsStateAndPlan()
{
    const AccountRow before = account();
    QVERIFY(wait(m_grants->rotate(u"a1"_s, u"t1"_s, token(u"t2"_s), now + 5)).has_value());
    QCOMPARE(wait(m_accounts->sealedGrant(u"a1"_s))->fingerprint, u"t2"_s);
    QCOMPARE(account().subscriptions[0].nextTargetAt, before.subscriptions[0].nextTargetAt);
    QVERIFY(account().account.generation > before.account.generation);
}

void GrantStoreTest::rotationLosesAgainstANewToken()
{
    put(u"t3"_s);
    const Result<> late = wait(m_grants->rotate(u"a1"_s, u"t1"_s, token(u"t2"_s), now));
    QCOMPARE(late.error().code, u"conflict"_s);
    QCOMPARE(wait(m_accounts->sealedGrant(u"a1"_s))->fingerprint, u"t3"_s);
}

QTEST_GUILESS_MAIN(GrantStoreTest)
#include "tst_grantstore.moc"
