// SPDX-License-Identifier: Apache-2.0
#include "core/grantage.h"
#include "core/planner.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

constexpr qint64 now = 1'800'000'000'000;

} // namespace

class TestGrantAge : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sevenDays_data();
    void sevenDays();
    void clientsAreApart();
    void theRemedyIsInTheText();
};

// Grants that ended after 7 days without anybody revoking them, for want of a published consent screen:
// hanydd/BilibiliSponsorBlock#330, insanum/gcalcli#628.
void TestGrantAge::sevenDays_data()
{
    QTest::addColumn<int>("deaths");
    QTest::addColumn<qint64>("livedMs"); // the age at the last success; -1 = no success
    QTest::addColumn<qint64>("deadMs"); // the age when the refusal was seen
    QTest::addColumn<qint64>("seenAgoMs");
    QTest::addColumn<int>("otherDeaths"); // at another age
    QTest::addColumn<int>("hinted"); // at how many of the deaths

    const qint64 never = -1;
    QTest::newRow("daily renewals: it lived at day 6, was dead at day 7")
        << 3 << 6 * dayMs + hourMs << 7 * dayMs + hourMs << hourMs << 0 << 3;
    QTest::newRow("to the hour") << 3 << 7 * dayMs - 1 << 7 * dayMs << hourMs << 0 << 3;
    QTest::newRow("a renewal was put off by a day")
        << 3 << 6 * dayMs + hourMs << 8 * dayMs + hourMs << hourMs << 0 << 3;
    QTest::newRow("an access token outlived it a little")
        << 3 << 7 * dayMs + hourMs << 8 * dayMs << hourMs << 0 << 3;
    QTest::newRow("it was given an hour before it came here")
        << 3 << 6 * dayMs << 7 * dayMs - hourMs << hourMs << 0 << 3;
    QTest::newRow("two may be chance") << 2 << 6 * dayMs + hourMs << 7 * dayMs + hourMs << hourMs << 0 << 0;
    QTest::newRow("six days old: revoked") << 3 << 5 * dayMs << 6 * dayMs << hourMs << 0 << 0;
    QTest::newRow("it lived longer") << 3 << 7 * dayMs + hourMs + 1 << 8 * dayMs << hourMs << 0 << 0;
    QTest::newRow("old grants") << 3 << 200 * dayMs << 201 * dayMs << hourMs << 0 << 0;
    QTest::newRow("nobody looked for days") << 3 << 5 * dayMs << 7 * dayMs + hourMs << hourMs << 0 << 0;
    QTest::newRow("it never worked, and was asked late") << 3 << never << 7 * dayMs << hourMs << 0 << 0;
    QTest::newRow("last week's") << 3 << 6 * dayMs + hourMs << 7 * dayMs << 7 * dayMs - 1 << 0 << 3;
    QTest::newRow("of the week before") << 3 << 6 * dayMs + hourMs << 7 * dayMs << 7 * dayMs << 0 << 0;
    QTest::newRow("half of its deaths") << 3 << 6 * dayMs + hourMs << 7 * dayMs << hourMs << 3 << 3;
    QTest::newRow("a few among many others: chance")
        << 3 << 6 * dayMs + hourMs << 7 * dayMs << hourMs << 4 << 0;
}

void TestGrantAge::sevenDays()
{
    QFETCH(const int, deaths);
    QFETCH(const qint64, livedMs);
    QFETCH(const qint64, deadMs);
    QFETCH(const qint64, seenAgoMs);
    QFETCH(const int, otherDeaths);
    QFETCH(const int, hinted);

    const qint64 issuedAt = now - seenAgoMs - deadMs;
    const GrantDeath death{u"p"_s, u"c"_s, issuedAt, livedMs < 0 ? 0 : issuedAt + livedMs, now - seenAgoMs};
    const GrantDeath other{u"p"_s, u"c"_s, now - 30 * dayMs, now - dayMs, now - hourMs};
    const QList<ShortLivedClient> found =
        shortLivedClients(QList<GrantDeath>(deaths, death) + QList<GrantDeath>(otherDeaths, other), now);
    QCOMPARE(found.isEmpty() ? 0 : found.first().deaths, hinted);
}

void TestGrantAge::clientsAreApart()
{
    const auto death = [](const QString &project, const QString &client) {
        return GrantDeath{project, client, now - 7 * dayMs - hourMs, now - dayMs, now - hourMs};
    };
    // Four of one project, of two clients; three of one client; and one that is not known to be of any age.
    const QList<ShortLivedClient> found = shortLivedClients(
        {death(u"b"_s, u"web"_s), death(u"b"_s, u"web"_s), death(u"b"_s, u"ios"_s), death(u"b"_s, u"ios"_s),
         death(u"a"_s, u"ios"_s), death(u"a"_s, u"ios"_s), death(u"a"_s, u"ios"_s),
         GrantDeath{u"a"_s, u"ios"_s, 0, now - dayMs, now - hourMs}},
        now);
    QCOMPARE(found.size(), 1);
    QCOMPARE(found.first().project, u"a"_s);
    QCOMPARE(found.first().client, u"ios"_s);
    QCOMPARE(found.first().deaths, 3);
}

void TestGrantAge::theRemedyIsInTheText()
{
    const QString text = consentScreenText({u"mail"_s, u"web"_s, 12});
    for (const QString &part : {u"12 grants"_s, u"project \"mail\""_s, u"client \"web\""_s,
                                u"Publish the app"_s, u"sign in again"_s})
        QVERIFY2(text.contains(part), qPrintable(text));
}

QTEST_GUILESS_MAIN(TestGrantAge)
#include "tst_grantage.moc"
