// SPDX-License-Identifier: Apache-2.0
#include "simbench.h"

#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

class TestSimControl : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void accountsComeReadyToImport();
    void expiriesAreSpread();
    void projectsWithPresetsOfTheirOwn();
    void oneMailboxInTwoProjects();
    void stateOfSomeAccounts();
    void totals();
    void badBodies_data();
    void badBodies();
    void settingsAllOrNothing();
};

void TestSimControl::accountsComeReadyToImport()
{
    SimBench bench;
    const Answer answer = bench.call("POST", u"/sim/accounts?format=jsonl"_s,
                                     R"({"count": 3, "prefix": "demo", "watch_expires_in_ms": 60000})");
    QCOMPARE(answer.contentType, "application/x-ndjson");
    const QList<QByteArray> lines = answer.body.trimmed().split('\n');
    QCOMPARE(lines.size(), 3);
    const QJsonObject line = QJsonDocument::fromJson(lines[2]).object();
    QCOMPARE(line.keys(),
             QStringList({u"email"_s, u"history_id"_s, u"id"_s, u"refresh_token"_s, u"watch_expires_at"_s}));
    QCOMPARE(line[u"id"].toString(), u"demo-3"_s);
    QCOMPARE(line[u"email"].toString(), u"demo-3@example.com"_s);
    QCOMPARE(line[u"watch_expires_at"].toInteger(), bench.sim.clock.wallMs() + 60'000);
    const QJsonArray none = bench.control("accounts", {{u"prefix"_s, u"bare"_s}})[u"accounts"].toArray();
    QVERIFY(!none[0].toObject().contains(u"watch_expires_at"_s));
}

void TestSimControl::expiriesAreSpread()
{
    SimBench bench;
    const QJsonArray accounts = bench
                                    .control("accounts",
                                             {{u"count"_s, 5},
                                              {u"prefix"_s, u"x"_s},
                                              {u"watch_expires_in_ms"_s, 1'000},
                                              {u"watch_expires_in_ms_last"_s, 5'000}})[u"accounts"]
                                    .toArray();
    const qint64 now = bench.sim.clock.wallMs();
    for (int i = 0; i < 5; ++i)
        QCOMPARE(accounts[i][u"watch_expires_at"].toInteger(), now + 1'000 * (i + 1));
}

void TestSimControl::projectsWithPresetsOfTheirOwn()
{
    SimBench bench;
    bench.control("accounts", {{u"project_id"_s, u"old-project"_s}, {u"preset"_s, u"gmail-legacy"_s}});
    const QJsonArray projects =
        SimBench::json(bench.call("GET", u"/sim/state"_s))[u"projects"].toArray(); // by id
    QCOMPARE(projects[0][u"preset"].toString(), u"gmail-legacy"_s);
    QCOMPARE(projects[0][u"user_limit_per_minute"].toInt(), 15'000);
    QCOMPARE(projects[1][u"preset"].toString(), u"gmail-2026"_s);
    QCOMPARE(projects[1][u"user_limit_per_minute"].toInt(), 6'000);
    QVERIFY(projects[0][u"number"] != projects[1][u"number"]);
}

/// Limits and watches are per mailbox and project, the mail is the mailbox's.
void TestSimControl::oneMailboxInTwoProjects()
{
    SimBench bench;
    const QJsonObject made = bench.control("accounts",
                                           {{u"emails"_s, QJsonArray{u"a@example.com"_s}},
                                            {u"project_id"_s, u"second"_s},
                                            {u"client_id"_s, u"c2"_s},
                                            {u"client_secret"_s, u"s2"_s}});
    const QString token = made[u"accounts"][0][u"refresh_token"].toString();
    const Answer answer = bench.token("grant_type=refresh_token&client_id=c2&client_secret=s2&refresh_token="
                                      + token.toLatin1().toPercentEncoding());
    bench.gmail("POST", u"watch"_s, {{u"topicName"_s, u"projects/sim-project/topics/t"_s}});
    bench.bearer = "Bearer " + SimBench::json(answer)[u"access_token"].toString().toLatin1();
    QCOMPARE(bench.gmail("POST", u"watch"_s, {{u"topicName"_s, u"projects/second/topics/t"_s}}).status, 200);
    const QJsonArray accounts = SimBench::json(bench.call("GET", u"/sim/state"_s))[u"accounts"].toArray();
    QCOMPARE(accounts.size(), 2);
    for (const QJsonValue &account : accounts)
        QCOMPARE(account[u"units"].toInt(), 100);
}

void TestSimControl::stateOfSomeAccounts()
{
    SimBench bench;
    bench.control("accounts", {{u"count"_s, 10}});
    const auto count = [&](const QString &query) {
        return SimBench::json(bench.call("GET", u"/sim/state"_s + query))[u"accounts"].toArray().size();
    };
    QCOMPARE(count({}), 11);
    QCOMPARE(count(u"?account=a%40example.com"_s), 1);
    QCOMPARE(count(u"?accounts=0"_s), 0);
}

void TestSimControl::totals()
{
    SimBench bench({{u"watch_expires_in_ms"_s, 1'000}});
    bench.gmail("GET", u"profile"_s);
    bench.gmail("GET", u"threads/none"_s);
    bench.advanceMs(1'000);
    const QJsonObject totals = SimBench::json(bench.call("GET", u"/sim/state"_s))[u"totals"].toObject();
    QCOMPARE(totals[u"calls"].toInt(), 2);
    QCOMPARE(totals[u"units"].toInt(), 41);
    QCOMPARE(totals[u"user_units_worst_60s"].toInt(), 41);
    QCOMPARE(totals[u"watching"].toInt(), 0);
    QCOMPARE(totals[u"lapses"].toInt(), 1);
    QCOMPARE(totals[u"answers_by_status"].toObject(),
             QJsonObject({{u"200"_s, 2}, {u"404"_s, 1}})); // with the token
}

void TestSimControl::badBodies_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("names");
    QTest::newRow("not JSON") << u"/sim/accounts"_s << QByteArray("{") << 400 << u"JSON object"_s;
    QTest::newRow("a list") << u"/sim/accounts"_s << QByteArray("[]") << 400 << u"JSON object"_s;
    QTest::newRow("count") << u"/sim/accounts"_s << QByteArray(R"({"count":0})") << 400 << u"count"_s;
    QTest::newRow("fraction") << u"/sim/accounts"_s << QByteArray(R"({"count":1.5})") << 400 << u"count"_s;
    QTest::newRow("unknown field") << u"/sim/accounts"_s << QByteArray(R"({"number":3})") << 400
                                   << u"number"_s;
    QTest::newRow("preset") << u"/sim/accounts"_s << QByteArray(R"({"preset":"x"})") << 400 << u"preset"_s;
    QTest::newRow("no tokens") << u"/sim/devices"_s << QByteArray("{}") << 400 << u"tokens"_s;
    QTest::newRow("unknown mailbox") << u"/sim/mail"_s << QByteArray(R"({"email":"z@z"})") << 400
                                     << u"email"_s;
    QTest::newRow("back in time") << u"/sim/clock"_s << QByteArray(R"({"advance_ms":-1})") << 400
                                  << u"advance_ms"_s;
    QTest::newRow("setting") << u"/sim/settings"_s << QByteArray(R"({"latency":1})") << 400 << u"latency"_s;
    QTest::newRow("no such thing") << u"/sim/nothing"_s << QByteArray("{}") << 404 << u"/sim/nothing"_s;
}

void TestSimControl::badBodies()
{
    QFETCH(QString, path);
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    QFETCH(QString, names);
    SimBench bench;
    const Answer answer = bench.call("POST", path, body);
    QCOMPARE(answer.status, status);
    QVERIFY2(SimBench::json(answer)[u"error"].toString().contains(names), answer.body.constData());
    QCOMPARE(bench.sim.world.users.size(), size_t(1));
}

void TestSimControl::settingsAllOrNothing()
{
    SimBench bench;
    bench.call("POST", u"/sim/settings"_s, R"({"concurrency":3,"user_limit_answer":"never"})");
    QCOMPARE(bench.sim.world.settings.concurrency, 10);
    bench.call("POST", u"/sim/settings"_s, R"({"concurrency":3,"preset":"gmail-legacy"})");
    QCOMPARE(SimBench::json(bench.call("GET", u"/sim/settings"_s))[u"concurrency"].toInt(), 3);
    QCOMPARE(SimBench::json(bench.call("GET", u"/sim/settings"_s))[u"preset"].toString(), u"gmail-legacy"_s);
}

QTEST_GUILESS_MAIN(TestSimControl)
#include "tst_sim_control.moc"
