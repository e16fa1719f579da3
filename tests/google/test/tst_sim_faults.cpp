// SPDX-License-Identifier: Apache-2.0
#include "google/faults/kinds.h"
#include "simbench.h"

#include <QtCore/QRegularExpression>
#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

const QString topic = u"projects/sim-project/topics/gmail"_s;

} // namespace

class TestSimFaults : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tokenAnswers_data();
    void tokenAnswers();
    void gmailAnswers_data();
    void gmailAnswers();
    void rateAnswersCountAsRefused();
    void chosenByMethodAccountAndProject();
    void endsByTimeAndByCount();
    void shareOfCalls();
    void shareOfAccountsIsStable();
    void lockOutIsPushedByEachEarlyCall();
    void lockOutOfAFamily();
    void limitsForAWhile();
    void lostAnswersMayHaveTakenEffect();
    void slowAddsUp();
    void badFaults_data();
    void badFaults();
    void listedAndRemoved();
};

void TestSimFaults::tokenAnswers_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    const auto row = [](const char *kind, int status, const char *body) {
        QTest::newRow(kind) << status << QByteArray(body);
    };
    row("revoked", 400,
        R"({"error":"invalid_grant","error_description":"Token has been expired or revoked."})");
    row("invalid_grant", 400, R"({"error":"invalid_grant","error_description":"Bad Request"})");
    row("account_deleted", 400,
        R"({"error":"invalid_grant","error_description":"Account has been deleted"})");
    row("invalid_rapt", 400,
        R"json({"error":"invalid_grant","error_description":"reauth related error (invalid_rapt)","error_subtype":"invalid_rapt"})json");
    row("wrong_client_secret", 401,
        R"({"error":"invalid_client","error_description":"The provided client secret is invalid."})");
    row("client_not_found", 401,
        R"({"error":"invalid_client","error_description":"The OAuth client was not found."})");
    row("deleted_client", 401,
        R"({"error":"deleted_client","error_description":"The OAuth client was deleted."})");
    row("admin_policy_enforced", 400, R"({"error":"admin_policy_enforced"})");
    row("access_denied", 403, R"({"error":"access_denied","error_description":"Account restricted"})");
    row("token_rate_limit", 429, R"({"error":"rate_limit_exceeded"})");
    row("token_server_error", 500, R"({"error":"server_error"})");
    row("token_unavailable", 503, R"({"error":"temporarily_unavailable"})");
    row("error", 503, R"({"error":"internal_failure","error_description":"Backend Error"})");
}

void TestSimFaults::tokenAnswers()
{
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    SimBench bench;
    bench.control("faults", {{u"kind"_s, QString::fromLatin1(QTest::currentDataTag())}});
    const Answer answer = bench.token(bench.refreshForm());
    QCOMPARE(answer.status, status);
    QCOMPARE(answer.body, body);
    bench.control("faults", {{u"clear"_s, true}});
    QCOMPARE(bench.token(bench.refreshForm()).status, 200); // no grant was harmed
}

void TestSimFaults::gmailAnswers_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("reason");
    QTest::addColumn<QString>("message"); // its beginning
    const auto row = [](const char *kind, int status, const QString &reason, const QString &message) {
        QTest::newRow(kind) << status << reason << message;
    };
    row("error", 503, u"backendError"_s, u"Backend Error"_s);
    row("revoked", 401, u"authError"_s, u"Invalid Credentials"_s);
    row("unauthorized", 401, u"authError"_s, u"Invalid Credentials"_s);
    row("insufficient_scope", 403, u"insufficientPermissions"_s,
        u"Request had insufficient authentication scopes."_s);
    row("api_disabled", 403, u"accessNotConfigured"_s,
        u"Gmail API has not been used in project 123456789012"_s);
    row("domain_policy", 403, u"domainPolicy"_s, u"The domain administrators have disabled Gmail apps."_s);
    row("user_rate", 403, u"rateLimitExceeded"_s,
        u"Quota exceeded for quota metric 'Total Query Cost' and limit 'Units per minute per user'"_s);
    row("project_rate", 403, u"rateLimitExceeded"_s,
        u"Quota exceeded for quota metric 'Total Query Cost' and limit 'Units per minute' of"_s);
    row("concurrent", 429, u"rateLimitExceeded"_s, u"Too many concurrent requests for user."_s);
    row("exhausted", 429, u"rateLimitExceeded"_s, u"Resource has been exhausted (e.g. check quota)."_s);
    row("lockout", 429, u"rateLimitExceeded"_s,
        u"User-rate limit exceeded.  Retry after 2027-01-15T08:15:00.000Z"_s);
    row("daily_limit", 403, u"dailyLimitExceeded"_s, u"Daily Limit Exceeded"_s);
    row("other_watch", 400, u"invalidArgument"_s,
        u"Only one user push notification client allowed per developer"_s);
}

