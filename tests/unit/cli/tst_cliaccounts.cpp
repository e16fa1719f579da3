// SPDX-License-Identifier: Apache-2.0
// Actions on many accounts: what is asked, in which parts, and how it ends.
#include "program.h"
#include "support/localhttp.h"

#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

class TestCliAccounts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void asks_data();
    void asks();
    void worksInParts();
    void saysHowFarItCame();
    void namesWhatWasSkipped();
    void refusesBeforeItAsks_data();
    void refusesBeforeItAsks();
    void tooShortASpreadChangesNothing();
    void waitsForTheEnd();

private:
    static Run run(LocalHttp &http, const QString &arguments)
    {
        return runProgram(QStringList{u"--url"_s, http.url(), u"accounts"_s} + arguments.split(u' '));
    }
};

namespace {

QJsonObject bodyOf(const LocalHttp::Request &request)
{
    return QJsonDocument::fromJson(request.body).object();
}

QByteArray asked(const LocalHttp::Request &request)
{
    return request.path.mid(qstrlen("/api/v1/accounts")) + ' ' + request.body;
}

} // namespace

void TestCliAccounts::asks_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QByteArrayList>("requests");
    QTest::addColumn<QString>("says");
    QTest::newRow("pause by filter")
        << u"pause --project second --yes"_s
        << QByteArrayList{R"(/pause {"filter":{"project":"second"},"limit":5000})"}
        << u"12 accounts match, 7 are now paused\n"_s;
    QTest::newRow("a script is shown the count")
        << u"pause --all"_s
        << QByteArrayList{R"(/pause {"dry_run":true,"filter":{}})", R"(/pause {"filter":{},"limit":5000})"}
        << u"12 accounts match, 7 are now paused\n"_s;
    QTest::newRow("resume a share") << u"resume --share 10% -y"_s
                                    << QByteArrayList{R"(/resume {"filter":{},"limit":5000,"share":"10%"})"}
                                    << u"12 accounts match, 7 are now active\n"_s;
    QTest::newRow("resume what is parked")
        << u"resume --state parked -q x -y"_s
        << QByteArrayList{R"(/resume {"filter":{"q":"x","state":"parked"},"limit":5000})"}
        << u"12 accounts match, 7 are now active\n"_s;
    QTest::newRow("only count") << u"resume --all --share 10% --dry-run"_s
                                << QByteArrayList{R"(/resume {"dry_run":true,"filter":{},"share":"10%"})"}
                                << u"12 accounts match (dry run: none was changed)\n"_s;
    QTest::newRow("count ids") << u"pause a b --dry-run"_s
                               << QByteArrayList{R"(/pause {"dry_run":true,"ids":["a","b"]})"}
                               << u"12 accounts match (dry run: none was changed)\n"_s;
    QTest::newRow("pull forward")
        << u"renew --all --spread 6h -y"_s
        << QByteArrayList{R"(/renew {"dry_run":true,"filter":{},"spread_ms":21600000})",
                          R"(/renew {"filter":{},"limit":5000,"spread_ms":21600000})"}
        << u"12 accounts match, 5 are due within the next 6h\n"_s;
    QTest::newRow("take over") << u"renew a --take-over"_s << QByteArrayList{R"(/a/renew {"take_over":true})"}
                               << u"a: queued for renewal\n"_s;
}

void TestCliAccounts::asks()
{
    QFETCH(QString, arguments);
    QFETCH(QByteArrayList, requests);
    QFETCH(QString, says);
    LocalHttp http([](const LocalHttp::Request &) {
        return LocalHttp::answer(
            200, R"({"matched": 12, "changed": 7, "enqueued": 6, "scheduled": 5, "estimate_ms": 120000})");
    });
    const Run run = this->run(http, arguments);
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    QByteArrayList all;
    for (const LocalHttp::Request &request : http.requests())
        all.append(asked(request));
    QCOMPARE(all, requests);
    QVERIFY2(run.out.endsWith(says), qPrintable(run.out));
}

