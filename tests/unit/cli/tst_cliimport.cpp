// SPDX-License-Identifier: Apache-2.0
#include "program.h"
#include "support/localhttp.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QTemporaryDir>
#include <QtCore/QTemporaryFile>
#include <QtTest/QTest>

using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

namespace {

QByteArray lines(int from, int to, int padding = 0)
{
    QByteArray text;
    for (int i = from; i <= to; ++i)
        text +=
            "{\"id\": \"" + QByteArray::number(i) + "\", \"note\": \"" + QByteArray(padding, 'x') + "\"}\n";
    return text;
}

/// Takes every line, refuses those that say "bad".
LocalHttp::Answer engine(const LocalHttp::Request &request)
{
    const QList<QByteArray> rows = request.body.split('\n');
    QJsonArray errors;
    int created = 0;
    for (qsizetype i = 0; i < rows.size(); ++i) {
        if (rows[i].contains("bad"))
            errors.append(
                QJsonObject{{u"line"_s, i + 1}, {u"code"_s, u"invalid_request"_s}, {u"text"_s, u"Bad."_s}});
        else if (!rows[i].isEmpty())
            ++created;
    }
    return LocalHttp::answer(
        200, QJsonDocument(QJsonObject{{u"created"_s, created}, {u"errors"_s, errors}}).toJson());
}

} // namespace

class TestCliImport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sendsBatches();
    void keepsBatchesSmall();
    void namesEveryBadLine();
    void saysWhereToGoOn();
    void readsStandardInput();
    void csvWithColumnMap();
    void csvInstants_data();
    void csvInstants();
    void csvRefusals_data();
    void csvRefusals();
    void rejectsFile();
    void exportIsImportable();

private:
    Run import(LocalHttp &http, const QByteArray &text, const QStringList &more = {}) const;
};

Run TestCliImport::import(LocalHttp &http, const QByteArray &text, const QStringList &more) const
{
    QTemporaryFile file;
    if (!file.open() || file.write(text) != text.size() || !file.flush())
        qFatal("cannot write");
    return runProgram(QStringList{u"--url"_s, http.url(), u"accounts"_s, u"import"_s, file.fileName()}
                      + more);
}

void TestCliImport::sendsBatches()
{
    LocalHttp http(engine);
    const Run run = import(http, lines(1, 2500));
    QCOMPARE(run.exitCode, 0);
    QCOMPARE(run.out, u"2,500 created, 0 updated, 0 unchanged, 0 with errors\n"_s);
    QCOMPARE(run.err, QString()); // no progress bar where nobody sees it
    QCOMPARE(http.requests().size(), 3);
    QByteArray sent;
    for (const LocalHttp::Request &request : http.requests()) {
        QCOMPARE(request.path, "/api/v1/accounts/import");
        QCOMPARE(request.headers.value("content-type"), "application/x-ndjson");
        QVERIFY(request.body.count('\n') <= 1000);
        sent += request.body;
    }
    QCOMPARE(sent, lines(1, 2500));
}

void TestCliImport::keepsBatchesSmall()
{
    LocalHttp http(engine);
    const Run run = import(http, lines(1, 900, 3000));
    QCOMPARE(run.exitCode, 0);
    QVERIFY(http.requests().size() > 2);
    for (const LocalHttp::Request &request : http.requests())
        QVERIFY(request.body.size() <= 1024 * 1024);
}

void TestCliImport::namesEveryBadLine()
{
    LocalHttp http(engine);
    const QByteArray text = lines(1, 1200) + "bad\n\n" + lines(1203, 1300) + "bad";
    const Run people = import(http, text);
    QCOMPARE(people.exitCode, 1);
    QCOMPARE(people.err, u"tidekeeper: line 1201: Bad.\ntidekeeper: line 1301: Bad.\n"_s);
    QCOMPARE(people.out, u"1,298 created, 0 updated, 0 unchanged, 2 with errors\n"_s);
    const Run programs = import(http, text, {u"--json"_s});
    QCOMPARE(programs.json()[u"created"_s].toInt(), 1298);
    QCOMPARE(programs.json()[u"failed"_s].toInt(), 2);
    QCOMPARE(programs.json()[u"errors"_s][1][u"line"_s].toInt(), 1301);
}

