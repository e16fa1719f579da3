// SPDX-License-Identifier: Apache-2.0
#include "simbench.h"

#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

const QString topic = u"projects/sim-project/topics/gmail"_s;

} // namespace

class TestSimWatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void watchSetsAndRenews();
    void watchOnAnotherTopic();
    void watchStrict();
    void watchErrors_data();
    void watchErrors();
    void lapsesAreCounted();
};

void TestSimWatch::watchSetsAndRenews()
{
    SimBench bench;
    const QJsonObject body{{u"topicName"_s, topic}, {u"labelIds"_s, QJsonArray{u"INBOX"_s}}};
    const qint64 start = bench.sim.clock.wallMs();
    const QJsonObject first = SimBench::json(bench.gmail("POST", u"watch"_s, body));
    QCOMPARE(first[u"expiration"].toString(), QString::number(start + 7 * 24 * 3'600'000LL));
    QVERIFY(first[u"historyId"].isString());
    bench.advanceMs(24 * 3'600'000);
    bench.bearer = "Bearer " + bench.newAccessToken().toLatin1();
    const QJsonObject second = SimBench::json(bench.gmail("POST", u"watch"_s, body));
    QCOMPARE(second[u"expiration"].toString(), QString::number(start + 8 * 24 * 3'600'000LL));
    const QJsonObject account = bench.account();
    QCOMPARE(account[u"watches"].toArray().size(), 2);
    QCOMPARE(account[u"watch"][u"label_ids"].toArray(), QJsonArray{u"INBOX"_s});
    QCOMPARE(account[u"lapses"].toInt(), 0);
    QCOMPARE(bench.gmail("POST", u"stop"_s).status, 204);
    QVERIFY(bench.account()[u"watch"].isNull());
    QCOMPARE(bench.gmail("POST", u"stop"_s).status, 204); // stopping nothing is fine
}

void TestSimWatch::watchOnAnotherTopic()
{
    SimBench bench({{u"watch_expires_in_ms"_s, 60'000}});
    const QJsonObject other{{u"topicName"_s, u"projects/sim-project/topics/other"_s}};
    const Answer refused = bench.gmail("POST", u"watch"_s, other);
    QCOMPARE(refused.status, 400);
    QCOMPARE(SimBench::json(refused)[u"error"][u"status"].toString(), u"INVALID_ARGUMENT"_s);
    QCOMPARE(messageOf(refused),
             u"Only one user push notification client allowed per developer (call /stop then try again)"_s);
    QCOMPARE(bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}}).status, 200);
    bench.gmail("POST", u"stop"_s);
    QCOMPARE(bench.gmail("POST", u"watch"_s, other).status, 200);
    bench.advanceMs(7 * 24 * 3'600'000LL); // lapsed: any topic goes
    bench.bearer = "Bearer " + bench.newAccessToken().toLatin1();
    QCOMPARE(bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}}).status, 200);
}

void TestSimWatch::watchStrict()
{
    SimBench bench({{u"watch_expires_in_ms"_s, 60'000}});
    bench.control("settings", {{u"strict_watch"_s, true}});
    QCOMPARE(bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}}).status, 400);
    bench.gmail("POST", u"stop"_s);
    QCOMPARE(bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}}).status, 200);
}

void TestSimWatch::watchErrors_data()
{
    QTest::addColumn<QString>("fault");
    QTest::addColumn<QString>("topicName");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("reason");
    QTest::addColumn<QString>("message");
    QTest::newRow("other project") << QString() << u"projects/else/topics/t"_s << 400 << u"invalidArgument"_s
                                   << u"Invalid topicName does not match projects/sim-project/topics/*"_s;
    QTest::newRow("no topic") << QString() << QString() << 400 << u"invalidArgument"_s
                              << u"Invalid topicName does not match projects/sim-project/topics/*"_s;
    QTest::newRow("forbidden")
        << u"topic_forbidden"_s << topic << 403 << u"forbidden"_s
        << u"Error sending test message to Cloud PubSub projects/sim-project/topics/gmail : User not authorized to perform this action."_s;
    QTest::newRow("missing")
        << u"topic_missing"_s << topic << 404 << u"notFound"_s
        << u"Error sending test message to Cloud PubSub projects/sim-project/topics/gmail: Resource not found (resource=gmail)"_s;
    QTest::newRow("no mailbox") << u"mail_service_off"_s << topic << 400 << u"failedPrecondition"_s
                                << u"Mail service not enabled"_s;
    QTest::newRow("ambiguous") << u"precondition_failed"_s << topic << 400 << u"failedPrecondition"_s
                               << u"Precondition check failed."_s;
}

void TestSimWatch::watchErrors()
{
    QFETCH(QString, fault);
    QFETCH(QString, topicName);
    QFETCH(int, status);
    QFETCH(QString, reason);
    QFETCH(QString, message);
    SimBench bench;
    if (!fault.isEmpty())
        bench.control("faults", {{u"kind"_s, fault}});
    const Answer answer = bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topicName}});
    QCOMPARE(answer.status, status);
    QCOMPARE(reasonOf(answer), reason);
    QCOMPARE(messageOf(answer), message);
    QVERIFY(bench.account()[u"watch"].isNull());
}

void TestSimWatch::lapsesAreCounted()
{
    SimBench bench({{u"watch_expires_in_ms"_s, 1'000}});
    bench.advanceMs(999);
    QCOMPARE(bench.account()[u"lapses"].toInt(), 0);
    bench.advanceMs(501);
    QCOMPARE(bench.account()[u"lapses"].toInt(), 1);
    QCOMPARE(bench.account()[u"lapsed"].toBool(), true);
    bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}});
    QCOMPARE(bench.account()[u"lapsed"].toBool(), false);
    QCOMPARE(bench.account()[u"lapses"].toInt(), 1);
    QCOMPARE(bench.account()[u"lapsed_ms"].toInt(), 500);
}

QTEST_GUILESS_MAIN(TestSimWatch)
#include "tst_sim_watch.moc"
