// SPDX-License-Identifier: Apache-2.0
// What an engine remembers of its decisions for the list of levels, and what of it it tells Redis.
#include "limits/activeaccounts.h"

#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::limits;

namespace {

constexpr qint64 start = 1'800'000'000'000; // begin of a slot, ms

struct Taken {
    QHash<QByteArray, qint64> index;
    QHash<qint64, QHash<QByteArray, QByteArray>> uses;
    qsizetype most = 0; ///< of one answer
};

Taken takeAll(ActiveAccounts &active, qint64 nowMs, int most = 500)
{
    Taken taken;
    for (int part = 0; part < ActiveAccounts::partCount; ++part) {
        ActiveAccounts::Changes changes;
        do {
            changes = active.takeChanges(part, most, nowMs);
            for (qsizetype i = 0; i < changes.index.size(); i += 2)
                taken.index.insert(changes.index[i + 1], changes.index[i].toLongLong());
            for (auto slot = changes.usesBySlot.cbegin(); slot != changes.usesBySlot.cend(); ++slot) {
                for (qsizetype i = 0; i < slot->size(); i += 2)
                    taken.uses[slot.key()].insert((*slot)[i], (*slot)[i + 1]);
            }
            taken.most = std::max(taken.most, changes.index.size() / 2);
        } while (changes.hasMore);
    }
    return taken;
}

} // namespace

class TestActiveAccounts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tellsWhenABucketIsFull();
    void countsByLaneAndCaller();
    void whatIsOverIsWrittenOnceMore();
    void aRepeatedAnswerCountsOnce();
    void whoIsFullIsToldOnceAMinute();
    void changesAreTakenInPieces();
    void callersAreBounded();
    void forgetsWhoIsSilent();
    void usesSurviveTheirText();
    void aMinuteIsWeighed_data();
    void aMinuteIsWeighed();

private:
    struct Ask {
        QByteArray account = "tk:{g:d}:account:YQ";
        qint64 level = 100; // units
        qint64 units = 10;
        QString lane = u"realtime"_s;
        QString caller = {};
        bool refused = false;
        bool mayBeRepeated = false;
    };
    void decide(qint64 nowMs, const Ask &ask)
    {
        m_active->decided({ask.account, ask.level * 1000, 360'000, 60, nowMs * 1000, ask.lane, ask.caller,
                           ask.units, ask.refused, ask.mayBeRepeated});
    }

    std::unique_ptr<ActiveAccounts> m_active;

private Q_SLOTS:
    void init() { m_active = std::make_unique<ActiveAccounts>(); }
};

