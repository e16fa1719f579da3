// SPDX-License-Identifier: Apache-2.0
#include "limits/keys.h"

#include <QtCore/QFile>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

namespace {

constexpr auto ownersOnly = QFileDevice::ReadOwner | QFileDevice::WriteOwner;
const QByteArray key("00112233445566778899aabbccddeeff");

QJsonObject hmac(const QString &file)
{
    return {{u"account_key"_s, u"hmac"_s}, {u"account_key_file"_s, file}};
}

} // namespace

class TestAccountNames : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tellAddressesByDefault();
    void knownAnswers_data();
    void knownAnswers();
    void standInEveryKey();
    void otherKeysGiveOtherNames();
    void badPolicies_data();
    void badPolicies();
    void badFiles_data();
    void badFiles();
    void warnOfWhatIsNotWise();

private:
    QString file(const QByteArray &content, QFileDevice::Permissions permissions = ownersOnly)
    {
        QFile file(m_folder.filePath(u"%1.key"_s.arg(++m_files)));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size()
            || !file.setPermissions(permissions))
            qFatal("%s", qPrintable(file.errorString()));
        return file.fileName();
    }
    AccountNames names(const QByteArray &content)
    {
        const Result<AccountNames> names = AccountNames::from(hmac(file(content)));
        if (!names)
            qFatal("%s", qPrintable(names.error().text));
        return *names;
    }

    QTemporaryDir m_folder;
    int m_files = 0;
};

void TestAccountNames::tellAddressesByDefault()
{
    for (const QJsonObject &policy : {QJsonObject{}, QJsonObject{{u"account_key"_s, u"base64url"_s}},
                                      QJsonObject{{u"account_key_file"_s, QString()}}}) {
        const Result<AccountNames> names = AccountNames::from(policy);
        QVERIFY(names);
        QVERIFY(names->tellAddresses());
        QVERIFY(names->warnings().isEmpty());
        QCOMPARE(names->nameOf(u"é?~@example.com"_s), QByteArray("w6k_fkBleGFtcGxlLmNvbQ"));
        QCOMPARE(names->accountOf("w6k_fkBleGFtcGxlLmNvbQ"), u"é?~@example.com"_s);
    }
}

/// From: printf %s ACCOUNT | openssl dgst -sha256 -hmac KEY -binary | base64 | tr +/ -_ | tr -d =
void TestAccountNames::knownAnswers_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QString>("account");
    QTest::addColumn<QByteArray>("name");
    const QByteArray plain("dUW--C8LFYpFCHrkugi3dsmF8fRF8tSj6bMk8hc4RhU");
    QTest::newRow("plain") << key << u"a@example.com"_s << plain;
    QTest::newRow("line feed") << key + '\n' << u"a@example.com"_s << plain;
    QTest::newRow("white space") << " \r\n\t" + key + " \r\n" << u"a@example.com"_s << plain;
    QTest::newRow("not ASCII") << key << u"weiß@example.org"_s
                               << QByteArray("9bDbxx8EjsDkt_rW3toL1Mb4VWVordczcaXgBvHHDSA");
}

void TestAccountNames::knownAnswers()
{
    QFETCH(QByteArray, content);
    QFETCH(QString, account);
    QFETCH(QByteArray, name);

    const AccountNames hidden = names(content);
    QCOMPARE(hidden.nameOf(account), name);
    QCOMPARE(name.size(), 43);
    QVERIFY(!hidden.tellAddresses());
    QCOMPARE(hidden.accountOf(name), QString());
    QVERIFY(hidden.warnings().isEmpty());
}

void TestAccountNames::standInEveryKey()
{
    const Keys keys(u"gmail"_s, u"default"_s, names(key));
    const QString account = u"a@example.com"_s;
    const QByteArray name("dUW--C8LFYpFCHrkugi3dsmF8fRF8tSj6bMk8hc4RhU");
    const QByteArray prefix("tk:{gmail:default}:");
    QCOMPARE(keys.accountName(account), name);
    QCOMPARE(keys.account(account), prefix + "account:" + name);
    QCOMPARE(keys.id(account, u"x"_s), prefix + "id:" + name + ":eA");
    QCOMPARE(keys.refund(account, 7), prefix + "id:" + name + ":.7");
    QCOMPARE(keys.places(name), prefix + "slots:" + name);
}