void TestSimFaults::gmailAnswers()
{
    QFETCH(int, status);
    QFETCH(QString, reason);
    QFETCH(QString, message);
    SimBench bench;
    bench.control("faults", {{u"kind"_s, QString::fromLatin1(QTest::currentDataTag())}});
    const Answer answer = bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}});
    QCOMPARE(answer.status, status);
    QCOMPARE(reasonOf(answer), reason);
    QVERIFY2(messageOf(answer).startsWith(message), qPrintable(messageOf(answer)));
    QCOMPARE(bench.sim.world.totals.watches, 0);
}

void TestSimFaults::rateAnswersCountAsRefused()
{
    SimBench bench;
    bench.control("faults", {{u"kind"_s, u"user_rate"_s}, {u"times"_s, 1}});
    bench.control("faults", {{u"kind"_s, u"error"_s}, {u"times"_s, 1}});
    bench.gmail("GET", u"profile"_s);
    bench.gmail("GET", u"profile"_s);
    bench.gmail("GET", u"profile"_s);
    const QJsonObject account = bench.account();
    QCOMPARE(account[u"calls"].toInt(), 3);
    QCOMPARE(account[u"refused"].toInt(), 1);
    QCOMPARE(account[u"units"].toInt(), 2); // a call that ends in 503 was admitted
}

