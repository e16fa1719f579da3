// SPDX-License-Identifier: Apache-2.0
#include "limits/grantid.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

class TestGrantId : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void comesBackWhole_data();
    void comesBackWhole();
    void isTheSameForTheSameGrant();
    void refusesWhatIsNotOurs_data();
    void refusesWhatIsNotOurs();
    void refusesEveryMistypedCharacter();
    void placesComeBackToo();
};

void TestGrantId::comesBackWhole_data()
{
    QTest::addColumn<QString>("account");
    QTest::addColumn<QString>("id");
    QTest::addColumn<bool>("degraded");
    QTest::newRow("plain") << u"a@example.com"_s << QString() << false;
    QTest::newRow("degraded") << u"a@example.com"_s << QString() << true;
    QTest::newRow("with an id") << u"é:{}@x"_s << u"job 7"_s << false;
    QTest::newRow("any id") << u"a@x"_s << u"\n\nd\n"_s << true;
}

void TestGrantId::comesBackWhole()
{
    QFETCH(QString, account);
    QFETCH(QString, id);
    QFETCH(bool, degraded);

    const Grant grant{u"default"_s, account, 1'000'000'000, 1'800'000'000'123'456, degraded, id};
    const QString text = grantIdOf(u"gmail"_s, grant);
    QVERIFY(!text.contains(u"example"_s)); // opaque, and fit for a URL
    QVERIFY(QRegularExpression(u"^[A-Za-z0-9_-]+$"_s).match(text).hasMatch());
    const Result<Grant> read = grantFrom(u"gmail"_s, text);
    QVERIFY(read);
    QCOMPARE(read->project, grant.project);
    QCOMPARE(read->account, grant.account);
    QCOMPARE(read->cost, grant.cost);
    QCOMPARE(read->nowUs, grant.nowUs);
    QCOMPARE(read->degraded, grant.degraded);
    QCOMPARE(read->id, grant.id);
}

void TestGrantId::isTheSameForTheSameGrant()
{
    Grant grant{u"default"_s, u"a@x"_s, 40, 1'800'000'000'000'000, false, u"job"_s};
    const QString text = grantIdOf(u"gmail"_s, grant);
    QCOMPARE(grantIdOf(u"gmail"_s, grant), text);
    ++grant.nowUs;
    QVERIFY(grantIdOf(u"gmail"_s, grant) != text);
}

void TestGrantId::refusesWhatIsNotOurs_data()
{
    QTest::addColumn<QString>("text");
    const Grant grant{u"default"_s, u"a@x"_s, 40, 1'800'000'000'000'000, false, {}};
    const QString sound = grantIdOf(u"gmail"_s, grant);
    QTest::newRow("empty") << QString();
    QTest::newRow("words") << u"not a grant"_s;
    QTest::newRow("not Latin") << u"é한"_s;
    QTest::newRow("cut") << sound.chopped(4);
    QTest::newRow("longer") << sound + u"AAAA"_s;
    QTest::newRow("padded") << sound + u"="_s;
    QTest::newRow("white space") << sound + u" "_s;
    QTest::newRow("of another limiter") << grantIdOf(u"other"_s, grant);
    QTest::newRow("a place") << holdIdOf(u"gmail"_s, {u"default"_s, "YQ", u"1-1"_s});
    QTest::newRow("10 kB") << QString(10'000, u'A');
}

void TestGrantId::refusesWhatIsNotOurs()
{
    QFETCH(QString, text);

    const Result<Grant> grant = grantFrom(u"gmail"_s, text);
    QVERIFY(!grant);
    QCOMPARE(grant.error().code, u"invalid_request"_s);
    QCOMPARE(grant.error().details["field"_L1].toString(), u"grant_id"_s);
}

void TestGrantId::refusesEveryMistypedCharacter()
{
    // The longest of the texts whose last character has bits that decode to nothing is among three in a row.
    for (const QString &id : {QString(), u"i"_s, u"ii"_s}) {
        const QString sound =
            grantIdOf(u"gmail"_s, {u"default"_s, u"a@x"_s, 40, 1'800'000'000'000'000, false, id});
        QVERIFY(grantFrom(u"gmail"_s, sound));
        for (qsizetype i = 0; i < sound.size(); ++i) {
            for (const QChar c : u"ABw0_-"_s) {
                QString mistyped = sound;
                mistyped[i] = c;
                if (mistyped != sound)
                    QVERIFY2(!grantFrom(u"gmail"_s, mistyped), qPrintable(mistyped));
            }
        }
    }
}

void TestGrantId::placesComeBackToo()
{
    const QString text = holdIdOf(u"gmail"_s, {u"p"_s, "YUB4", u"1800000000000000-1"_s});
    const Result<Hold> hold = holdFrom(u"gmail"_s, text);
    QVERIFY(hold);
    QCOMPARE(hold->project, u"p"_s);
    QCOMPARE(hold->accountName, QByteArray("YUB4"));
    QCOMPARE(hold->place, u"1800000000000000-1"_s);
    QCOMPARE(holdFrom(u"other"_s, text).error().details["field"_L1].toString(), u"hold"_s);
    QVERIFY(!holdFrom(u"gmail"_s, grantIdOf(u"gmail"_s, {u"p"_s, u"a@x"_s, 1, 1, false, {}})));
}

QTEST_APPLESS_MAIN(TestGrantId)
#include "tst_grantid.moc"
