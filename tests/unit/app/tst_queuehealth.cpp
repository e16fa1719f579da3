// SPDX-License-Identifier: Apache-2.0
#include "app/queuehealth.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::app;

namespace {

constexpr qint64 nowMs = 1'800'000'000'000;
constexpr qint64 minuteMs = 60'000;

QStringList codesOf(const QJsonArray &parts)
{
    QStringList codes;
    for (const QJsonValue &part : parts)
        codes.append(part["ok"_L1].toBool() ? u"ok"_s : part["code"_L1].toString());
    return codes;
}

bool isReady(const QJsonArray &parts)
{
    return std::all_of(parts.begin(), parts.end(),
                       [](const QJsonValue &part) { return part["ready"_L1].toBool(); });
}

QString textsOf(const QJsonArray &parts)
{
    QString texts;
    for (const QJsonValue &part : parts)
        texts += part["name"_L1].toString() + u": "_s + part["text"_L1].toString() + u'\n';
    return texts;
}

} // namespace

/// What operators are told of queues and scheduler, and what of it a load balancer must know.
class TestQueueHealth : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void queues_data();
    void queues();
    void unansweredQueue();
    void scheduler_data();
    void scheduler();
};

void TestQueueHealth::queues_data()
{
    QTest::addColumn<QJsonObject>("counts");
    QTest::addColumn<bool>("taking");
    QTest::addColumn<QStringList>("codes");
    QTest::addColumn<bool>("ready");
    QTest::addColumn<QStringList>("says");
    const auto row = [](const char *name, const QJsonObject &counts, bool taking, const QStringList &codes,
                        bool ready, const QStringList &says) {
        QTest::newRow(name) << counts << taking << codes << ready << says;
    };
    row("empty", {}, true, {u"ok"_s}, true, {u"queue renew: "_s});
    row("busy", {{u"normal"_s, 5000}, {u"oldest_waiting_ms"_s, waitingTooLongMs}}, true, {u"ok"_s}, true, {});
    row("not keeping up", {{u"urgent"_s, 1}, {u"normal"_s, 41}, {u"oldest_waiting_ms"_s, 12 * minuteMs + 1}},
        true, {u"jobs_waiting"_s}, true, {u"42 jobs wait, the oldest for 12 min"_s, u"--queue renew"_s});
    row("dead letters", {{u"dead"_s, 3}}, true, {u"dead_letters"_s}, true,
        {u"by themselves: 3."_s, u"tidekeeper queue dead --queue renew"_s});
    row("discarded ones are settled", {{u"discarded"_s, 3}}, true, {u"ok"_s}, true, {});
    row("not taking", {{u"normal"_s, 9}, {u"oldest_waiting_ms"_s, 60 * minuteMs}}, false,
        {u"queue_unavailable"_s}, false,
        {u"full, read-only or just starting"_s}); // said once, with its cause
    row("all of it", {{u"dead"_s, 1}}, false, {u"queue_unavailable"_s, u"dead_letters"_s}, false, {});
}

void TestQueueHealth::queues()
{
    QFETCH(QJsonObject, counts);
    QFETCH(bool, taking);
    QFETCH(QStringList, says);
    const QJsonArray parts = queueParts(u"renew"_s, counts, taking);
    QTEST(codesOf(parts), "codes");
    QTEST(isReady(parts), "ready");
    for (const QString &words : says)
        QVERIFY2(textsOf(parts).contains(words), qPrintable(textsOf(parts)));
}

void TestQueueHealth::unansweredQueue()
{
    const QJsonArray parts = queueParts(u"renew"_s, fail(u"redis_timeout"_s, u"Redis is silent."_s), true);
    QCOMPARE(codesOf(parts), QStringList{u"redis_timeout"_s});
    QVERIFY(!isReady(parts));
}

void TestQueueHealth::scheduler_data()
{
    QTest::addColumn<QJsonObject>("health");
    QTest::addColumn<QJsonArray>("schedules");
    QTest::addColumn<QStringList>("codes");
    QTest::addColumn<QStringList>("says");
    const auto row = [](const char *name, const QJsonObject &health, const QJsonArray &schedules,
                        const QStringList &codes, const QStringList &says) {
        QTest::newRow(name) << health << schedules << codes << says;
    };
    const QJsonObject leads{{u"leader"_s, true}, {u"ready"_s, true}};
    const auto orphan = [](const QString &id) { return QJsonObject{{u"id"_s, id}, {u"orphaned"_s, true}}; };
    row("leads", leads, {QJsonObject{{u"id"_s, u"scan"_s}}}, {u"ok"_s}, {});
    row("another leads", {}, {}, {u"ok"_s}, {});
    row("nobody leads", {{u"no_leader"_s, true}}, {}, {u"no_leader"_s}, {u"no schedule fires"_s});
    row("leads blindly", {{u"leader"_s, true}, {u"ready"_s, false}}, {}, {u"leader_not_ready"_s}, {});
    row("overdue", leads,
        {QJsonObject{{u"id"_s, u"scan"_s}, {u"overdue_since"_s, nowMs - 7 * minuteMs}},
         QJsonObject{{u"id"_s, u"other"_s}, {u"overdue_since"_s, 0}}},
        {u"schedule_overdue"_s}, {u"\"scan\" was due 7 min ago"_s, u"tidekeeper schedules run scan"_s});
    row("orphaned", leads, {orphan(u"a"_s), orphan(u"b"_s)}, {u"schedules_orphaned"_s},
        {u"they do not run: a, b."_s, u"tidekeeper schedules forget ID"_s});
    row("many orphans", leads, {orphan(u"a"_s), orphan(u"b"_s), orphan(u"c"_s), orphan(u"d"_s)},
        {u"schedules_orphaned"_s}, {u": a, b, c and 1 more."_s});
}

void TestQueueHealth::scheduler()
{
    QFETCH(QJsonObject, health);
    QFETCH(QJsonArray, schedules);
    QFETCH(QStringList, says);
    const QJsonArray parts = schedulerParts(health, schedules, nowMs);
    QTEST(codesOf(parts), "codes");
    QVERIFY(isReady(parts)); // another engine, or the same one soon, fires them: calls can go on
    for (const QString &words : says)
        QVERIFY2(textsOf(parts).contains(words), qPrintable(textsOf(parts)));
}

QTEST_GUILESS_MAIN(TestQueueHealth)
#include "tst_queuehealth.moc"