void TestCliImport::saysWhereToGoOn()
{
    int calls = 0;
    LocalHttp http;
    http.setScript([&calls](const LocalHttp::Request &request) {
        return ++calls == 2
            ? LocalHttp::answer(503, R"({"code": "database_unavailable", "detail": "The database is away."})")
            : engine(request);
    });
    const Run first = import(http, lines(1, 2500));
    QCOMPARE(first.exitCode, 1);
    QVERIFY2(first.err.contains(u"--from-line 1001"_s), qPrintable(first.err));
    QVERIFY(first.err.contains(u"The database is away."_s));
    http.clear();
    const Run second = import(http, lines(1, 2500), {u"--from-line"_s, u"1001"_s});
    QCOMPARE(second.exitCode, 0);
    QCOMPARE(second.out, u"1,500 created, 0 updated, 0 unchanged, 0 with errors\n"_s);
    QVERIFY(http.requests().first().body.startsWith("{\"id\": \"1001\""));
}

void TestCliImport::readsStandardInput()
{
    LocalHttp http(engine);
    const Run run = runProgram({u"--url"_s, http.url(), u"accounts"_s, u"import"_s, u"-"_s}, lines(1, 3));
    QCOMPARE(run.exitCode, 0);
    QCOMPARE(http.requests().first().body, lines(1, 3));
}

// As `psql -c "copy (…) to stdout csv header"` and `sqlite3 -csv -header` write it, with what spreadsheets add.
void TestCliImport::csvWithColumnMap()
{
    LocalHttp http(engine);
    const QByteArray table = "\xef\xbb\xbfuser_id,mail,note,expires\r\n"
                             "1,one@example.com,\"a, \"\"b\"\"\nc\",1800000000\r\n"
                             "\r\n"
                             "2,two@example.com,,\r\n";
    const QStringList csv{u"--format"_s, u"csv"_s, u"--map"_s,
                          u"id=user_id,email=mail,watch_expires_at=expires"_s};
    const Run refused = import(http, table, csv);
    QCOMPARE(refused.exitCode, 2);
    QVERIFY2(refused.err.contains(u"note"_s), qPrintable(refused.err));
    QVERIFY(http.requests().isEmpty());

    const Run run = import(http, table, csv + QStringList{u"--ignore-unknown"_s, u"--paused"_s});
    QCOMPARE(run.exitCode, 0);
    QCOMPARE(http.requests().first().path, "/api/v1/accounts/import?paused=true");
    QCOMPARE(http.requests().first().body,
             "{\"email\":\"one@example.com\",\"id\":\"1\",\"watch_expires_at\":1800000000000}\n"
             "{\"email\":\"two@example.com\",\"id\":\"2\"}\n");
    http.clear();
    QCOMPARE(import(http, table, csv + QStringList{u"--ignore-unknown"_s, u"--from-line"_s, u"3"_s}).exitCode,
             0);
    QCOMPARE(http.requests().first().body, "{\"email\":\"two@example.com\",\"id\":\"2\"}\n");
}

void TestCliImport::csvInstants_data()
{
    QTest::addColumn<QString>("unit");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<qint64>("expected");
    QTest::newRow("seconds") << u"detect"_s << QByteArray("1800000000") << 1'800'000'000'000LL;
    QTest::newRow("milliseconds") << u"detect"_s << QByteArray("1800000000123") << 1'800'000'000'123LL;
    QTest::newRow("seconds told") << u"s"_s << QByteArray("180000000000") << 180'000'000'000'000LL;
    QTest::newRow("milliseconds told") << u"ms"_s << QByteArray("1800") << 1'800LL;
    QTest::newRow("ISO") << u"detect"_s << QByteArray("2027-01-15T08:00:00Z") << 1'800'000'000'000LL;
    QTest::newRow("timestamptz") << u"detect"_s << QByteArray("2027-01-15 10:00:00+02")
                                 << 1'800'000'000'000LL;
    QTest::newRow("with fraction") << u"detect"_s << QByteArray("2027-01-15 08:00:00.5+00")
                                   << 1'800'000'000'500LL;
    QTest::newRow("UTC told") << u"utc"_s << QByteArray("2027-01-15 08:00:00") << 1'800'000'000'000LL;
}

