// SPDX-License-Identifier: Apache-2.0
// How the program finds its engine, what it says to it, and how it ends.
#include "program.h"
#include "support/localhttp.h"

#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

class TestCliEngine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void usesUrlAndTokenFile();
    void findsTheLocalEngine_data();
    void findsTheLocalEngine();
    void keepsTheLocalTokenToItself();
    void saysWhenNobodyAnswers();
    void doesNotFollowRedirects();
    void passesOnWhatTheEngineSays();
    void statusForPeople();
    void statusOfSchedulerAndRedis_data();
    void statusOfSchedulerAndRedis();
    void statusSaysWhatIsWrong_data();
    void statusSaysWhatIsWrong();

private:
    QString write(const QString &name, const QByteArray &content) const;
    Run here(const QStringList &arguments) const
    {
        return runProgram(QStringList{u"--url"_s, m_http->url(), u"--token-file"_s, m_token} + arguments);
    }

    QTemporaryDir m_dir;
    QString m_token;
    std::unique_ptr<LocalHttp> m_http;
};

namespace {

LocalHttp::Answer json(const QJsonObject &object, int status = 200)
{
    return LocalHttp::answer(status, QJsonDocument(object).toJson(), "Content-Type: application/json\r\n");
}

QJsonObject overview()
{
    const QByteArray text = R"({
        "version": "0.1.0", "now": 1800000000000, "leader": true, "problems": [],
        "accounts": {"total": 1300,
                     "state": {"active": 1298, "paused": 0, "needs_reauth": 2, "parked": 0, "leaving": 0},
                     "band": {}, "due": 5,
                     "active_band": {"healthy": 1290, "delayed": 5, "late": 3, "critical": 0, "expired": 0, "none": 0},
                     "nearest_expiry": {"account": "acct-17", "expires_at": 1800007500000}},
        "queues": [{"name": "renew", "urgent": 0, "normal": 3, "delayed": 2, "running": 2, "dead": 1},
                   {"name": "plugins", "urgent": 0, "normal": 0, "delayed": 0, "running": 1, "dead": 0}],
        "scheduler": {"leader": true, "last_tick_at": 1799999993000, "overdue": [],
                      "orphaned": []},
        "redis": {"connected": true, "version": "Redis 7.0.15", "embedded": true, "verdict": "safe"},
        "plugins": {"running": 3, "total": 3},
        "scan": {"last_at": 1799999988000}})";
    return QJsonDocument::fromJson(text).object();
}

} // namespace

void TestCliEngine::init()
{
    m_http = std::make_unique<LocalHttp>([](const LocalHttp::Request &) { return json(overview()); });
    m_token = write(u"token"_s, "a-token\nrest\n");
}

