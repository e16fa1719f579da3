// SPDX-License-Identifier: Apache-2.0
#include "oauth/sealing.h"
#include "store/settingsstore.h"
#include "support/testdatabase.h"

#include <QCoro/QCoroTask>
#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QThread>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using oauth::Sealing;

class SealingTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void roundTrip_data();
    void roundTrip();
    void neverTheSameTwice();
    void everyChangedByteIsNoticed();
    void boundToTheAccount();
    void anotherKeyIsNamed();
    void fingerprintsTellEqualityOnly();
    void firstStartMakesThePrivateKey();
    void secondStartFindsItAgain();
    void refusedKeyFiles_data();
    void refusedKeyFiles();
    void anotherKeyFileDoesNotStart();
    void lostKeyIsNotReplaced();
    void ofTwoFirstStartsOneDecides();
    void unwritableFolder();

private:
    using Opened = Result<std::shared_ptr<const Sealing>>;
    static Opened open(const QString &keyFile, test::TestDatabase &database)
    {
        store::SettingsStore settings(database.database());
        return QCoro::waitFor(Sealing::open(keyFile, settings, 1));
    }
    static void write(const QString &file, const QByteArray &text, QFile::Permissions permissions)
    {
        QFile out(file);
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(text);
        QVERIFY(out.setPermissions(permissions));
    }

    static constexpr auto ownerOnly = QFile::ReadOwner | QFile::WriteOwner;
    const Sealing m_sealing{QByteArray(Sealing::keyBytes, 'k')};
};

void SealingTest::roundTrip_data()
{
    QTest::addColumn<QByteArray>("plain");
    QTest::newRow("a refresh token") << QByteArray("1//0gABCdef-_xyz");
    QTest::newRow("empty") << QByteArray("");
    QTest::newRow("binary") << QByteArray("\0\xff\n\0", 4);
    QTest::newRow("long") << QByteArray(100'000, 'x');
}

void SealingTest::roundTrip()
{
    QFETCH(QByteArray, plain);
    const Result<QByteArray> sealed = m_sealing.seal(plain, u"a1"_s);
    QVERIFY(sealed.has_value());
    QCOMPARE(sealed->size(), plain.size() + 29);
    if (!plain.isEmpty())
        QVERIFY(!sealed->contains(plain));
    const Result<QByteArray> opened = m_sealing.unseal(*sealed, m_sealing.keyId(), u"a1"_s);
    QVERIFY(opened.has_value());
    QCOMPARE(*opened, plain);
}

void SealingTest::neverTheSameTwice()
{
    QVERIFY(*m_sealing.seal("token", u"a1"_s) != *m_sealing.seal("token", u"a1"_s));
}

// A value that does not open is a fault of this side, never an empty token and never "revoked"
// (langgenius/dify-official-plugins#3461).
void SealingTest::everyChangedByteIsNoticed()
{
    const QByteArray sealed = *m_sealing.seal("token", u"a1"_s);
    for (qsizetype i = 0; i < sealed.size(); ++i) {
        QByteArray changed = sealed;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        const Result<QByteArray> opened = m_sealing.unseal(changed, m_sealing.keyId(), u"a1"_s);
        QVERIFY(!opened.has_value());
        QCOMPARE(opened.error().code, u"sealed_value_damaged"_s);
    }
    for (qsizetype size = 0; size < sealed.size(); ++size)
        QVERIFY(!m_sealing.unseal(sealed.left(size), m_sealing.keyId(), u"a1"_s).has_value());
}

void SealingTest::boundToTheAccount()
{
    const QByteArray sealed = *m_sealing.seal("token", u"a1"_s);
    const Result<QByteArray> opened = m_sealing.unseal(sealed, m_sealing.keyId(), u"a2"_s);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"sealed_value_damaged"_s);
}

void SealingTest::anotherKeyIsNamed()
{
    const Sealing other(QByteArray(Sealing::keyBytes, 'o'));
    QVERIFY(other.fingerprint() != m_sealing.fingerprint());
    const QByteArray sealed = *other.seal("token", u"a1"_s);
    const Result<QByteArray> opened = m_sealing.unseal(sealed, other.keyId(), u"a1"_s);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"sealing_key_unknown"_s);
    QVERIFY(opened.error().text.contains(other.keyId()));
    QVERIFY(!m_sealing.unseal(sealed, m_sealing.keyId(), u"a1"_s).has_value());
}

void SealingTest::fingerprintsTellEqualityOnly()
{
    const Sealing other(QByteArray(Sealing::keyBytes, 'o'));
    QCOMPARE(m_sealing.valueFingerprint("token"), m_sealing.valueFingerprint("token"));
    QVERIFY(m_sealing.valueFingerprint("token") != m_sealing.valueFingerprint("Token"));
    QVERIFY(m_sealing.valueFingerprint("token") != other.valueFingerprint("token"));
}

