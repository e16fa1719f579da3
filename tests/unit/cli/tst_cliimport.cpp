// SPDX-License-Identifier: Apache-2.0
#include "program.h"
#include "support/localhttp.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
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

QTEST_GUILESS_MAIN(TestCliImport)
#include "tst_cliimport.moc"