QString TestCliEngine::write(const QString &name, const QByteArray &content) const
{
    QFile file(m_dir.filePath(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
        qFatal("cannot write");
    return file.fileName();
}

void TestCliEngine::usesUrlAndTokenFile()
{
    QCOMPARE(here({u"status"_s}).exitCode, 0);
    QCOMPARE(m_http->requests().size(), 1);
    QCOMPARE(m_http->requests().first().method, "GET");
    QCOMPARE(m_http->requests().first().path, "/api/v1/overview");
    QCOMPARE(m_http->requests().first().headers.value("authorization"), "Bearer a-token");
}

void TestCliEngine::findsTheLocalEngine_data()
{
    QTest::addColumn<QString>("variable");
    QTest::addColumn<QString>("subfolder");
    QTest::newRow("state folder") << u"TIDEKEEPER_STATE_DIR"_s << QString();
    QTest::newRow("XDG") << u"XDG_STATE_HOME"_s << u"tidekeeper/"_s;
    QTest::newRow("home") << u"HOME"_s << u".local/state/tidekeeper/"_s;
}

void TestCliEngine::findsTheLocalEngine()
{
    QFETCH(QString, variable);
    QFETCH(QString, subfolder);
    QTemporaryDir home;
    QVERIFY(QDir(home.path()).mkpath(u"./"_s + subfolder));
    const auto put = [&](const QString &name, const QByteArray &text) {
        QFile file(home.path() + u'/' + subfolder + name);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
    };
    put(u"endpoint"_s, m_http->url().toUtf8() + '\n');
    put(u"admin.token"_s, "local-token\n");
    QProcessEnvironment environment;
    environment.insert(u"TIDEKEEPER_STATE_DIR"_s, QString());
    environment.insert(u"XDG_STATE_HOME"_s, QString());
    environment.insert(variable, home.path());
    const Run run = runProgram({u"status"_s, u"--json"_s}, {}, environment);
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    QCOMPARE(run.json(), overview());
    QCOMPARE(m_http->requests().first().headers.value("authorization"), "Bearer local-token");
}

void TestCliEngine::keepsTheLocalTokenToItself()
{
    write(u"endpoint"_s, "http://127.0.0.1:1\n"); // another engine than --url
    write(u"admin.token"_s, "local-token\n");
    QProcessEnvironment environment;
    environment.insert(u"TIDEKEEPER_STATE_DIR"_s, m_dir.path());
    runProgram({u"--url"_s, m_http->url(), u"status"_s}, {}, environment);
    QCOMPARE(m_http->requests().size(), 1);
    QVERIFY(!m_http->requests().first().headers.contains("authorization"));
}

void TestCliEngine::saysWhenNobodyAnswers()
{
    const Run none = runProgram({u"status"_s});
    QCOMPARE(none.exitCode, 3);
    QVERIFY2(none.err.contains(u"/nonexistent"_s) && none.err.contains(u"--url"_s), qPrintable(none.err));
    const Run dead = runProgram({u"--url"_s, u"http://127.0.0.1:1"_s, u"status"_s, u"--json"_s});
    QCOMPARE(dead.exitCode, 3);
    QCOMPARE(dead.json()[u"error"_s][u"code"_s].toString(), u"unreachable"_s);
    QVERIFY(dead.err.contains(u"http://127.0.0.1:1"_s));
    m_http->setScript([](const LocalHttp::Request &) { return LocalHttp::Answer{"HTTP/1.1 2", true}; });
    QCOMPARE(here({u"status"_s}).exitCode, 3);
}

void TestCliEngine::doesNotFollowRedirects()
{
    LocalHttp other;
    m_http->setScript([&](const LocalHttp::Request &) {
        return LocalHttp::answer(302, {}, "Location: " + other.url().toUtf8() + "/\r\n");
    });
    QCOMPARE(here({u"status"_s}).exitCode, 1);
    QVERIFY(other.requests().isEmpty());
}

void TestCliEngine::passesOnWhatTheEngineSays()
{
    m_http->setScript([](const LocalHttp::Request &) {
        return json({{u"code"_s, u"not_found"_s}, {u"detail"_s, u"There is no account of this id."_s}}, 404);
    });
    const Run people = here({u"accounts"_s, u"show"_s, u"a/b c"_s});
    QCOMPARE(people.exitCode, 1);
    QCOMPARE(people.out, QString());
    QCOMPARE(people.err, u"tidekeeper: There is no account of this id.\n"_s);
    QCOMPARE(m_http->requests().first().path, "/api/v1/accounts/a%2Fb%20c");
    const Run programs = here({u"--json"_s, u"accounts"_s, u"show"_s, u"7"_s});
    QCOMPARE(programs.json()[u"error"_s][u"code"_s].toString(), u"not_found"_s);
    m_http->setScript(
        [](const LocalHttp::Request &) { return LocalHttp::answer(502, "<html>proxy</html>"); });
    const Run proxy = here({u"status"_s});
    QCOMPARE(proxy.exitCode, 1);
    QVERIFY(proxy.err.contains(u"502"_s));
}

void TestCliEngine::statusForPeople()
{
    const Run run = here({u"status"_s});
    QCOMPARE(run.exitCode, 0);
    for (const char *line : {
             "Engine 0.1.0, leader",
             "Accounts 1,300",
             "by state active 1,298, paused 0, needs_reauth 2, parked 0, leaving 0",
             "Active watches healthy 1,290, delayed 5, late 3, critical 0, expired 0, none 0",
             "next to lapse in 2 h 5 min (2027-01-15 10:05:00 UTC, account acct-17)",
             "due now 5",
             "Last scan 12 s ago",
             "Scheduler this engine leads, last tick 7 s ago",
             "Queue renew urgent 0, normal 3, delayed 2, running 2, dead 1",
             "Queue plugins urgent 0, normal 0, delayed 0, running 1, dead 0",
             "Redis connected, Redis 7.0.15, embedded, keeps jobs safe",
             "Plugins 3 of 3 running",
         })
        QVERIFY2(run.hasLine(QLatin1String(line)), line);
    QVERIFY(!run.out.contains(u"ATTENTION"_s));
}

void TestCliEngine::statusOfSchedulerAndRedis_data()
{
    QTest::addColumn<QString>("part");
    QTest::addColumn<QJsonObject>("value");
    QTest::addColumn<QString>("line");
    QTest::newRow("another leads") << u"scheduler"_s << QJsonObject{{u"no_leader"_s, false}}
                                   << u"Scheduler another engine leads"_s;
    QTest::newRow("none leads") << u"scheduler"_s
                                << QJsonObject{{u"no_leader"_s, true},
                                               {u"orphaned"_s, QJsonArray{u"a"_s, u"b"_s}}}
                                << u"Scheduler no engine leads, 2 orphaned"_s;
    QTest::newRow("overdue") << u"scheduler"_s
                             << QJsonObject{{u"leader"_s, true}, {u"overdue"_s, QJsonArray{u"scan"_s}}}
                             << u"Scheduler this engine leads, 1 overdue"_s;
    QTest::newRow("unsafe") << u"redis"_s << QJsonObject{{u"connected"_s, true}, {u"verdict"_s, u"unsafe"_s}}
                            << u"Redis connected, UNSAFE"_s;
    QTest::newRow("unknown") << u"redis"_s
                             << QJsonObject{{u"connected"_s, true},
                                            {u"version"_s, u"Valkey 8.0.1"_s},
                                            {u"verdict"_s, u"unknown"_s}}
                             << u"Redis connected, Valkey 8.0.1, not known whether it keeps jobs safe"_s;
}

void TestCliEngine::statusOfSchedulerAndRedis()
{
    QFETCH(QString, part);
    QFETCH(QJsonObject, value);
    QFETCH(QString, line);
    QJsonObject changed = overview();
    changed[part] = value;
    m_http->setScript([changed](const LocalHttp::Request &) { return json(changed); });
    const Run people = here({u"status"_s});
    QCOMPARE(people.exitCode, 0);
    QVERIFY2(people.hasLine(line), qPrintable(people.out));
}

void TestCliEngine::statusSaysWhatIsWrong_data()
{
    QTest::addColumn<QString>("part");
    QTest::addColumn<QJsonValue>("value");
    QTest::addColumn<QString>("line");
    const QJsonObject problem{
        {u"part"_s, u"redis"_s}, {u"code"_s, u"redis_unavailable"_s}, {u"text"_s, u"Redis is away."_s}};
    QTest::newRow("a problem") << u"problems"_s << QJsonValue(QJsonArray{problem})
                               << u"ATTENTION Redis is away."_s;
    const QJsonObject unsafe{{u"code"_s, u"redis_unsafe"_s},
                             {u"text"_s, u"The append-only file is off. Set appendonly to yes."_s}};
    QTest::newRow("unsafe Redis") << u"problems"_s << QJsonValue(QJsonArray{unsafe})
                                  << u"ATTENTION The append-only file is off. Set appendonly to yes."_s;
}

void TestCliEngine::statusSaysWhatIsWrong()
{
    QFETCH(QString, part);
    QFETCH(QJsonValue, value);
    QFETCH(QString, line);
    QJsonObject sick = overview();
    sick[part] = value;
    m_http->setScript([sick](const LocalHttp::Request &) { return json(sick); });
    const Run people = here({u"status"_s});
    QCOMPARE(people.exitCode, 4);
    QVERIFY2(people.hasLine(line), qPrintable(people.out));
    QCOMPARE(here({u"status"_s, u"--json"_s}).exitCode, 4);
}

QTEST_GUILESS_MAIN(TestCliEngine)
#include "tst_cliengine.moc"
