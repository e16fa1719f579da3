// SPDX-License-Identifier: Apache-2.0
#include "decide/stopfirst.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace watchrenewal;

namespace {

constexpr qint64 dayMs = 24LL * 3'600'000;
constexpr qint64 now = 1'800'000'000'000;

} // namespace

class TestStopFirst : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void takeOver_data();
    void takeOver();
    void repair_data();
    void repair();
    void aFailureAfterTheStopSaysThatNothingWatches_data();
    void aFailureAfterTheStopSaysThatNothingWatches();
    void theOwnerIsToldWhatToDo();
};

void TestStopFirst::takeOver_data()
{
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<qint64>("takenOverAt");
    QTest::addColumn<bool>("asked");
    QTest::addColumn<bool>("may");
    QTest::newRow("ours is alive") << now + dayMs << qint64(0) << false << true;
    QTest::newRow("ours has lapsed") << now - 1 << qint64(0) << false << false;
    QTest::newRow("never had one") << qint64(0) << qint64(0) << false << false;
    QTest::newRow("taken over yesterday: a fight") << now + 6 * dayMs << now - dayMs << false << false;
    QTest::newRow("taken over a lifetime ago") << now + dayMs << now - 7 * dayMs << false << true;
    QTest::newRow("taken over by a clock that was ahead") << now + dayMs << now + dayMs << false << false;
    QTest::newRow("by a clock that was years ahead") << now + dayMs << now + 400 * dayMs << false << true;
    QTest::newRow("asked for, although it has lapsed") << now - dayMs << qint64(0) << true << true;
    QTest::newRow("asked for in a fight") << now + 6 * dayMs << now - dayMs << true << true;
}

void TestStopFirst::takeOver()
{
    QFETCH(qint64, expiresAt);
    QFETCH(qint64, takenOverAt);
    QFETCH(bool, asked);
    QJsonObject subscription{{u"expires_at"_s, expiresAt}};
    if (takenOverAt > 0)
        subscription.insert(u"data"_s, QJsonObject{{u"taken_over_at"_s, takenOverAt}});
    if (asked)
        subscription.insert(u"take_over"_s, true);
    QTEST(mayTakeOver(subscription, now), "may");
}

void TestStopFirst::repair_data()
{
    QTest::addColumn<bool>("asked");
    QTest::addColumn<qint64>("repairedAt");
    QTest::addColumn<bool>("isRepair");
    QTest::newRow("nobody asked") << false << qint64(0) << false;
    // Nine-Minds/alga-psa#859
    QTest::newRow("silent") << true << qint64(0) << true;
    QTest::newRow("repaired an hour ago") << true << now - dayMs / 24 << false;
    QTest::newRow("repaired a day ago") << true << now - dayMs << true;
}

void TestStopFirst::repair()
{
    QFETCH(bool, asked);
    QFETCH(qint64, repairedAt);
    const QJsonObject data{{u"repaired_at"_s, repairedAt}};
    QTEST(watchrenewal::isRepair({{u"repair"_s, asked}, {u"data"_s, data}}, now), "isRepair");
}

void TestStopFirst::aFailureAfterTheStopSaysThatNothingWatches_data()
{
    QTest::addColumn<QString>("outcome");
    QTest::addColumn<QString>("expected");
    QTest::addColumn<qint64>("endedAt");
    QTest::newRow("renewed") << u"renewed"_s << u"renewed"_s << qint64(0);
    QTest::newRow("transient") << u"transient"_s << u"transient"_s << now;
    QTest::newRow("rate") << u"rate"_s << u"rate"_s << now;
    QTest::newRow("owned elsewhere") << u"owned_elsewhere"_s << u"owned_elsewhere"_s << now;
    QTest::newRow("unauthorized") << u"unauthorized"_s << u"transient"_s << now;
}

void TestStopFirst::aFailureAfterTheStopSaysThatNothingWatches()
{
    QFETCH(QString, outcome);
    const QJsonObject before{{u"outcome"_s, outcome}, {u"data"_s, QJsonObject{{u"history_id"_s, u"7"_s}}}};
    const QJsonObject after = afterStop(before, u"taken_over_at"_s, now);
    QTEST(after.value("outcome"_L1).toString(), "expected");
    QTEST(after.value("ended_at"_L1).toInteger(), "endedAt");
    QCOMPARE(after.value("data"_L1).toObject(),
             (QJsonObject{{u"history_id"_s, u"7"_s}, {u"taken_over_at"_s, now}}));
}

void TestStopFirst::theOwnerIsToldWhatToDo()
{
    const QString remedy = withOwnerRemedy({}, {{u"account"_s, u"a-7"_s}}, u"projects/p/topics/ours"_s)
                               .value("remedy"_L1)
                               .toString();
    QVERIFY(remedy.contains(u"projects/p/topics/ours"_s));
    QVERIFY(remedy.contains(u"tidekeeper accounts renew a-7 --take-over"_s));
}

QTEST_APPLESS_MAIN(TestStopFirst)
#include "tst_stopfirst.moc"