void TestAccountNames::otherKeysGiveOtherNames()
{
    QVERIFY(names(key).nameOf(u"a@example.com"_s) != names(key + '0').nameOf(u"a@example.com"_s));
}

void TestAccountNames::badPolicies_data()
{
    QTest::addColumn<QJsonObject>("policy");
    QTest::addColumn<QString>("field");
    QTest::newRow("other kind") << QJsonObject{{u"account_key"_s, u"sha256"_s}} << u"account_key"_s;
    QTest::newRow("empty kind") << QJsonObject{{u"account_key"_s, u""_s}} << u"account_key"_s;
    QTest::newRow("kind is no text") << QJsonObject{{u"account_key"_s, true}} << u"account_key"_s;
    QTest::newRow("no file") << QJsonObject{{u"account_key"_s, u"hmac"_s}} << u"account_key_file"_s;
    QTest::newRow("empty file name") << hmac({}) << u"account_key_file"_s;
    QTest::newRow("file that is not there") << hmac(u"/nowhere/names.key"_s) << u"account_key_file"_s;
    QTest::newRow("folder") << hmac(u"/"_s) << u"account_key_file"_s;
    QTest::newRow("device without end") << hmac(u"/dev/zero"_s) << u"account_key_file"_s;
}

void TestAccountNames::badPolicies()
{
    QFETCH(QJsonObject, policy);
    QFETCH(QString, field);

    const Result<AccountNames> names = AccountNames::from(policy);
    QVERIFY(!names);
    QCOMPARE(names.error().code, u"invalid_policy"_s);
    QCOMPARE(names.error().details["field"_L1].toString(), field);
    QVERIFY2(names.error().text.startsWith(field + u' '), qPrintable(names.error().text));
}

void TestAccountNames::badFiles_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<bool>("isGood");
    QTest::newRow("empty") << QByteArray() << false;
    QTest::newRow("white space") << QByteArray(100, '\n') << false;
    QTest::newRow("15 bytes") << key.left(15) + "\n\n\n" << false;
    QTest::newRow("16 bytes") << key.left(16) + '\n' << true;
    QTest::newRow("4096 bytes") << QByteArray(4'096, 'k') << true;
    QTest::newRow("4097 bytes") << QByteArray(4'097, 'k') << false;
}

void TestAccountNames::badFiles()
{
    QFETCH(QByteArray, content);
    QFETCH(bool, isGood);

    const QString path = file(content);
    const Result<AccountNames> names = AccountNames::from(hmac(path));
    QCOMPARE(names.has_value(), isGood);
    if (isGood)
        return;
    QCOMPARE(names.error().details["field"_L1].toString(), u"account_key_file"_s);
    QVERIFY2(names.error().text.contains(path), qPrintable(names.error().text));
    QVERIFY(content.trimmed().isEmpty()
            || !names.error().text.contains(QString::fromLatin1(content.trimmed())));
}

void TestAccountNames::warnOfWhatIsNotWise()
{
    for (const auto more :
         {QFileDevice::ReadGroup, QFileDevice::WriteGroup, QFileDevice::ReadOther, QFileDevice::WriteOther}) {
        const QString path = file(key, ownersOnly | more);
        const Result<AccountNames> names = AccountNames::from(hmac(path));
        QVERIFY(names);
        QCOMPARE(names->warnings().size(), 1);
        QVERIFY2(names->warnings()[0].contains(u"chmod 600 "_s + path), qPrintable(names->warnings()[0]));
    }
    const Result<AccountNames> unused = AccountNames::from({{u"account_key_file"_s, file(key)}});
    QVERIFY(unused);
    QVERIFY(unused->tellAddresses());
    QVERIFY(unused->warnings().value(0).contains(u"has no effect"_s));
}

QTEST_APPLESS_MAIN(TestAccountNames)
#include "tst_accountnames.moc"