void TestActiveAccounts::tellsWhenABucketIsFull()
{
    decide(start, {.level = 100}); // 260 units are missing, one comes each second
    decide(start, {.account = "tk:{g:d}:account:Yg", .level = -40, .refused = true});
    const Taken taken = takeAll(*m_active, start + 500);
    QCOMPARE(taken.index.value("YQ"), start + 260'000);
    QCOMPARE(taken.index.value("Yg"), start + 400'000);
    QVERIFY(!taken.uses.value(slotOf(start)).contains("Yg")); // refused: nobody was granted anything
    QVERIFY(takeAll(*m_active, start + 600).index.isEmpty()); // nothing new

    m_active->emptied("tk:{g:d}:account:YQ", 360'000, 60, (start + 1'000) * 1000);
    QCOMPARE(takeAll(*m_active, start + 1'000).index.value("YQ"), start + 361'000);
}

void TestActiveAccounts::countsByLaneAndCaller()
{
    decide(start, {.units = 10, .caller = u"sync"_s});
    decide(start, {.units = 5, .caller = u"sync"_s});
    decide(start, {.units = 7, .lane = u"bulk"_s});
    decide(start, {.account = "tk:{g:d}:account:Yg", .units = 1, .caller = u"sync"_s});
    const auto uses = takeAll(*m_active, start).uses.value(slotOf(start));
    QCOMPARE(uses.value("YQ"), "realtime sync 15 2;bulk  7 1");
    QCOMPARE(uses.value("Yg"), "realtime sync 1 1");
    QCOMPARE(uses.value("*"), "realtime sync 16 3;bulk  7 1");
}

void TestActiveAccounts::whatIsOverIsWrittenOnceMore()
{
    decide(start + 9'000, {.units = 10});
    takeAll(*m_active, start + 9'500);
    decide(start + 9'999, {.units = 1}); // its answer comes after the slot is over
    decide(start + 10'000, {.units = 2});
    auto uses = takeAll(*m_active, start + 10'500).uses;
    QCOMPARE(uses.value(slotOf(start)).value("YQ"), "realtime  11 2");
    QCOMPARE(uses.value(slotOf(start + 10'000)).value("YQ"), "realtime  2 1");

    decide(start + 15'000, {.units = 4});
    takeAll(*m_active, start + 15'000); // now nothing comes any more
    decide(start + 16'000, {.units = 1});
    uses = takeAll(*m_active, start + 16'000).uses;
    QVERIFY(!uses.contains(slotOf(start)));
    QCOMPARE(uses.value(slotOf(start + 10'000)).value("YQ"), "realtime  7 3");
}

void TestActiveAccounts::aRepeatedAnswerCountsOnce()
{
    decide(start, {.units = 10, .mayBeRepeated = true});
    decide(start + 5, {.level = 50, .units = 50});
    decide(start, {.level = 100, .units = 10, .mayBeRepeated = true}); // the first answer again
    const Taken taken = takeAll(*m_active, start + 100);
    QCOMPARE(taken.uses.value(slotOf(start)).value("YQ"), "realtime  60 2");
    QCOMPARE(taken.index.value("YQ"), start + 5 + 310'000);
}

void TestActiveAccounts::whoIsFullIsToldOnceAMinute()
{
    const auto isTold = [this](qint64 nowMs) {
        decide(nowMs, {.level = 359, .units = 1}); // full again after a second
        return takeAll(*m_active, nowMs + 1'000).index.contains("YQ");
    };
    QVERIFY(isTold(start)); // new
    QVERIFY(!isTold(start + 5'000));
    QVERIFY(!isTold(start + 30'000));
    QVERIFY(isTold(start + 60'000));
    decide(start + 70'000, {.level = 0, .units = 1});
    QVERIFY(takeAll(*m_active, start + 70'100).index.contains("YQ")); // not full
    QVERIFY(isTold(start + 71'000)); // Redis believes it drained
}

void TestActiveAccounts::changesAreTakenInPieces()
{
    for (int i = 0; i < 10'000; ++i)
        decide(start, {.account = "tk:{g:d}:account:" + QByteArray::number(i)});
    QCOMPARE(m_active->size(), 10'000);
    const Taken taken = takeAll(*m_active, start, 50);
    QCOMPARE(taken.index.size(), 10'000);
    QCOMPARE(taken.most, 50);
}

void TestActiveAccounts::callersAreBounded()
{
    for (int i = 0; i < 60; ++i)
        decide(start, {.units = 1, .caller = u"c%1"_s.arg(i)});
    const auto uses = usesFrom(takeAll(*m_active, start).uses.value(slotOf(start)).value("*"));
    QCOMPARE(uses.size(), size_t(50));
    qint64 units = 0;
    qint64 others = 0;
    for (const Use &use : uses) {
        units += use.units;
        others += use.caller == "other"_L1 ? use.units : 0;
    }
    QCOMPARE(units, 60);
    QCOMPARE(others, 11);
}

void TestActiveAccounts::forgetsWhoIsSilent()
{
    decide(start, {});
    decide(start, {.account = "tk:{g:d}:account:Yg"});
    takeAll(*m_active, start);
    decide(start + 50'000, {});
    takeAll(*m_active, start + 71'000);
    QCOMPARE(m_active->size(), 1);
    takeAll(*m_active, start + 130'000);
    QVERIFY(m_active->isEmpty());
}

void TestActiveAccounts::usesSurviveTheirText()
{
    const QString odd = u"a;b c|%é"_s;
    decide(start, {.units = 7, .lane = u"bulk"_s, .caller = odd});
    decide(start, {.units = 2});
    decide(start, {.units = 3});
    const auto uses = usesFrom(takeAll(*m_active, start).uses.value(slotOf(start)).value("YQ") + ";broken;");
    QCOMPARE(uses.size(), size_t(2));
    QCOMPARE(uses[0].caller, odd);
    QCOMPARE(uses[0].lane, u"bulk"_s);
    QCOMPARE(uses[1].units, 5);
    QCOMPARE(uses[1].calls, 2);
}

void TestActiveAccounts::aMinuteIsWeighed_data()
{
    QTest::addColumn<qint64>("age"); // ms since the slot's begin
    QTest::addColumn<qint64>("units");
    QTest::newRow("present") << qint64(0) << qint64(100);
    QTest::newRow("wholly within") << qint64(60'000) << qint64(100);
    QTest::newRow("half of it") << qint64(65'000) << qint64(50);
    QTest::newRow("the last of it") << qint64(69'000) << qint64(10);
    QTest::newRow("over") << qint64(70'000) << qint64(0);
    QTest::newRow("long ago") << qint64(700'000) << qint64(0);
}

void TestActiveAccounts::aMinuteIsWeighed()
{
    QFETCH(qint64, age);
    QFETCH(qint64, units);
    MinuteOfUses minute;
    minute.add(slotOf(start), "realtime a 60 20;bulk a 30 10;realtime b 10 10", start + age);
    qint64 sum = 0;
    for (const Use &use : minute.uses())
        sum += use.units;
    QCOMPARE(sum, units);
    if (units == 100) {
        QCOMPARE(minute.uses().front().caller, u"a"_s);
        QCOMPARE(minute.lanes().front().units, 70);
        QCOMPARE(minute.lanes().front().calls, 30);
    }
}

QTEST_GUILESS_MAIN(TestActiveAccounts)
#include "tst_activeaccounts.moc"