void TestSimFaults::chosenByMethodAccountAndProject()
{
    SimBench bench;
    bench.control("faults",
                  {{u"kind"_s, u"error"_s}, {u"methods"_s, QJsonArray{u"gmail.users.threads.*"_s}}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    QCOMPARE(bench.gmail("GET", u"threads"_s).status, 503);
    QCOMPARE(bench.token(bench.refreshForm()).status, 200);
    bench.control("faults", {{u"clear"_s, true}});
    bench.control("faults", {{u"kind"_s, u"error"_s}, {u"account"_s, u"b@example.com"_s}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    bench.control("faults", {{u"kind"_s, u"error"_s}, {u"account"_s, u"A@example.com"_s}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 503);
    bench.control("faults", {{u"clear"_s, true}});
    bench.control("faults", {{u"kind"_s, u"wrong_client_secret"_s}, {u"client_id"_s, u"other"_s}});
    QCOMPARE(bench.token(bench.refreshForm()).status, 200);
    bench.control("faults", {{u"kind"_s, u"wrong_client_secret"_s}, {u"project_id"_s, u"sim-project"_s}});
    QCOMPARE(bench.token(bench.refreshForm()).status, 401);
}

void TestSimFaults::endsByTimeAndByCount()
{
    SimBench bench;
    bench.control("faults", {{u"kind"_s, u"error"_s}, {u"for_ms"_s, 1'000}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 503);
    bench.advanceMs(999);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 503);
    bench.advanceMs(1);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    bench.control("faults", {{u"kind"_s, u"error"_s}, {u"until_ms"_s, bench.sim.clock.wallMs() + 10}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 503);
    bench.advanceMs(10);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    bench.control("faults", {{u"kind"_s, u"error"_s}, {u"times"_s, 2}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 503);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 503);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
}

void TestSimFaults::shareOfCalls()
{
    SimBench bench;
    bench.control("faults", {{u"kind"_s, u"error"_s}, {u"share"_s, 0.2}});
    int failed = 0;
    for (int i = 0; i < 1000; ++i)
        failed += bench.gmail("GET", u"profile"_s).status == 503 ? 1 : 0;
    QVERIFY2(failed > 150 && failed < 250, qPrintable(QString::number(failed)));
}

void TestSimFaults::shareOfAccountsIsStable()
{
    SimBench bench;
    QJsonArray emails;
    for (int i = 0; i < 500; ++i)
        emails.append(u"m%1@example.com"_s.arg(i));
    const QJsonArray accounts = bench.control("accounts", {{u"emails"_s, emails}})[u"accounts"].toArray();
    bench.control("faults", {{u"kind"_s, u"revoked"_s}, {u"accounts_share"_s, 0.1}});
    int revoked = 0;
    for (const QJsonValue &account : accounts) {
        bench.refreshToken = account[u"refresh_token"].toString();
        const int first = bench.token(bench.refreshForm()).status;
        QCOMPARE(bench.token(bench.refreshForm()).status, first);
        revoked += first == 400 ? 1 : 0;
    }
    QVERIFY2(revoked > 25 && revoked < 80, qPrintable(QString::number(revoked)));
}

/// As captured: 19:16:46 → 19:34:08 → 19:56:13, because a client kept calling.
void TestSimFaults::lockOutIsPushedByEachEarlyCall()
{
    SimBench bench;
    bench.control("settings", {{u"token_lifetime_s"_s, 86'400}});
    bench.bearer = "Bearer " + bench.newAccessToken().toLatin1();
    bench.control("faults", {{u"kind"_s, u"lockout"_s}});
    constexpr qint64 quarter = 15 * 60'000;
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 429);
    bench.advanceMs(quarter - 1); // a moment too early
    const Answer early = bench.gmail("GET", u"profile"_s);
    QCOMPARE(early.status, 429);
    QCOMPARE(messageOf(early), u"User-rate limit exceeded.  Retry after 2027-01-15T08:29:59.999Z"_s);
    bench.advanceMs(1); // the time that was told first no longer holds
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 429);
    bench.advanceMs(quarter);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
}

void TestSimFaults::lockOutOfAFamily()
{
    SimBench bench;
    bench.control("faults",
                  {{u"kind"_s, u"lockout"_s},
                   {u"methods"_s, QJsonArray{u"gmail.users.messages.send"_s}},
                   {u"text"_s, u"Mail sending"_s}});
    const Answer refused = bench.gmail("POST", u"messages/send"_s, {{u"raw"_s, u"eA"_s}});
    static const QRegularExpression form(
        u"^User-rate limit exceeded\\.\\s+Retry after (\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z)(?:\\s+\\(([^)]*)\\))?$"_s);
    const auto match = form.match(messageOf(refused));
    QVERIFY(match.hasMatch());
    QCOMPARE(match.captured(2), u"Mail sending"_s);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200); // reading goes on
}

void TestSimFaults::limitsForAWhile()
{
    SimBench bench;
    bench.control("faults", {{u"kind"_s, u"project_limit"_s}, {u"value"_s, 1}, {u"for_ms"_s, 100}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 403);
    bench.advanceMs(100);
    bench.control("faults", {{u"kind"_s, u"concurrency_cap"_s}, {u"value"_s, 0}, {u"times"_s, 1}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 429);
    bench.control("faults", {{u"kind"_s, u"user_limit"_s}, {u"value"_s, 1}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 403);
}

void TestSimFaults::lostAnswersMayHaveTakenEffect()
{
    const auto watchesAfter = [](const QJsonObject &fault, Answer::Ending ending, int status) {
        SimBench bench;
        bench.control("faults", fault);
        const Answer answer = bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}});
        return answer.ending == ending && answer.status == status ? bench.sim.world.totals.watches : -1;
    };
    QCOMPARE(watchesAfter({{u"kind"_s, u"cut"_s}}, Answer::Ending::Cut, 200), 1);
    QCOMPARE(watchesAfter({{u"kind"_s, u"cut"_s}, {u"executes"_s, false}}, Answer::Ending::Cut, 200), 0);
    QCOMPARE(watchesAfter({{u"kind"_s, u"silent"_s}}, Answer::Ending::Silent, 200), 0);
    QCOMPARE(watchesAfter({{u"kind"_s, u"silent"_s}, {u"executes"_s, true}}, Answer::Ending::Silent, 200), 1);
    QCOMPARE(watchesAfter({{u"kind"_s, u"error"_s}, {u"executes"_s, true}}, Answer::Ending::Whole, 503), 1);
}

void TestSimFaults::slowAddsUp()
{
    SimBench bench;
    bench.control("settings", {{u"latency_ms"_s, 5}});
    bench.control("faults", {{u"kind"_s, u"slow"_s}, {u"ms"_s, 700}});
    bench.control("faults", {{u"kind"_s, u"slow"_s}, {u"ms"_s, 30}});
    QCOMPARE(bench.gmail("GET", u"profile"_s).delayMs, 735);
    QCOMPARE(bench.token(bench.refreshForm()).delayMs, 730);
}

void TestSimFaults::badFaults_data()
{
    QTest::addColumn<QJsonObject>("fault");
    QTest::addColumn<QString>("says");
    QTest::newRow("no kind") << QJsonObject{} << u"The field kind must be one of error, answer, "_s;
    QTest::newRow("unknown kind") << QJsonObject{{u"kind"_s, u"nix"_s}}
                                  << u"The field kind must be one of "_s;
    QTest::newRow("share") << QJsonObject{{u"kind"_s, u"error"_s}, {u"share"_s, 2}}
                           << u"The field share must be between 0 and 1."_s;
    QTest::newRow("type") << QJsonObject{{u"kind"_s, u"error"_s}, {u"share"_s, u"1"_s}}
                          << u"The field share must be a number."_s;
    QTest::newRow("unknown field") << QJsonObject{{u"kind"_s, u"error"_s}, {u"methode"_s, u"x"_s}}
                                   << u"There is no field methode here."_s;
    QTest::newRow("limit without value")
        << QJsonObject{{u"kind"_s, u"project_limit"_s}} << u"The field value is needed"_s;
}

void TestSimFaults::badFaults()
{
    QFETCH(QJsonObject, fault);
    QFETCH(QString, says);
    SimBench bench;
    const Answer answer = bench.call("POST", u"/sim/faults"_s, Answer::json(fault).body + ' ');
    QCOMPARE(answer.status, 400);
    const QString sentence = SimBench::json(answer)[u"error"].toString();
    QVERIFY2(sentence.startsWith(says), qPrintable(sentence));
    QVERIFY(SimBench::json(bench.call("GET", u"/sim/faults"_s))[u"faults"].toArray().isEmpty());
}

void TestSimFaults::listedAndRemoved()
{
    SimBench bench;
    bench.control("faults", {{u"kind"_s, u"slow"_s}});
    bench.control("faults", {{u"kind"_s, u"error"_s}});
    bench.gmail("GET", u"profile"_s);
    const QJsonArray faults = SimBench::json(bench.call("GET", u"/sim/faults"_s))[u"faults"].toArray();
    QCOMPARE(faults.size(), 2);
    QCOMPARE(faults[1][u"strikes"].toInt(), 1);
    QCOMPARE(bench.call("DELETE", u"/sim/faults/%1"_s.arg(faults[1][u"id"].toInt())).status, 200);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    QCOMPARE(bench.call("DELETE", u"/sim/faults/99"_s).status, 404);
    bench.call("DELETE", u"/sim/faults"_s);
    QVERIFY(SimBench::json(bench.call("GET", u"/sim/faults"_s))[u"faults"].toArray().isEmpty());
}

QTEST_GUILESS_MAIN(TestSimFaults)
#include "tst_sim_faults.moc"
