// SPDX-License-Identifier: Apache-2.0
#include "core/pushproof.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

constexpr qint64 renewed = 1'800'000'000'000;
constexpr qint64 second = 1'000;
constexpr qint64 minute = 60 * second;
constexpr qint64 since = renewed - 60 * minute;

} // namespace

class TestPushProof : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void states_data();
    void states();
    void path_data();
    void path();
    void silence_data();
    void silence();
    void historyIds();
};

void TestPushProof::states_data()
{
    QTest::addColumn<qint64>("renewedAt");
    QTest::addColumn<qint64>("lastPushAt");
    QTest::addColumn<qint64>("provenSince");
    QTest::addColumn<qint64>("now");
    QTest::addColumn<QString>("state");

    QTest::newRow("never renewed") << qint64(0) << since << since << renewed << u"unproven"_s;
    QTest::newRow("just renewed") << renewed << since << since << renewed + second << u"unproven"_s;
    QTest::newRow("last waiting moment")
        << renewed << since << since << renewed + 2 * minute << u"unproven"_s;
    QTest::newRow("one more") << renewed << since << since << renewed + 2 * minute + 1 << u"silent"_s;
    QTest::newRow("never pushed") << renewed << qint64(0) << since << renewed + 3 * minute << u"silent"_s;
    QTest::newRow("pushed") << renewed << renewed + second << since << renewed + 2 * second << u"proven"_s;
    QTest::newRow("quiet since") << renewed << renewed + second << since << renewed + 86'400 * second
                                 << u"proven"_s;
    QTest::newRow("late push") << renewed << renewed + 9 * minute << since << renewed + 10 * minute
                               << u"proven"_s;
    QTest::newRow("overtook the answer")
        << renewed << renewed - PushLimits().aheadMs << since << renewed << u"proven"_s;
    QTest::newRow("of the watch before")
        << renewed << renewed - PushLimits().aheadMs - 1 << since << renewed + 3 * minute << u"silent"_s;
    QTest::newRow("off") << renewed << qint64(0) << qint64(0) << renewed + 60 * minute << u"unproven"_s;
    QTest::newRow("renewed before the first push ever")
        << renewed << qint64(0) << renewed + 1 << renewed + 60 * minute << u"unproven"_s;
}

void TestPushProof::states()
{
    QFETCH(qint64, renewedAt);
    QFETCH(qint64, lastPushAt);
    QFETCH(qint64, provenSince);
    QFETCH(qint64, now);
    QTEST(toString(pushStateOf(renewedAt, lastPushAt, provenSince, now, {})), "state");
}

void TestPushProof::path_data()
{
    QTest::addColumn<qint64>("provenSince");
    QTest::addColumn<qint64>("unanswered");
    QTest::addColumn<qint64>("now");
    QTest::addColumn<bool>("broken");

    QTest::newRow("off") << qint64(0) << renewed << renewed + 60 * minute << false;
    QTest::newRow("no renewal since the last push") << since << qint64(0) << renewed + 60 * minute << false;
    QTest::newRow("too early") << since << renewed << renewed + 10 * minute - 1 << false;
    QTest::newRow("broken") << since << renewed << renewed + 10 * minute << true;
}

void TestPushProof::path()
{
    QFETCH(qint64, provenSince);
    QFETCH(qint64, unanswered);
    QFETCH(qint64, now);
    QTEST(isPushPathBroken(provenSince, unanswered, now, {}), "broken");
}

void TestPushProof::silence_data()
{
    QTest::addColumn<qint64>("renewedAt");
    QTest::addColumn<qint64>("repairedAt");
    QTest::addColumn<qint64>("toldAt");
    QTest::addColumn<int>("step");

    QTest::newRow("new") << renewed << qint64(0) << qint64(0) << int(SilenceStep::Repair);
    QTest::newRow("repair under way") << renewed << renewed + 1 << qint64(0) << int(SilenceStep::None);
    QTest::newRow("repaired in vain") << renewed << renewed - 1 << qint64(0) << int(SilenceStep::Tell);
    QTest::newRow("told") << renewed << renewed - 1 << renewed + 1 << int(SilenceStep::None);
}

// A renewed watch that delivers nothing must neither go unnoticed nor be repaired for ever: Nine-Minds/alga-psa#859.
void TestPushProof::silence()
{
    QFETCH(qint64, renewedAt);
    QFETCH(qint64, repairedAt);
    QFETCH(qint64, toldAt);
    QTEST(int(silenceStep(renewedAt, repairedAt, toldAt)), "step");
}

void TestPushProof::historyIds()
{
    QCOMPARE(historyId(u"18446744073709551615"_s), std::optional<quint64>(18'446'744'073'709'551'615U));
    for (const QString &bad : {u""_s, u"18446744073709551616"_s, u"-1"_s, u"1.5"_s, u" 1"_s, u"1e3"_s})
        QVERIFY2(!historyId(bad), qPrintable(bad));
    QVERIFY(isStaleHistory(u"9007199254740992"_s, u"9007199254740993"_s)); // equal as doubles
    QVERIFY(isStaleHistory(u"9"_s, u"10"_s));
    QVERIFY(!isStaleHistory(u"10"_s, u"10"_s));
    QVERIFY(!isStaleHistory(u"10"_s, {}));
    QVERIFY(!isStaleHistory({}, u"10"_s));
}

QTEST_APPLESS_MAIN(TestPushProof)
#include "tst_pushproof.moc"
