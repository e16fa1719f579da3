// SPDX-License-Identifier: Apache-2.0
// All secrets of a database move to another sealing key, however often the change is cut short.
#include "oauth/keychange.h"
#include "oauth/sealedgrants.h"
#include "store/accountwriter.h"
#include "store/devicestore.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <QtCore/QFile>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;
using Table = store::SealedValues::Table;

namespace {

constexpr int accounts = 1'203; // three batches, the last one not full

std::shared_ptr<const Sealing> sealing(char filler)
{
    return std::make_shared<const Sealing>(QByteArray(Sealing::keyBytes, filler));
}

QString idOf(int number)
{
    return u"account-"_s + QString::number(10'000 + number);
}

} // namespace

class TestKeyChange : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void everythingMoves();
    void cutShortAtAnyPoint_data();
    void cutShortAtAnyPoint();
    void noEngineStartsInBetween();
    void aThirdKeyIsRefused();
    void whatDoesNotOpenIsCountedAndKept();
    void whatAnEngineStoredMeanwhileMovesNextTime();

private:
    void fill();
    void checkAllOn(const std::shared_ptr<const Sealing> &key);
    Result<KeyChange::Progress> run(const std::shared_ptr<const Sealing> &from,
                                    const std::shared_ptr<const Sealing> &to)
    {
        KeyChange change(from, to, *m_values, *m_settings);
        return QCoro::waitFor(change.run(1'000, [this](const auto &each) { m_reports.append(each.done); }));
    }
    /// What a change has done when it is killed after some batches: their rows, and the mark.
    void beKilledAfter(int batches);
    QString openWith(const QByteArray &keyText)
    {
        const QString file = m_database->folder() + u"/try.key"_s;
        QFile out(file);
        if (!out.open(QIODevice::WriteOnly) || !out.setPermissions(QFile::ReadOwner | QFile::WriteOwner))
            qFatal("The key file cannot be written.");
        out.write(keyText.toHex());
        out.close();
        const auto opened = QCoro::waitFor(Sealing::open(file, *m_settings, 1'000));
        return opened ? u"starts"_s : opened.error().code;
    }
    void noteIdentity(const QJsonObject &identity)
    {
        QVERIFY(QCoro::waitFor(m_settings->set(u"sealing.key"_s, identity, u"test"_s, 1)).has_value());
    }
    QJsonObject identity()
    {
        return QCoro::waitFor(m_settings->all(u"sealing.key"_s))->value(u"sealing.key"_s);
    }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::GrantStore> m_grants;
    std::unique_ptr<store::DeviceStore> m_devices;
    std::unique_ptr<store::SealedValues> m_values;
    std::unique_ptr<store::SettingsStore> m_settings;
    std::shared_ptr<const Sealing> m_old = sealing('o');
    std::shared_ptr<const Sealing> m_new = sealing('n');
    QList<qint64> m_reports;
    test::FakeClock m_clock;
};

void TestKeyChange::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    m_grants = std::make_unique<store::GrantStore>(m_database->database());
    m_devices = std::make_unique<store::DeviceStore>(m_database->database());
    m_values = std::make_unique<store::SealedValues>(m_database->database());
    m_settings = std::make_unique<store::SettingsStore>(m_database->database());
    m_reports.clear();
    noteIdentity({{u"fingerprint"_s, m_old->fingerprint()}});
    fill();
}

void TestKeyChange::cleanup()
{
    m_database.reset();
}

void TestKeyChange::fill()
{
    QCoro::waitFor(m_database->database().transaction([this](QSqlDatabase &db) -> Result<> {
        store::AccountWriter writer(db);
        for (int i = 0; i < accounts; ++i) {
            const QByteArray token = "1//token-" + QByteArray::number(i);
            store::AccountChange change;
            change.email = idOf(i) + u"@example.com"_s;
            change.grant.kind = store::GrantChange::Kind::Set;
            change.grant.sealedRefreshToken = *m_old->seal(token, idOf(i));
            change.grant.keyId = m_old->keyId();
            change.grant.fingerprint = m_old->valueFingerprint(token);
            if (const auto put = writer.put(idOf(i), change, 1); !put)
                return fail(put.error());
        }
        return {};
    }));
    for (int i = 0; i < 3; ++i) {
        const QByteArray token = "device-" + QByteArray::number(i);
        store::DeviceChange device{*m_old->seal(token, idOf(i)), m_old->keyId(),
                                   m_old->valueFingerprint(token), u"android"_s, u"ko"_s};
        QVERIFY(QCoro::waitFor(m_devices->put(idOf(i), device, 1)).has_value());
    }
    const auto row = QCoro::waitFor(m_accounts->find(idOf(7)));
    QVERIFY(QCoro::waitFor(m_grants->retire(idOf(7), u"invalid_grant"_s, row->account.generation, 1))
                .has_value());
}

void TestKeyChange::checkAllOn(const std::shared_ptr<const Sealing> &key)
{
    QCOMPARE(*QCoro::waitFor(m_values->count(key->keyId())), 0);
    SealedGrants source(*m_accounts, *m_grants, key, m_clock);
    for (const int i : {0, 499, 500, 999, 1'000, accounts - 1})
        QCOMPARE(*QCoro::waitFor(source.refreshToken(idOf(i))), u"1//token-%1"_s.arg(i));
    // A retired one too: when it is restored, it has to open.
    QVERIFY(QCoro::waitFor(m_grants->restore(idOf(7), 2)).has_value());
    QCOMPARE(*QCoro::waitFor(source.refreshToken(idOf(7))), u"1//token-7"_s);
    // Fingerprints move as well, or no rotation would ever fit.
    QVERIFY(QCoro::waitFor(source.rotate(idOf(0), u"1//token-0"_s, u"1//rotated"_s)).has_value());
    for (int i = 0; i < 3; ++i) {
        const store::Device device = QCoro::waitFor(m_devices->list(idOf(i)))->first();
        QCOMPARE(*key->unseal(device.sealedToken, device.keyId, idOf(i)), "device-" + QByteArray::number(i));
    }
}

void TestKeyChange::beKilledAfter(int batches)
{
    noteIdentity({{u"fingerprint"_s, m_old->fingerprint()}, {u"next"_s, m_new->fingerprint()}});
    QString after;
    for (int i = 0; i < batches; ++i) {
        const auto batch = *QCoro::waitFor(m_values->next(Table::Grants, after, m_new->keyId(), 500));
        QList<store::SealedValues::Replacement> replacements;
        for (const store::SealedValue &value : batch) {
            const QByteArray plain = *m_old->unseal(value.sealed, value.keyId, value.account);
            replacements.append({value.sealed,
                                 {value.id, value.account, m_new->keyId(), *m_new->seal(plain, value.account),
                                  m_new->valueFingerprint(plain)}});
        }
        QVERIFY(QCoro::waitFor(m_values->replace(Table::Grants, replacements)).has_value());
        after = batch.last().id;
    }
}

void TestKeyChange::everythingMoves()
{
    const Result<KeyChange::Progress> done = run(m_old, m_new);
    QVERIFY2(done.has_value(), done ? "" : qPrintable(done.error().text));
    QCOMPARE(done->done, accounts + 3);
    QCOMPARE(done->total, accounts + 3);
    QCOMPARE(done->unreadable, 0);
    QCOMPARE(m_reports, (QList<qint64>{500, 1'000, accounts, accounts + 3}));
    QCOMPARE(identity(), (QJsonObject{{u"fingerprint"_s, m_new->fingerprint()}}));
    checkAllOn(m_new);
}

void TestKeyChange::cutShortAtAnyPoint_data()
{
    QTest::addColumn<int>("batches");
    QTest::newRow("before the first batch") << 0;
    QTest::newRow("after one") << 1;
    QTest::newRow("after all grants, before the devices and the switch") << 3;
}

void TestKeyChange::cutShortAtAnyPoint()
{
    QFETCH(int, batches);
    beKilledAfter(batches);
    QCOMPARE(openWith(QByteArray(Sealing::keyBytes, 'o')), u"sealing_change_unfinished"_s);
    const Result<KeyChange::Progress> done = run(m_old, m_new);
    QVERIFY(done.has_value());
    QCOMPARE(done->total, std::max(accounts - batches * 500, 0) + 3); // only what was left
    QCOMPARE(identity(), (QJsonObject{{u"fingerprint"_s, m_new->fingerprint()}}));
    checkAllOn(m_new);
    QCOMPARE(run(m_old, m_new)->total, 0); // once more does nothing
}

void TestKeyChange::noEngineStartsInBetween()
{
    beKilledAfter(1);
    QCOMPARE(openWith(QByteArray(Sealing::keyBytes, 'o')), u"sealing_change_unfinished"_s);
    QCOMPARE(openWith(QByteArray(Sealing::keyBytes, 'n')), u"sealing_change_unfinished"_s);
    QVERIFY(run(m_old, m_new).has_value());
    QCOMPARE(openWith(QByteArray(Sealing::keyBytes, 'o')), u"sealing_key_mismatch"_s);
    QCOMPARE(openWith(QByteArray(Sealing::keyBytes, 'n')), u"starts"_s);
}

void TestKeyChange::aThirdKeyIsRefused()
{
    QCOMPARE(run(sealing('x'), m_new).error().code, u"sealing_key_mismatch"_s);
    QCOMPARE(*QCoro::waitFor(m_values->count(m_old->keyId())), 0); // nothing was touched
    beKilledAfter(1);
    QCOMPARE(run(m_old, sealing('x')).error().code, u"sealing_change_other"_s);
    QVERIFY(run(m_old, m_new).has_value());
}

void TestKeyChange::whatDoesNotOpenIsCountedAndKept()
{
    m_database->sql(u"UPDATE grants SET sealed = 'AAAA' WHERE account = '%1'"_s.arg(idOf(5)));
    const Result<KeyChange::Progress> done = run(m_old, m_new);
    QVERIFY(done.has_value());
    QCOMPARE(done->unreadable, 1);
    QCOMPARE(m_database->sql(u"SELECT sealed FROM grants WHERE account = '%1'"_s.arg(idOf(5))).toString(),
             u"AAAA"_s);
    QCOMPARE(*QCoro::waitFor(m_values->count(m_new->keyId())), 1);
}

void TestKeyChange::whatAnEngineStoredMeanwhileMovesNextTime()
{
    QVERIFY(run(m_old, m_new).has_value());
    store::AccountChange change; // by an engine that was not stopped
    change.grant.kind = store::GrantChange::Kind::Set;
    change.grant.sealedRefreshToken = *m_old->seal("1//late", idOf(9));
    change.grant.keyId = m_old->keyId();
    change.grant.fingerprint = m_old->valueFingerprint("1//late");
    QVERIFY(QCoro::waitFor(m_accounts->put(idOf(9), change, 5)).has_value());
    QCOMPARE(run(m_old, m_new)->done, 1);
    SealedGrants source(*m_accounts, *m_grants, m_new, m_clock);
    QCOMPARE(*QCoro::waitFor(source.refreshToken(idOf(9))), u"1//late"_s);
}

QTEST_GUILESS_MAIN(TestKeyChange)
#include "tst_keychange.moc"