void TestCliImport::csvInstants()
{
    QFETCH(QString, unit);
    QFETCH(QByteArray, value);
    QFETCH(qint64, expected);
    LocalHttp http(engine);
    const Run run = import(http, "id,watch_expires_at\n1," + value + "\n",
                           {u"--format"_s, u"csv"_s, u"--time-unit"_s, unit});
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    const QJsonObject sent = QJsonDocument::fromJson(http.requests().first().body).object();
    QCOMPARE(sent["watch_expires_at"_L1].toInteger(), expected);
}

void TestCliImport::csvRefusals_data()
{
    QTest::addColumn<QByteArray>("row");
    QTest::addColumn<QString>("text");
    QTest::newRow("no offset") << QByteArray("1,2027-01-15 08:00:00")
                               << u"line 2: \"watch_expires_at\" has no offset"_s;
    QTest::newRow("no time") << QByteArray("1,secret-word") << u"line 2: \"watch_expires_at\" is neither"_s;
    QTest::newRow("columns") << QByteArray("1,2,3") << u"line 2: The line has 3 columns, the header 2."_s;
    QTest::newRow("open quote") << QByteArray("1,\"2\n3,4") << u"line 2: A quote that begins"_s;
}

void TestCliImport::csvRefusals()
{
    QFETCH(QByteArray, row);
    QFETCH(QString, text);
    LocalHttp http(engine);
    const Run run = import(http, "id,watch_expires_at\n" + row + "\n", {u"--format"_s, u"csv"_s});
    QCOMPARE(run.exitCode, 1);
    QVERIFY2(run.err.contains(text), qPrintable(run.err));
    QVERIFY(!run.err.contains(u"secret-word"_s));
    QVERIFY(http.requests().isEmpty());
}

void TestCliImport::rejectsFile()
{
    LocalHttp http(engine);
    QTemporaryDir folder;
    const QString path = folder.filePath(u"rejects.jsonl"_s);
    const Run run = import(http, lines(1, 2) + "bad\n", {u"--rejects"_s, path});
    QCOMPARE(run.exitCode, 1);
    QFile rejects(path);
    QVERIFY(rejects.open(QIODevice::ReadOnly));
    const QJsonObject error = QJsonDocument::fromJson(rejects.readAll()).object();
    QCOMPARE(error["line"_L1].toInt(), 3);
    QCOMPARE(error["text"_L1].toString(), u"Bad."_s);
}

void TestCliImport::exportIsImportable()
{
    LocalHttp http;
    http.setScript([](const LocalHttp::Request &request) {
        if (request.path.startsWith("/api/v1/accounts/import"))
            return engine(request);
        const bool second = request.path.contains("cursor=more");
        return LocalHttp::answer(
            200,
            second ? R"({"accounts": [{"id": "b,c", "email": "b@example.com"}], "total": 2})"
                   : R"({"accounts": [{"id": "a", "email": "a@example.com",
            "watch_expires_at": 1800000000000, "state": "active", "grant_kind": "stored", "grant": {},
            "has_refresh_token": true, "refresh_token": "never"}], "total": 2, "next_cursor": "more"})");
    });
    QTemporaryDir folder;
    const QString path = folder.filePath(u"all.csv"_s);
    const Run out = runProgram(
        {u"--url"_s, http.url(), u"accounts"_s, u"export"_s, u"--format"_s, u"csv"_s, u"--output"_s, path});
    QVERIFY2(out.exitCode == 0, qPrintable(out.err));
    QCOMPARE(out.out, u"2 accounts exported\n"_s);
    QCOMPARE(http.requests().size(), 2);
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray text = file.readAll();
    QVERIFY(!text.contains("never"));
    http.clear();
    const Run in = runProgram({u"--url"_s, http.url(), u"accounts"_s, u"import"_s, path});
    QVERIFY2(in.exitCode == 0, qPrintable(in.err));
    QCOMPARE(http.requests().first().body,
             "{\"email\":\"a@example.com\",\"id\":\"a\",\"watch_expires_at\":1800000000000}\n"
             "{\"email\":\"b@example.com\",\"id\":\"b,c\"}\n");
}

QTEST_GUILESS_MAIN(TestCliImport)
#include "tst_cliimport.moc"