void TestCliAccounts::worksInParts()
{
    LocalHttp http([](const LocalHttp::Request &request) {
        const QString cursor = bodyOf(request)["cursor"_L1].toString();
        return LocalHttp::answer(200,
                                 cursor.isEmpty()
                                     ? R"({"matched": 5000, "changed": 4000, "next_cursor": "n"})"
                                     : R"({"matched": 10, "changed": 10, "next_cursor": ""})");
    });
    const Run run = this->run(http, u"resume --all --yes"_s);
    QCOMPARE(run.out, u"5,010 accounts match, 4,010 are now active\n"_s);
    QCOMPARE(http.requests().size(), 2);
    QCOMPARE(bodyOf(http.requests()[1])["cursor"_L1].toString(), u"n"_s);
}

void TestCliAccounts::saysHowFarItCame()
{
    LocalHttp http([](const LocalHttp::Request &request) {
        return bodyOf(request).contains("cursor"_L1)
            ? LocalHttp::answer(503, R"({"code": "database_unavailable", "detail": "The database is away."})")
            : LocalHttp::answer(200, R"({"matched": 5000, "changed": 4000, "next_cursor": "n"})");
    });
    const Run run = this->run(http, u"pause --all --yes"_s);
    QCOMPARE(run.exitCode, 1);
    QCOMPARE(
        run.err,
        u"tidekeeper: The database is away. 4,000 accounts are done; the same command does the rest.\n"_s);
}

void TestCliAccounts::namesWhatWasSkipped()
{
    LocalHttp http([](const LocalHttp::Request &) {
        return LocalHttp::answer(200, R"({"matched": 3, "changed": 1, "skipped_count": 3,
            "skipped": [{"id": "a2", "reason": "It is parked."}]})");
    });
    const Run run = this->run(http, u"pause --all --yes"_s);
    QCOMPARE(run.exitCode, 1);
    QCOMPARE(run.err, u"tidekeeper: a2: It is parked.\ntidekeeper: and 2 more were left alone.\n"_s);
}

void TestCliAccounts::refusesBeforeItAsks_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::newRow("nobody") << u"pause"_s;
    QTest::newRow("nobody to renew") << u"renew --dry-run"_s;
    QTest::newRow("both ways") << u"resume a --all"_s;
    QTest::newRow("spread that is no duration") << u"renew --all --spread soon"_s;
    QTest::newRow("take over by filter") << u"renew --all --take-over"_s;
    QTest::newRow("take over some time") << u"renew a --take-over --spread 6h"_s;
    QTest::newRow("wait for hours") << u"renew --all --spread 6h --wait"_s;
}

void TestCliAccounts::refusesBeforeItAsks()
{
    QFETCH(QString, arguments);
    LocalHttp http([](const LocalHttp::Request &) { return LocalHttp::answer(200, "{}"); });
    const Run run = this->run(http, arguments);
    QCOMPARE(run.exitCode, 2);
    QVERIFY(!run.err.isEmpty());
    QVERIFY(http.requests().isEmpty());
}

void TestCliAccounts::tooShortASpreadChangesNothing()
{
    LocalHttp http([](const LocalHttp::Request &) {
        return LocalHttp::answer(422,
                                 R"({"code": "invalid_request", "detail": "Too short: use 9 minutes."})");
    });
    const Run run = this->run(http, u"renew --all --spread 2m --yes"_s);
    QCOMPARE(run.exitCode, 1);
    QCOMPARE(run.err, u"tidekeeper: Too short: use 9 minutes.\n"_s);
    QCOMPARE(http.requests().size(), 1);
    QVERIFY(bodyOf(http.requests().first())["dry_run"_L1].toBool());
}

void TestCliAccounts::waitsForTheEnd()
{
    int polls = 0;
    LocalHttp http([&polls](const LocalHttp::Request &request) {
        if (request.path != "/api/v1/queues")
            return LocalHttp::answer(202, R"({"matched": 3, "enqueued": 3})");
        ++polls;
        const QJsonObject queue{
            {u"name"_s, u"renew"_s}, {u"urgent"_s, polls == 1 ? 2 : 0}, {u"running"_s, polls < 3 ? 1 : 0}};
        const QJsonObject other{{u"name"_s, u"plugins"_s}, {u"urgent"_s, 9}};
        return LocalHttp::answer(
            200, QJsonDocument(QJsonObject{{u"queues"_s, QJsonArray{other, queue}}}).toJson());
    });
    const Run run = this->run(http, u"renew --band late --wait"_s);
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    QCOMPARE(polls, 3);
}

QTEST_GUILESS_MAIN(TestCliAccounts)
#include "tst_cliaccounts.moc"
