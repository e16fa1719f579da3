// SPDX-License-Identifier: Apache-2.0
// Verbs that need no engine.
#include "program.h"

#include <QtCore/QJsonArray>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

class TestCliLocal : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void helpNamesExitCodes();
    void refusesBadArguments_data();
    void refusesBadArguments();
    void namesUnknownCommands_data();
    void namesUnknownCommands();
    void cronNext_data();
    void cronNext();
    void cronNextForPeople();
    void cronRefuses_data();
    void cronRefuses();
    void configCheck();
    void configCheckOfPlugins_data();
    void configCheckOfPlugins();
    void pluginCheckRefuses();

private:
    QString write(const QByteArray &toml) const;

    QTemporaryDir m_dir;
};

void TestCliLocal::helpNamesExitCodes()
{
    const Run run = runProgram({u"--help"_s});
    QCOMPARE(run.exitCode, 0);
    for (const char *part : {"status", "accounts", "cron", "Exit codes:", "3  no engine answers"})
        QVERIFY2(run.out.contains(QLatin1String(part)), part);
}

void TestCliLocal::refusesBadArguments_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("nothing") << QStringList();
    QTest::newRow("unknown verb") << QStringList{u"frobnicate"_s};
    QTest::newRow("unknown option") << QStringList{u"status"_s, u"--colour"_s};
    QTest::newRow("no sub-verb") << QStringList{u"accounts"_s};
    QTest::newRow("no id") << QStringList{u"accounts"_s, u"show"_s};
    QTest::newRow("no address") << QStringList{u"accounts"_s, u"add"_s, u"7"_s};
    QTest::newRow("not a number") << QStringList{u"accounts"_s, u"list"_s, u"-n"_s, u"many"_s};
    QTest::newRow("out of range") << QStringList{u"buckets"_s, u"-n"_s, u"0"_s};
    QTest::newRow("renew nothing") << QStringList{u"accounts"_s, u"renew"_s};
    QTest::newRow("requeue nothing") << QStringList{u"queue"_s, u"requeue"_s};
    QTest::newRow("not an address") << QStringList{u"--url"_s, u"localhost"_s, u"status"_s};
    QTest::newRow("no token file") << QStringList{u"--url"_s, u"http://127.0.0.1:1"_s, u"--token-file"_s,
                                                  u"/nonexistent"_s, u"status"_s};
    QTest::newRow("no import file") << QStringList{u"accounts"_s, u"import"_s, u"/nonexistent"_s};
}

void TestCliLocal::refusesBadArguments()
{
    QFETCH(QStringList, arguments);
    const Run run = runProgram(arguments);
    QCOMPARE(run.exitCode, 2);
    QVERIFY(!run.err.isEmpty());
}

void TestCliLocal::namesUnknownCommands_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QString>("says");
    QTest::newRow("nothing near") << u"bogus"_s
                                  << u"\"bogus\" is no command of \"tidekeeper\". See tidekeeper --help."_s;
    QTest::newRow("near") << u"--json acounts list"_s
                          << u"\"acounts\" is no command of \"tidekeeper\". Did you mean \"accounts\"?"_s;
    QTest::newRow("below a command")
        << u"accounts inport"_s
        << u"\"inport\" is no command of \"tidekeeper accounts\". Did you mean \"import\"?"_s;
    QTest::newRow("with arguments")
        << u"schedules resum x --json"_s
        << u"\"resum\" is no command of \"tidekeeper schedules\". Did you mean \"resume\"?"_s;
    QTest::newRow("none given") << u"schedules"_s << u"subcommand is required"_s;
    QTest::newRow("a missing argument is not taken for it")
        << u"accounts show --colour"_s << u"id is required"_s;
}

void TestCliLocal::namesUnknownCommands()
{
    QFETCH(QString, arguments);
    QFETCH(QString, says);
    const Run run = runProgram(arguments.split(u' '));
    QCOMPARE(run.exitCode, 2);
    QVERIFY2(run.err.contains(says), qPrintable(run.err));
}

