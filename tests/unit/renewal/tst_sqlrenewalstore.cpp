// SPDX-License-Identifier: Apache-2.0
#include "core/planner.h"
#include "renewal/sqlrenewalstore.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::renewal;

class TestSqlRenewalStore : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void dueThenSavedThenNot();
    void staleGenerationIsAConflict();
    void retireTakesTheTokenOutOfUse();
    void retireOfAGrantThatIsNotOurs();
    void retireLosesAgainstANewerToken();
    void leavingAndPurged();
    void sharedMailbox();

private:
    core::Account put(const QString &id, const QString &email, core::GrantKind kind = core::GrantKind::Stored,
                      const QByteArray &token = "sealed")
    {
        store::AccountChange change;
        change.email = email;
        change.grant.kind = store::GrantChange::Kind::Set;
        change.grant.grantKind = kind;
        if (kind == core::GrantKind::Stored) {
            change.grant.sealedRefreshToken = token;
            change.grant.keyId = u"k"_s;
            change.grant.fingerprint = QString::fromLatin1(token);
        }
        return QCoro::waitFor(m_accounts->put(id, change, now()))->row.account;
    }
    store::AccountRow find(const QString &id) { return *QCoro::waitFor(m_store->find(id)); }
    void leave(const QString &id)
    {
        store::AccountChange change;
        change.state = core::AccountState::Leaving;
        QVERIFY(QCoro::waitFor(m_accounts->patch(id, change, now())).has_value());
    }
    qint64 now() const { return m_clock.nowMs(); }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::GrantStore> m_grants;
    std::unique_ptr<store::PaceStore> m_pace;
    std::unique_ptr<SqlRenewalStore> m_store;
    test::FakeClock m_clock;
};

void TestSqlRenewalStore::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    m_grants = std::make_unique<store::GrantStore>(m_database->database());
    m_pace = std::make_unique<store::PaceStore>(m_database->database());
    m_store = std::make_unique<SqlRenewalStore>(*m_accounts, *m_grants, *m_pace);
}

void TestSqlRenewalStore::cleanup()
{
    m_store.reset();
    m_database.reset();
}

void TestSqlRenewalStore::dueThenSavedThenNot()
{
    put(u"a"_s, u"a@example.com"_s);
    QCOMPARE(QCoro::waitFor(m_store->due(now(), 10))->size(), 1);
    core::Subscription row = find(u"a"_s).subscriptions.first();
    row.expiresAt = now() + 7 * core::dayMs;
    row.nextTargetAt = now() + core::dayMs;
    QVERIFY(QCoro::waitFor(m_store->save(row)).has_value());
    QVERIFY(QCoro::waitFor(m_store->due(now(), 10))->isEmpty());
    QCOMPARE(QCoro::waitFor(m_store->due(now() + core::dayMs, 10))->size(), 1);
}

void TestSqlRenewalStore::staleGenerationIsAConflict()
{
    put(u"a"_s, u"a@example.com"_s);
    const core::Subscription row = find(u"a"_s).subscriptions.first();
    QVERIFY(QCoro::waitFor(m_store->save(row)).has_value());
    QCOMPARE(QCoro::waitFor(m_store->save(row)).error().code, u"conflict"_s);
}

void TestSqlRenewalStore::retireTakesTheTokenOutOfUse()
{
    const core::Account account = put(u"a"_s, u"a@example.com"_s);
    QVERIFY(QCoro::waitFor(m_store->retire(account, u"invalid_grant"_s, now())).has_value());
    const core::Account after = find(u"a"_s).account;
    QCOMPARE(toString(after.state), u"needs_reauth"_s);
    QCOMPARE(after.stateReason, u"invalid_grant"_s);
    QVERIFY(!after.hasRefreshToken);
    QVERIFY(QCoro::waitFor(m_store->due(now() + core::dayMs, 10))->isEmpty());
}

void TestSqlRenewalStore::retireOfAGrantThatIsNotOurs()
{
    const core::Account account = put(u"a"_s, u"a@example.com"_s, core::GrantKind::Http);
    QVERIFY(QCoro::waitFor(m_store->retire(account, u"invalid_grant"_s, now())).has_value());
    QCOMPARE(toString(find(u"a"_s).account.state), u"needs_reauth"_s);
}

void TestSqlRenewalStore::retireLosesAgainstANewerToken()
{
    const core::Account account = put(u"a"_s, u"a@example.com"_s);
    put(u"a"_s, u"a@example.com"_s, core::GrantKind::Stored, "newer");
    const Result<> retired = QCoro::waitFor(m_store->retire(account, u"invalid_grant"_s, now()));
    QCOMPARE(retired.error().code, u"conflict"_s);
    QCOMPARE(toString(find(u"a"_s).account.state), u"active"_s);
}

void TestSqlRenewalStore::leavingAndPurged()
{
    put(u"a"_s, u"a@example.com"_s);
    put(u"b"_s, u"b@example.com"_s);
    QVERIFY(QCoro::waitFor(m_store->leaving(now(), 10))->isEmpty());
    leave(u"a"_s);
    const auto leaving = QCoro::waitFor(m_store->leaving(now(), 10));
    QCOMPARE(leaving->size(), 1);
    QCOMPARE(leaving->first().account.id, u"a"_s);
    QVERIFY(!QCoro::waitFor(m_store->purge(u"b"_s)).has_value()); // not leaving
    QVERIFY(QCoro::waitFor(m_store->purge(u"a"_s)).has_value());
    QCOMPARE(QCoro::waitFor(m_store->find(u"a"_s)).error().code, u"not_found"_s);
}

void TestSqlRenewalStore::sharedMailbox()
{
    const core::Account a = put(u"a"_s, u"one@example.com"_s);
    put(u"b"_s, u"one@example.com"_s);
    put(u"c"_s, u"other-one@example.com"_s);
    QVERIFY(*QCoro::waitFor(m_store->mailboxIsShared(a, now())));
    QVERIFY(!*QCoro::waitFor(m_store->mailboxIsShared(find(u"c"_s).account, now())));
    leave(u"b"_s);
    QVERIFY(!*QCoro::waitFor(m_store->mailboxIsShared(a, now())));
}

QTEST_GUILESS_MAIN(TestSqlRenewalStore)
#include "tst_sqlrenewalstore.moc"
