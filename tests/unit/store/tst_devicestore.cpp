// SPDX-License-Identifier: Apache-2.0
#include "store/accountstore.h"
#include "store/devicestore.h"
#include "support/testdatabase.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using store::Device;
using store::DeviceChange;

namespace {

constexpr qint64 now = 1'800'000'000'000;

template<typename T>
T wait(QCoro::Task<T> &&task)
{
    return QCoro::waitFor(std::move(task));
}

DeviceChange device(const QString &fingerprint)
{
    return {"sealed " + fingerprint.toLatin1(), u"k1"_s, fingerprint, u"android"_s, u"ko"_s};
}

} // namespace

class DeviceStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void storesWhatWasGiven();
    void sameTokenIsSameDevice_data();
    void sameTokenIsSameDevice();
    void latestSeenComesFirst();
    void accountsAreApart();
    void unknownAccount();
    void leavingAccountGetsNoDevice();
    void removesOnlyItsOwn();
    void goneWithTheAccount();
    void keptOverARestart();

private:
    void putAccount(const QString &id)
    {
        store::AccountChange change;
        change.email = id + u"@example.com"_s;
        QVERIFY(wait(m_accounts->put(id, change, now)).has_value());
    }
    QList<Device> list(const QString &account = u"a1"_s) { return wait(m_devices->list(account)).value(); }
    bool put(const DeviceChange &change, qint64 atMs = now, const QString &account = u"a1"_s)
    {
        return wait(m_devices->put(account, change, atMs)).value();
    }
    void open()
    {
        m_accounts = std::make_unique<store::AccountStore>(m_database->database());
        m_devices = std::make_unique<store::DeviceStore>(m_database->database());
    }

    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::DeviceStore> m_devices;
};

void DeviceStoreTest::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    open();
    putAccount(u"a1"_s);
    putAccount(u"a2"_s);
}

void DeviceStoreTest::storesWhatWasGiven()
{
    QVERIFY(list().isEmpty());
    QVERIFY(put(device(u"t1"_s)));
    QCOMPARE(list().size(), 1);
    const Device stored = list().constFirst();
    QVERIFY(!stored.id.isEmpty());
    QVERIFY(!stored.id.contains(u"t1"_s));
    QCOMPARE(stored.platform, u"android"_s);
    QCOMPARE(stored.language, u"ko"_s);
    QCOMPARE(stored.lastSeenAt, now);
    QCOMPARE(stored.sealedToken, QByteArray("sealed t1"));
    QCOMPARE(stored.keyId, u"k1"_s);
}

// brozot/Laravel-FCM#176: a device that registered twice had two rows and got every message twice.
void DeviceStoreTest::sameTokenIsSameDevice_data()
{
    using Text = std::optional<QString>;
    QTest::addColumn<Text>("platform");
    QTest::addColumn<Text>("language");
    QTest::addColumn<QString>("platformAfter");
    QTest::addColumn<QString>("languageAfter");
    QTest::newRow("nothing given") << Text() << Text() << u"android"_s << u"ko"_s;
    QTest::newRow("platform") << Text(u"ios"_s) << Text() << u"ios"_s << u"ko"_s;
    QTest::newRow("language") << Text() << Text(u"en"_s) << u"android"_s << u"en"_s;
    QTest::newRow("both") << Text(u"ios"_s) << Text(u"en"_s) << u"ios"_s << u"en"_s;
    QTest::newRow("emptied") << Text(u""_s) << Text(u""_s) << u""_s << u""_s;
}

void DeviceStoreTest::sameTokenIsSameDevice()
{
    QFETCH(std::optional<QString>, platform);
    QFETCH(std::optional<QString>, language);
    QVERIFY(put(device(u"t1"_s)));
    const QString id = list().constFirst().id;
    QVERIFY(!put({"sealed anew", u"k2"_s, u"t1"_s, platform, language}, now + 5));
    QCOMPARE(list().size(), 1);
    const Device seen = list().constFirst();
    QCOMPARE(seen.id, id);
    QCOMPARE(seen.lastSeenAt, now + 5);
    QCOMPARE(seen.sealedToken, QByteArray("sealed anew"));
    QCOMPARE(seen.keyId, u"k2"_s);
    QTEST(seen.platform, "platformAfter");
    QTEST(seen.language, "languageAfter");
}

void DeviceStoreTest::latestSeenComesFirst()
{
    put(device(u"old"_s), now);
    put(device(u"new"_s), now + 2);
    QCOMPARE(list().constFirst().sealedToken, QByteArray("sealed new"));
    put(device(u"old"_s), now + 3);
    QCOMPARE(list().constFirst().sealedToken, QByteArray("sealed old"));
    QCOMPARE(list().size(), 2);
}

void DeviceStoreTest::accountsAreApart()
{
    put(device(u"t1"_s), now, u"a1"_s);
    put(device(u"t2"_s), now, u"a2"_s);
    QCOMPARE(list(u"a1"_s).size(), 1);
    QCOMPARE(list(u"a2"_s).constFirst().sealedToken, QByteArray("sealed t2"));
}

void DeviceStoreTest::unknownAccount()
{
    QCOMPARE(wait(m_devices->list(u"nobody"_s)).error().code, u"not_found"_s);
    QCOMPARE(wait(m_devices->put(u"nobody"_s, device(u"t1"_s), now)).error().code, u"not_found"_s);
    QCOMPARE(m_database->sql(u"SELECT COUNT(*) FROM devices"_s).toInt(), 0);
}

void DeviceStoreTest::leavingAccountGetsNoDevice()
{
    store::AccountChange leaving;
    leaving.state = core::AccountState::Leaving;
    QVERIFY(wait(m_accounts->patch(u"a1"_s, leaving, now)).has_value());
    QCOMPARE(wait(m_devices->put(u"a1"_s, device(u"t1"_s), now)).error().code, u"conflict"_s);
    QVERIFY(list().isEmpty());
}

void DeviceStoreTest::removesOnlyItsOwn()
{
    put(device(u"t1"_s));
    put(device(u"t2"_s), now + 1);
    const QString id = list().constFirst().id;
    QCOMPARE(wait(m_devices->remove(u"a2"_s, id)).error().code, u"not_found"_s);
    QCOMPARE(list().size(), 2);
    QVERIFY(wait(m_devices->remove(u"a1"_s, id)).has_value());
    QCOMPARE(list().size(), 1);
    QCOMPARE(list().constFirst().sealedToken, QByteArray("sealed t1"));
    QCOMPARE(wait(m_devices->remove(u"a1"_s, id)).error().code, u"not_found"_s);
}

void DeviceStoreTest::goneWithTheAccount()
{
    put(device(u"t1"_s));
    store::AccountChange leaving;
    leaving.state = core::AccountState::Leaving;
    QVERIFY(wait(m_accounts->patch(u"a1"_s, leaving, now)).has_value());
    QVERIFY(wait(m_accounts->purge(u"a1"_s)).has_value());
    QCOMPARE(m_database->sql(u"SELECT COUNT(*) FROM devices"_s).toInt(), 0);
}

void DeviceStoreTest::keptOverARestart()
{
    put(device(u"t1"_s));
    m_database->reopen();
    open();
    QCOMPARE(list().size(), 1);
    QVERIFY(!put(device(u"t1"_s), now + 1));
}

QTEST_GUILESS_MAIN(DeviceStoreTest)
#include "tst_devicestore.moc"