void TestCliLocal::cronNext_data()
{
    QTest::addColumn<QString>("expression");
    QTest::addColumn<QString>("zone");
    QTest::addColumn<QString>("from");
    QTest::addColumn<QStringList>("next");
    QTest::newRow("UTC") << u"*/15 * * * *"_s << u"UTC"_s << u"2026-01-01T00:00:00Z"_s
                         << QStringList{u"2026-01-01T00:15:00Z"_s, u"2026-01-01T00:30:00Z"_s};
    QTest::newRow("gap in spring") << u"30 2 * * *"_s << u"America/New_York"_s
                                   << u"2026-03-08T00:00:00-05:00"_s
                                   << QStringList{u"2026-03-08T07:00:00Z"_s, u"2026-03-09T06:30:00Z"_s};
    QTest::newRow("repeated in autumn")
        << u"30 1 * * *"_s << u"America/New_York"_s << u"2026-11-01T00:00:00-04:00"_s
        << QStringList{u"2026-11-01T05:30:00Z"_s, u"2026-11-02T06:30:00Z"_s};
    QTest::newRow("half an hour, at the end of the gap")
        << u"15 2 * * *"_s << u"Australia/Lord_Howe"_s << u"2026-10-03T00:00:00.000Z"_s
        << QStringList{u"2026-10-03T15:30:00Z"_s, u"2026-10-04T15:15:00Z"_s};
    QTest::newRow("gap at midnight") << u"@daily"_s << u"America/Santiago"_s << u"2026-09-05T12:00:00Z"_s
                                     << QStringList{u"2026-09-06T04:00:00Z"_s, u"2026-09-07T03:00:00Z"_s};
    QTest::newRow("zone with three parts")
        << u"0 0 1 1 *"_s << u"America/Argentina/Buenos_Aires"_s << u"2026-06-01T00:00:00+05:30"_s
        << QStringList{u"2027-01-01T03:00:00Z"_s};
    QTest::newRow("no zone is UTC") << u"0 0 29 2 *"_s << QString() << u"2026-01-01T00:00:00Z"_s
                                    << QStringList{u"2028-02-29T00:00:00Z"_s, u"2032-02-29T00:00:00Z"_s};
    QTest::newRow("seconds") << u"30 0 0 * * *"_s << u"Asia/Seoul"_s << u"2026-05-01T00:00:00Z"_s
                             << QStringList{u"2026-05-01T15:00:30Z"_s};
}

void TestCliLocal::cronNext()
{
    QFETCH(QString, expression);
    QFETCH(QString, zone);
    QFETCH(QString, from);
    QFETCH(QStringList, next);
    const Run run = runProgram({u"cron"_s, u"next"_s, expression, u"--tz"_s, zone, u"--from"_s, from, u"-n"_s,
                                QString::number(next.size()), u"--json"_s});
    QCOMPARE(run.exitCode, 0);
    QCOMPARE(run.json(), (QJsonObject{{u"next"_s, QJsonArray::fromStringList(next)}}));
    QVERIFY(run.err.isEmpty());
}

void TestCliLocal::cronNextForPeople()
{
    const Run run = runProgram(
        {u"cron"_s, u"next"_s, u"@daily"_s, u"--from"_s, u"2026-01-01T00:00:00Z"_s, u"-n"_s, u"2"_s});
    QCOMPARE(run.out, u"2026-01-02T00:00:00Z\n2026-01-03T00:00:00Z\n"_s);
}

void TestCliLocal::cronRefuses_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<QString>("says");
    QTest::newRow("minute 61") << QStringList{u"61 * * * *"_s} << 1 << u"minute"_s;
    QTest::newRow("30 February") << QStringList{u"0 0 30 2 *"_s} << 1 << u"never comes"_s;
    QTest::newRow("four fields") << QStringList{u"* * * *"_s} << 1 << u"this has 4"_s;
    QTest::newRow("empty") << QStringList{u""_s} << 1 << u"this has 0"_s;
    QTest::newRow("zone") << QStringList{u"* * * * *"_s, u"--tz"_s, u"Mars/Olympus"_s} << 1
                          << u"Mars/Olympus"_s;
    for (const QString &zone : {u"EST5EDT4"_s, u"GMT+3"_s, u"../UTC"_s, u"asia/seoul"_s, u"+02:00"_s})
        QTest::newRow(qPrintable(u"zone "_s + zone))
            << QStringList{u"* * * * *"_s, u"--tz"_s, zone} << 1 << u"IANA name"_s;
    QTest::newRow("time without zone")
        << QStringList{u"* * * * *"_s, u"--from"_s, u"2026-01-01T00:00:00"_s} << 2 << u"--from"_s;
    QTest::newRow("no time") << QStringList{u"* * * * *"_s, u"--from"_s, u"tomorrow"_s} << 2 << u"--from"_s;
    QTest::newRow("too many") << QStringList{u"* * * * *"_s, u"-n"_s, u"100000"_s} << 2 << u"-n"_s;
}

void TestCliLocal::cronRefuses()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, says);
    const Run run = runProgram(QStringList{u"cron"_s, u"next"_s} + arguments + QStringList{u"--json"_s});
    QTEST(run.exitCode, "exitCode");
    QVERIFY(!run.json().contains(u"next"_s));
    QVERIFY2(run.err.contains(says), qPrintable(run.err));
}