void SealingTest::firstStartMakesThePrivateKey()
{
    test::TestDatabase database;
    const QString file = database.folder() + u"/sealing.key"_s;
    const Opened opened = open(file, database);
    QVERIFY2(opened.has_value(), opened ? "" : qPrintable(opened.error().text));
    constexpr QFile::Permissions ofUser = QFile::ReadUser | QFile::WriteUser | QFile::ExeUser;
    QCOMPARE(QFileInfo(file).permissions() & ~ofUser, QFile::Permissions(ownerOnly));
    QFile in(file);
    QVERIFY(in.open(QIODevice::ReadOnly));
    const QByteArray text = in.readAll();
    QCOMPARE(text.size(), 65);
    QCOMPARE(Sealing(QByteArray::fromHex(text)).fingerprint(), (*opened)->fingerprint());

    test::TestDatabase another;
    const Opened second = open(another.folder() + u"/sealing.key"_s, another);
    QVERIFY((*second)->fingerprint() != (*opened)->fingerprint());
}

void SealingTest::secondStartFindsItAgain()
{
    test::TestDatabase database;
    const QString file = database.folder() + u"/sealing.key"_s;
    const QByteArray sealed = *(*open(file, database))->seal("token", u"a1"_s);
    const Opened again = open(file, database);
    QVERIFY(again.has_value());
    QCOMPARE(*(*again)->unseal(sealed, (*again)->keyId(), u"a1"_s), QByteArray("token"));
}

void SealingTest::refusedKeyFiles_data()
{
    const QByteArray good = QByteArray(64, 'a');
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QFile::Permissions>("permissions");
    QTest::addColumn<QString>("code");
    const auto exposed = u"sealing_key_exposed"_s;
    QTest::newRow("others may read") << good << QFile::Permissions(ownerOnly | QFile::ReadOther) << exposed;
    QTest::newRow("group may read") << good << QFile::Permissions(ownerOnly | QFile::ReadGroup) << exposed;
    const auto invalid = u"sealing_key_invalid"_s;
    QTest::newRow("empty") << QByteArray() << QFile::Permissions(ownerOnly) << invalid;
    QTest::newRow("too short") << good.left(63) << QFile::Permissions(ownerOnly) << invalid;
    QTest::newRow("too long") << good + "aa" << QFile::Permissions(ownerOnly) << invalid;
    QTest::newRow("not hexadecimal") << good.left(63) + "g" << QFile::Permissions(ownerOnly) << invalid;
    QTest::newRow("huge") << QByteArray(1'000'000, 'a') << QFile::Permissions(ownerOnly) << invalid;
}

void SealingTest::refusedKeyFiles()
{
    QFETCH(QByteArray, text);
    QFETCH(QFile::Permissions, permissions);
    QFETCH(QString, code);
    test::TestDatabase database;
    const QString file = database.folder() + u"/sealing.key"_s;
    write(file, text, permissions);
    const Opened opened = open(file, database);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, code);
    QVERIFY(opened.error().text.contains(file));
    if (text.size() > 4)
        QVERIFY2(!opened.error().text.contains(QString::fromLatin1(text)), "the text repeats the key");
}

void SealingTest::anotherKeyFileDoesNotStart()
{
    test::TestDatabase database;
    const QString file = database.folder() + u"/sealing.key"_s;
    QVERIFY(open(file, database).has_value());
    const QString other = database.folder() + u"/other.key"_s;
    write(other, QByteArray(64, '7') + "\n", ownerOnly);
    const Opened opened = open(other, database);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"sealing_key_mismatch"_s);
    QVERIFY(opened.error().text.contains(other));
    QVERIFY(opened.error().text.contains("sealing_key_file"_L1)); // the field to correct
    QVERIFY2(open(file, database).has_value(), "the refused start changed what the database expects");
}

void SealingTest::lostKeyIsNotReplaced()
{
    test::TestDatabase database;
    const QString file = database.folder() + u"/sealing.key"_s;
    QVERIFY(open(file, database).has_value());
    QVERIFY(QFile::remove(file));
    const Opened opened = open(file, database);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"sealing_key_missing"_s);
    QVERIFY(opened.error().text.contains("sealing_key_file"_L1)); // as for a second engine without the file
    QVERIFY(!QFile::exists(file));
}

void SealingTest::ofTwoFirstStartsOneDecides()
{
    test::TestDatabase database;
    store::SettingsStore settings(database.database());
    QList<Opened> opened;
    const auto slow = database.database().run([](QSqlDatabase &) -> Result<> {
        QThread::msleep(50); // so that both ask what is known before either says something
        return {};
    });
    for (const auto &name : {u"/one.key"_s, u"/two.key"_s})
        Sealing::open(database.folder() + name, settings, 1'000).then([&](const Opened &each) {
            opened.append(each);
        });
    QTRY_COMPARE(opened.size(), 2);
    QCOMPARE(int(opened[0].has_value()) + int(opened[1].has_value()), 1);
    const Opened &late = opened[0] ? opened[1] : opened[0];
    QCOMPARE(late.error().code, u"sealing_key_mismatch"_s);
}

void SealingTest::unwritableFolder()
{
    test::TestDatabase database;
    const Opened opened = open(database.folder() + u"/no/such/folder/sealing.key"_s, database);
    QVERIFY(!opened.has_value());
    QCOMPARE(opened.error().code, u"sealing_key_unwritable"_s);
}

QTEST_GUILESS_MAIN(SealingTest)
#include "tst_sealing.moc"
