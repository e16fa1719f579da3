// SPDX-License-Identifier: Apache-2.0
#include "app/eventbus.h"
#include "support/fakeclock.h"

#include <QtCore/QThread>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

class Recorder final : public EventSink {
public:
    QList<QJsonObject> events;
    void onEvent(const QJsonObject &event) override { events.append(event); }
};

} // namespace

class TestEventBus : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void prefixes()
    {
        test::FakeClock clock(5'000);
        app::EventBus bus(clock);
        Recorder watch;
        Recorder all;
        bus.subscribe(u"watch."_s, &watch);
        bus.subscribe({}, &all);
        bus.publish(u"watch.renewed"_s, {{u"account"_s, u"a"_s}});
        bus.publish(u"account.parked"_s, {});
        QVERIFY(all.events.isEmpty()); // never from inside publish()
        QCoreApplication::processEvents();
        QCOMPARE(watch.events.size(), 1);
        QCOMPARE(
            watch.events[0],
            (QJsonObject{
                {u"account"_s, u"a"_s}, {u"type"_s, u"watch.renewed"_s}, {u"at"_s, 5'000}, {u"seq"_s, 1}}));
        QCOMPARE(all.events.size(), 2);
        QCOMPARE(all.events[1]["seq"_L1].toInt(), 2);
    }

    void fromAnotherThread()
    {
        test::FakeClock clock;
        app::EventBus bus(clock);
        QSignalSpy spy(&bus, &app::EventBus::published);
        QThread *thread = QThread::create([&bus] {
            for (int i = 0; i < 100; ++i)
                bus.publish(u"x"_s, {{u"i"_s, i}});
        });
        thread->start();
        QVERIFY(thread->wait());
        delete thread;
        QCoreApplication::processEvents();
        QCOMPARE(spy.size(), 100);
        QCOMPARE(spy.last().first().toJsonObject()["i"_L1].toInt(), 99);
    }
};

QTEST_GUILESS_MAIN(TestEventBus)
#include "tst_eventbus.moc"