QString TestCliLocal::write(const QByteArray &toml) const
{
    QFile file(m_dir.filePath(u"t.toml"_s));
    if (!file.open(QIODevice::WriteOnly) || file.write(toml) != toml.size())
        qFatal("cannot write");
    return file.fileName();
}

void TestCliLocal::configCheck()
{
    const QStringList verb{u"config"_s, u"check"_s, u"--config"_s};
    const Run good = runProgram(verb + QStringList{write("[http]\nlisten = \"127.0.0.1:0\"\n")});
    QCOMPARE(good.exitCode, 0);
    QCOMPARE(good.out, u"The configuration is in order.\n"_s);

    const QString bad = write("[http]\nlisen = \"127.0.0.1:0\"\n[log]\nlevel = 7\n");
    const Run people = runProgram(verb + QStringList{bad});
    QCOMPARE(people.exitCode, 1);
    QVERIFY2(people.err.contains(u"lisen"_s) && people.err.contains(u"listen"_s), qPrintable(people.err));
    QVERIFY2(people.err.contains(u"log.level"_s), qPrintable(people.err));
    const Run programs = runProgram(verb + QStringList{bad, u"--json"_s});
    QCOMPARE(programs.exitCode, 1);
    QCOMPARE(programs.json()[u"ok"_s], QJsonValue(false));
    QCOMPARE(programs.json()[u"faults"_s].toArray().size(), 2);
    QCOMPARE(runProgram(verb + QStringList{u"/nonexistent.toml"_s}).exitCode, 1);
}

void TestCliLocal::configCheckOfPlugins_data()
{
    QTest::addColumn<QByteArray>("section");
    QTest::addColumn<QString>("says"); // empty: in order
    QTest::newRow("in order") << QByteArray(
        "[plugins.watch-renewal]\nwindow = \"2d\"\ncron = \"*/5 * * * *\"\n"
        "[plugins.gmail-quota]\nkey_ttl = \"2h\"\nenabled = false\n")
                              << QString();
    QTest::newRow("unknown key") << QByteArray("[plugins.watch-renewal]\nwndow = \"2d\"\n")
                                 << u"\"wndow\" is not a known key. Did you mean \"window\"?"_s;
    QTest::newRow("short duration")
        << QByteArray("[plugins.gmail-quota]\nkey_ttl = \"1s\"\n")
        << u"\"key_ttl\" must be a duration from \"1m\" to \"7d\", such as \"1h\", "
           u"but it is \"1s\"."_s;
    QTest::newRow("no unit") << QByteArray("[plugins.watch-renewal]\nwindow = \"6\"\n")
                             << u"\"window\" must be a duration from \"1h\" to \"6d\""_s;
    QTest::newRow("out of range") << QByteArray("[plugins.gmail-quota]\nbulk_reserve = 2\n")
                                  << u"[plugins.gmail-quota] is wrong: \"bulk_reserve\" must be a number"_s;
    QTest::newRow("cron") << QByteArray("[plugins.watch-renewal]\ncron = \"61 * * * *\"\n")
                          << u"\"cron\" must be a cron pattern. Cron field \"minute\""_s;
    QTest::newRow("unknown plugin")
        << QByteArray("[plugins.gmail-qota]\n")
        << u"[plugins.gmail-qota] belongs to no plugin that was found. Did you mean \"gmail-quota\"?"_s;
}

void TestCliLocal::configCheckOfPlugins()
{
    QFETCH(QByteArray, section);
    QFETCH(QString, says);
    const QStringList verb{u"config"_s, u"check"_s, u"--config"_s, write(section)};
    const Run run = runProgram(verb);
    QVERIFY2(says.isEmpty() ? run.err.isEmpty() : run.err.contains(says), qPrintable(run.err));
    QCOMPARE(run.exitCode, says.isEmpty() ? 0 : 1);
}

void TestCliLocal::pluginCheckRefuses()
{
    const QStringList verb{u"plugin"_s, u"check"_s};
    QCOMPARE(runProgram(verb + QStringList{u"/nonexistent.so"_s}).exitCode, 1);
    const Run program =
        runProgram(verb + QStringList{QStringLiteral(TIDEKEEPER_BINARY_DIR) + u"/bin/tidekeeper"_s});
    QCOMPARE(program.exitCode, 1);
    QVERIFY(!program.err.isEmpty());
}

QTEST_GUILESS_MAIN(TestCliLocal)
#include "tst_clilocal.moc"
