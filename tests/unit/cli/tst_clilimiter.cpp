// SPDX-License-Identifier: Apache-2.0
// limiter set: what it sends, what it says before, and that it sends nothing when the command line is wrong.
#include "program.h"
#include "support/localhttp.h"

#include <QtTest/QTest>

using namespace tidekeeper::test;
using namespace Qt::StringLiterals;

namespace {

const QByteArray limiterJson = R"({
    "name": "gmail", "enabled": true, "enforce": false, "fail_open": true, "projects": {},
    "changed": {"enforce": false, "gone": 1, "projects": {"default": {"day_budget": 5}}},
    "consequences": {"enforce": {"true": "Refuses.", "false": "Shadow."}, "fail_open": {"true": "Open.", "false": "Closed."}},
    "overrides": [{"account": "kim@example.com", "project": "default", "changed": ["slots", "account_capacity"],
                   "slots": 3, "account_capacity": 100, "account_refill_per_minute": 5450}]})";

} // namespace

class TestCliLimiter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sends_data();
    void sends();
    void wrongCommandLines_data();
    void wrongCommandLines();
    void showsWhatTheEngineSays();

private:
    LocalHttp m_http;
};

void TestCliLimiter::sends_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QByteArray>("asks"); // method, path and body; empty: nothing is sent
    QTest::addColumn<QString>("says"); // on standard error
    const auto row = [](const char *arguments, const char *asks, const QString &says = {}) {
        QTest::newRow(arguments) << QString::fromLatin1(arguments) << QByteArray(asks) << says;
    };
    row("gmail send_slack=3s slots=5 bulk_reserve=0.25",
        R"(PATCH /api/v1/limiters/gmail {"bulk_reserve":0.25,"send_slack":"3s","slots":5})");
    row("gmail fail_open=false", R"(PATCH /api/v1/limiters/gmail {"fail_open":false})",
        u"fail_open=false: Closed."_s);
    row("gmail enforce=on --yes", R"(PATCH /api/v1/limiters/gmail {"enforce":true})",
        u"enforce=true: Refuses."_s);
    row("gmail fail_open=true", R"(PATCH /api/v1/limiters/gmail {"fail_open":true})"); // it is so already
    row("gmail slots=5 --reset enforce", R"(PATCH /api/v1/limiters/gmail {"enforce":null,"slots":5})");
    row("gmail --reset", R"(PATCH /api/v1/limiters/gmail {"enforce":null,"gone":null,"projects":null})");
    row("gmail day_budget=0 day_action=refuse --project default",
        R"(PATCH /api/v1/limiters/gmail {"projects":{"default":{"day_action":"refuse","day_budget":0}}})");
    row("gmail --project default --reset", R"(PATCH /api/v1/limiters/gmail {"projects":{"default":null}})");
    row("gmail --project default --reset day_budget",
        R"(PATCH /api/v1/limiters/gmail {"projects":{"default":{"day_budget":null}}})");
    row("gmail slots=2 --account Kim@example.com",
        R"(PUT /api/v1/limiters/gmail/overrides/Kim%40example.com?project=default {"account_capacity":100,"slots":2})");
    row("gmail slots=2 --account kim@example.com --project other",
        R"(PUT /api/v1/limiters/gmail/overrides/kim%40example.com?project=other {"slots":2})");
    row("gmail --account kim@example.com --reset slots",
        R"(PUT /api/v1/limiters/gmail/overrides/kim%40example.com?project=default {"account_capacity":100})");
    row("gmail --account kim@example.com --reset slots account_capacity",
        "DELETE /api/v1/limiters/gmail/overrides/kim%40example.com?project=default");
    row("gmail --account kim@example.com --reset",
        "DELETE /api/v1/limiters/gmail/overrides/kim%40example.com?project=default");
}

void TestCliLimiter::sends()
{
    QFETCH(QString, arguments);
    QFETCH(QByteArray, asks);
    QFETCH(QString, says);

    m_http.clear();
    m_http.setScript([](const LocalHttp::Request &) { return LocalHttp::answer(200, limiterJson); });
    const Run run =
        runProgram(QStringList{u"--url"_s, m_http.url(), u"limiter"_s, u"set"_s} + arguments.split(u' '));
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    QCOMPARE(m_http.requests().size(), 2);
    QCOMPARE(m_http.requests().first().method, QByteArray("GET"));
    const LocalHttp::Request &request = m_http.requests().last();
    QCOMPARE((request.method + ' ' + request.path + ' ' + request.body).trimmed(), asks);
    QCOMPARE(run.err.trimmed(), says.isEmpty() ? QString() : u"tidekeeper: "_s + says);
}

void TestCliLimiter::wrongCommandLines_data()
{
    QTest::addColumn<QString>("arguments");
    for (const char *arguments : {"gmail", "gmail enforce", "gmail =true",
                                  "gmail enforce=", "gmail slots=1 --project default --reset"})
        QTest::newRow(arguments) << QString::fromLatin1(arguments);
}

void TestCliLimiter::wrongCommandLines()
{
    QFETCH(QString, arguments);
    m_http.clear();
    m_http.setScript([](const LocalHttp::Request &) { return LocalHttp::answer(200, limiterJson); });
    const Run run =
        runProgram(QStringList{u"--url"_s, m_http.url(), u"limiter"_s, u"set"_s} + arguments.split(u' '));
    QCOMPARE(run.exitCode, 2);
    QVERIFY(!run.err.isEmpty());
    for (const LocalHttp::Request &request : m_http.requests())
        QCOMPARE(request.method, QByteArray("GET"));
}

void TestCliLimiter::showsWhatTheEngineSays()
{
    m_http.setScript([](const LocalHttp::Request &request) {
        return request.method == "GET"
            ? LocalHttp::answer(200, limiterJson)
            : LocalHttp::answer(422, R"({"code": "invalid_settings", "detail": "\"slots\" must be less."})");
    });
    const Run run = runProgram(
        {u"--url"_s, m_http.url(), u"limiter"_s, u"set"_s, u"gmail"_s, u"slots=5000"_s, u"--json"_s});
    QCOMPARE(run.exitCode, 1);
    QVERIFY(run.err.contains(u"must be less"_s));
}

QTEST_GUILESS_MAIN(TestCliLimiter)
#include "tst_clilimiter.moc"
