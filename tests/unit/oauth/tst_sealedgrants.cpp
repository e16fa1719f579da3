// SPDX-License-Identifier: Apache-2.0
// From the sealed row in the database to Google and back.
#include "oauth/sealedgrants.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;

namespace {

const QString a = u"a"_s;

} // namespace

class TestSealedGrants : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void readsWhatWasSealed();
    void noneIsNotFound();
    void anotherKeyIsAFaultOfOurs();
    void rotationReplacesTheToken();
    void rotationLosesAgainstANewerToken();

private:
    void put(const QByteArray &token)
    {
        store::AccountChange change;
        change.email = u"a@example.com"_s;
        change.grant.kind = store::GrantChange::Kind::Set;
        change.grant.sealedRefreshToken = *m_sealing->seal(token, a);
        change.grant.keyId = m_sealing->keyId();
        change.grant.fingerprint = m_sealing->valueFingerprint(token);
        QVERIFY(QCoro::waitFor(m_accounts->put(a, change, m_clock.nowMs())).has_value());
    }
    QString tokenOf(const QString &account)
    {
        const Result<QString> token = QCoro::waitFor(m_source->refreshToken(account));
        return token ? *token : token.error().code;
    }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::GrantStore> m_grants;
    std::shared_ptr<const Sealing> m_sealing;
    std::unique_ptr<SealedGrants> m_source;
    test::FakeClock m_clock;
};

void TestSealedGrants::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    m_grants = std::make_unique<store::GrantStore>(m_database->database());
    m_sealing = std::make_shared<const Sealing>(QByteArray(Sealing::keyBytes, 'k'));
    m_source = std::make_unique<SealedGrants>(*m_accounts, *m_grants, m_sealing, m_clock);
}

void TestSealedGrants::cleanup()
{
    m_source.reset();
    m_database.reset();
}

void TestSealedGrants::readsWhatWasSealed()
{
    put("1//refresh");
    QCOMPARE(tokenOf(a), u"1//refresh"_s);
}

void TestSealedGrants::noneIsNotFound()
{
    QCOMPARE(tokenOf(u"nobody"_s), u"not_found"_s);
}

void TestSealedGrants::anotherKeyIsAFaultOfOurs()
{
    put("1//refresh");
    const auto other = std::make_shared<const Sealing>(QByteArray(Sealing::keyBytes, 'x'));
    SealedGrants source(*m_accounts, *m_grants, other, m_clock);
    const Result<QString> token = QCoro::waitFor(source.refreshToken(a));
    QVERIFY(!token.has_value());
    QCOMPARE(token.error().code, u"grant_unreadable"_s);
}

void TestSealedGrants::rotationReplacesTheToken()
{
    put("1//refresh");
    QVERIFY(QCoro::waitFor(m_source->rotate(a, u"1//refresh"_s, u"1//next"_s)).has_value());
    QCOMPARE(tokenOf(a), u"1//next"_s);
}

void TestSealedGrants::rotationLosesAgainstANewerToken()
{
    put("1//refresh");
    put("1//from the user");
    const Result<> rotated = QCoro::waitFor(m_source->rotate(a, u"1//refresh"_s, u"1//next"_s));
    QVERIFY(!rotated.has_value());
    QCOMPARE(rotated.error().code, u"conflict"_s);
    QCOMPARE(tokenOf(a), u"1//from the user"_s);
}

QTEST_GUILESS_MAIN(TestSealedGrants)
#include "tst_sealedgrants.moc"
