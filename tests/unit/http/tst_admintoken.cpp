// SPDX-License-Identifier: Apache-2.0
#include "http/auth.h"

#include <QtCore/QDir>
#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace tidekeeper::http;
using namespace Qt::StringLiterals;

class TestAdminToken : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void isMadeOnceAndKept();
    void isOnlyForItsOwner();
    void isDifferentEverywhere();
    void refusesAShortOne();
    void refusesAnUnwritableFolder();
    void authorityKnowsItsTokens();
};

namespace {

void write(const QString &path, const QByteArray &content)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
        qFatal("cannot write");
}

} // namespace

void TestAdminToken::isMadeOnceAndKept()
{
    QTemporaryDir dir;
    const auto first = adminToken(dir.path());
    QVERIFY(first);
    QCOMPARE(first->size(), 43); // 32 bytes in base64url
    QVERIFY(!first->contains('+') && !first->contains('/') && !first->contains('='));
    QCOMPARE(*adminToken(dir.path()), *first);
    QCOMPARE(QDir(dir.path()).entryList(QDir::Files), QStringList{u"admin.token"_s});
}

void TestAdminToken::isOnlyForItsOwner()
{
    QTemporaryDir dir;
    const QString path = dir.filePath(u"admin.token"_s);
    QVERIFY(adminToken(dir.path()));
    const auto others =
        QFileDevice::ReadGroup | QFileDevice::WriteGroup | QFileDevice::ReadOther | QFileDevice::WriteOther;
    QVERIFY(!(QFileInfo(path).permissions() & others));
    QFile::setPermissions(path, QFileDevice::ReadOwner | QFileDevice::ReadGroup | QFileDevice::ReadOther);
    QVERIFY(adminToken(dir.path())); // closed again
    QVERIFY(!(QFileInfo(path).permissions() & others));
}

void TestAdminToken::isDifferentEverywhere()
{
    QTemporaryDir a;
    QTemporaryDir b;
    QVERIFY(*adminToken(a.path()) != *adminToken(b.path()));
}

void TestAdminToken::refusesAShortOne()
{
    QTemporaryDir dir;
    write(dir.filePath(u"admin.token"_s), "short\n");
    const auto token = adminToken(dir.path());
    QVERIFY(!token);
    QCOMPARE(token.error().code, u"admin_token"_s);
    QVERIFY(token.error().text.contains(dir.path()));
    QVERIFY(token.error().text.contains(u"Delete the file"_s));
    QVERIFY(!token.error().text.contains(u"short\n"_s));
}

void TestAdminToken::refusesAnUnwritableFolder()
{
    QTemporaryDir dir;
    const auto token = adminToken(dir.filePath(u"missing"_s));
    QVERIFY(!token);
    QCOMPARE(token.error().code, u"admin_token"_s);
    QVERIFY(token.error().text.contains(u"cannot be written"_s));
}

void TestAdminToken::authorityKnowsItsTokens()
{
    TokenAuthority authority;
    QVERIFY(authority.authenticate("").role == Role::None);
    authority.add(u"admin"_s, Role::Admin, "first");
    authority.add(u"dashboard"_s, Role::Viewer, "second");
    QVERIFY(authority.authenticate("first").role == Role::Admin);
    QCOMPARE(authority.authenticate("second").name, u"dashboard"_s);
    for (const char *wrong : {"", "firs", "first ", "FIRST", "third"})
        QVERIFY(authority.authenticate(wrong).role == Role::None);
}

QTEST_GUILESS_MAIN(TestAdminToken)
#include "tst_admintoken.moc"
