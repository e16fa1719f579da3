// SPDX-License-Identifier: Apache-2.0
// A rotated refresh token is not lost to a database that is away: the old one may be dead.
#include "oauth/rotatedtokens.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;

namespace {

const QString a = u"a"_s;

/// Compare-and-set on one token, as the database does it, and failures on order.
class FakeGrants final : public GrantSource {
public:
    QCoro::Task<Result<QString>> refreshToken(QString) override { co_return token; }
    QCoro::Task<Result<>> rotate(QString, QString from, QString to) override
    {
        ++tries;
        if (isAway)
            co_return fail(u"database_unavailable"_s, u"The database is away."_s);
        if (token != from)
            co_return fail(u"conflict"_s, u"Another refresh token was stored meanwhile."_s);
        token = to;
        co_return Result<>();
    }

    QString token = u"1//one"_s;
    bool isAway = false;
    int tries = 0;
};

} // namespace

class TestRotatedTokens : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void savedAtOnce();
    void savingIsRepeated();
    void theNewOneIsUsedMeanwhile();
    void rotatedTwiceBeforeTheFirstIsSaved();
    void aTokenOfTheUsersWins();
};

void TestRotatedTokens::savedAtOnce()
{
    FakeGrants grants;
    RotatedTokens rotated(grants, 5);
    QCoro::waitFor(rotated.save(a, u"1//one"_s, u"1//two"_s));
    QCOMPARE(grants.token, u"1//two"_s);
    QCOMPARE(rotated.unsaved(), 0);
    QTest::qWait(20);
    QCOMPARE(grants.tries, 1);
}

void TestRotatedTokens::savingIsRepeated()
{
    FakeGrants grants;
    grants.isAway = true;
    RotatedTokens rotated(grants, 5);
    QCoro::waitFor(rotated.save(a, u"1//one"_s, u"1//two"_s));
    QTRY_VERIFY(grants.tries > 3);
    QCOMPARE(rotated.unsaved(), 1);
    grants.isAway = false;
    QTRY_COMPARE(grants.token, u"1//two"_s);
    QTRY_COMPARE(rotated.unsaved(), 0);
}

void TestRotatedTokens::theNewOneIsUsedMeanwhile()
{
    FakeGrants grants;
    grants.isAway = true;
    RotatedTokens rotated(grants, 60'000);
    QCoro::waitFor(rotated.save(a, u"1//one"_s, u"1//two"_s));
    QCOMPARE(rotated.newest(a, u"1//one"_s), u"1//two"_s);
    QCOMPARE(rotated.newest(a, u"1//from the user"_s), u"1//from the user"_s);
    QCOMPARE(rotated.newest(u"b"_s, u"1//one"_s), u"1//one"_s);
}

void TestRotatedTokens::rotatedTwiceBeforeTheFirstIsSaved()
{
    FakeGrants grants;
    grants.isAway = true;
    RotatedTokens rotated(grants, 5);
    QCoro::waitFor(rotated.save(a, u"1//one"_s, u"1//two"_s));
    QCoro::waitFor(rotated.save(a, u"1//two"_s, u"1//three"_s));
    QCOMPARE(rotated.newest(a, u"1//one"_s), u"1//three"_s);
    grants.isAway = false;
    QTRY_COMPARE(grants.token, u"1//three"_s);
    QTRY_COMPARE(rotated.unsaved(), 0);
}

void TestRotatedTokens::aTokenOfTheUsersWins()
{
    FakeGrants grants;
    grants.isAway = true;
    RotatedTokens rotated(grants, 5);
    QCoro::waitFor(rotated.save(a, u"1//one"_s, u"1//two"_s));
    grants.token = u"1//from the user"_s;
    grants.isAway = false;
    QTRY_COMPARE(rotated.unsaved(), 0);
    QCOMPARE(grants.token, u"1//from the user"_s);
}

QTEST_GUILESS_MAIN(TestRotatedTokens)
#include "tst_rotatedtokens.moc"
