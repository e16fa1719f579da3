// SPDX-License-Identifier: Apache-2.0
#include "decide/refusals.h"
#include "decide/retryafter.h"
#include "decide/watchanswer.h"

#include <QtCore/QDateTime>
#include <QtCore/QRandomGenerator>
#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace watchrenewal;

namespace {

constexpr qint64 dayMs = 24LL * 3'600'000;

qint64 at(const QString &iso)
{
    return QDateTime::fromString(iso, Qt::ISODateWithMs).toMSecsSinceEpoch();
}

const qint64 now = at(u"2026-06-12T19:01:46.000Z"_s);

QString body(int code, const QString &message, const QString &reason, const QString &more = {})
{
    return uR"({"error":{"code":%1,"message":"%2","errors":[{"message":"%2","domain":"global","reason":"%3"}]%4}})"_s
        .arg(code)
        .arg(message, reason, more);
}

QString quotaInfo(const QString &limit)
{
    return uR"(,"status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",)"
           uR"("reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com","metadata":{"quota_limit":"%1"}},)"
           uR"({"@type":"type.googleapis.com/google.rpc.Help","links":[]}])"_s.arg(limit);
}

QString info(const QString &reason)
{
    return uR"(,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"%1"}])"_s.arg(
        reason);
}

ApiAnswer answer(int status, const QString &text)
{
    ApiAnswer answer;
    answer.status = status;
    answer.body = text;
    return answer;
}

} // namespace

class TestWatchAnswer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void renewed_data();
    void renewed();
    void refusals_data();
    void refusals();
    void everyRowIsMet();
    void whatIsUnknownIsTransient();
    void everyServerErrorIsTransient();
    void noAnswer();
    void until_data();
    void until();
    void datesDoNotDependOnOurZone();
    void removal_data();
    void removal();
    void aTopicOfItsOwnStopsNobodyElse();
    void noAddressInTexts();
    void hostileBodies_data();
    void hostileBodies();

private:
    QSet<const Refusal *> m_met; ///< rows of the product's table that refusals() came by
};

void TestWatchAnswer::renewed_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<QString>("historyId");
    const qint64 expiry = 1'781'895'706'000; // seven days after now
    QTest::newRow("strings, as REST answers")
        << uR"({"historyId":"1234567890","expiration":"1781895706000"})"_s << expiry << u"1234567890"_s;
    QTest::newRow("numbers, as the guide prints")
        << uR"({ "historyId": 1234567890, "expiration": 1781895706000 })"_s << expiry << u"1234567890"_s;
    QTest::newRow("largest unsigned 64 bit")
        << uR"({"historyId":"18446744073709551615","expiration":"1781895706000"})"_s << expiry
        << u"18446744073709551615"_s;
    QTest::newRow("the same as a number loses no digit")
        << uR"({"historyId":18446744073709551615,"expiration":1781895706000})"_s << expiry
        << u"18446744073709551615"_s;
    QTest::newRow("beyond 64 bit is no history id")
        << uR"({"historyId":"18446744073709551616","expiration":"1781895706000"})"_s << expiry << QString();
    QTest::newRow("without history id") << uR"({"expiration":"1781895706000"})"_s << expiry << QString();
    // langgenius/dify#41162: a missing expiry must never be stored as "never expires".
    QTest::newRow("without expiration") << uR"({"historyId":"1"})"_s << qint64(0) << QString();
    QTest::newRow("expiration 0") << uR"({"historyId":"1","expiration":"0"})"_s << qint64(0) << QString();
    QTest::newRow("expiration -1") << uR"({"historyId":"1","expiration":"-1"})"_s << qint64(0) << QString();
    QTest::newRow("expiration is text")
        << uR"({"historyId":"1","expiration":"soon"})"_s << qint64(0) << QString();
    QTest::newRow("expiration null") << uR"({"historyId":"1","expiration":null})"_s << qint64(0) << QString();
    QTest::newRow("expiration is a fraction")
        << uR"({"historyId":"1","expiration":1781895706000.5})"_s << qint64(0) << QString();
    QTest::newRow("expiration in floating point")
        << uR"({"historyId":"1","expiration":1.781895706e12})"_s << qint64(0) << QString();
    QTest::newRow("expiration beyond 64 bit")
        << uR"({"historyId":"1","expiration":"99999999999999999999"})"_s << qint64(0) << QString();
    QTest::newRow("expiration in the past")
        << uR"({"historyId":"1","expiration":"1431990098200"})"_s << qint64(0) << QString();
    QTest::newRow("expiration in seconds")
        << uR"({"historyId":"1","expiration":"1781895706"})"_s << qint64(0) << QString();
    QTest::newRow("history id beyond 2^53 as a number")
        << uR"({"historyId":9007199254740993,"expiration":"1781895706000"})"_s << expiry
        << u"9007199254740993"_s;
    QTest::newRow("history id beyond 2^63")
        << uR"({"historyId":"9223372036854775809","expiration":"1781895706000"})"_s << expiry
        << u"9223372036854775809"_s;
    QTest::newRow("history id is text")
        << uR"({"historyId":"abc","expiration":"1781895706000"})"_s << expiry << QString();
    QTest::newRow("an array") << uR"([{"historyId":"1","expiration":"1781895706000"}])"_s << qint64(0)
                              << QString();
    QTest::newRow("a page that quotes an answer")
        << uR"(<pre>{"historyId":"1","expiration":"1781895706000"}</pre>)"_s << qint64(0) << QString();
    QTest::newRow("no JSON") << u"<html>OK</html>"_s << qint64(0) << QString();
    QTest::newRow("cut") << uR"({"historyId":"1234567890","expiration":"14319)"_s << qint64(0) << QString();
    QTest::newRow("empty") << QString() << qint64(0) << QString();
}

void TestWatchAnswer::renewed()
{
    QFETCH(QString, text);
    QFETCH(qint64, expiresAt);
    const QJsonObject outcome = renewOutcome(answer(200, text), now);
    QCOMPARE(outcome.value("outcome"_L1).toString(), expiresAt > 0 ? u"renewed"_s : u"transient"_s);
    QCOMPARE(outcome.value("expires_at"_L1).toInteger(), expiresAt);
    QTEST(outcome.value("data"_L1).toObject().value("history_id"_L1).toString(), "historyId");
}

void TestWatchAnswer::refusals_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("outcome");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("extra"); ///< scope of a rate or configuration, state of an account
    const auto row = [](const char *name, int status, const QString &text, const QString &outcome,
                        const QString &code, const QString &extra = {}) {
        QTest::newRow(name) << status << text << outcome << code << extra;
    };

    // A full minute of units is a 403 on the wire, although the documentation says userRateLimitExceeded.
    row("units of the user, old meter", 403,
        body(403, u"Quota exceeded for quota metric 'Queries'"_s, u"rateLimitExceeded"_s,
             quotaInfo(u"defaultPerMinutePerUser"_s)),
        u"rate"_s, u"rateLimitExceeded"_s, u"account"_s);
    row("units of the user, new meter", 403,
        body(403, u"Quota exceeded for quota metric 'Total Query Cost'"_s, u"rateLimitExceeded"_s,
             quotaInfo(u"totalQueryCostPerMinutePerUser"_s)),
        u"rate"_s, u"rateLimitExceeded"_s, u"account"_s);
    row("units of the project", 403,
        body(403, u"Quota exceeded"_s, u"rateLimitExceeded"_s, quotaInfo(u"defaultPerMinutePerProject"_s)),
        u"rate"_s, u"rateLimitExceeded"_s, u"project"_s);
    row("the same as 429", 429,
        body(429, u"Quota exceeded"_s, u"rateLimitExceeded"_s, quotaInfo(u"defaultPerMinutePerProject"_s)),
        u"rate"_s, u"rateLimitExceeded"_s, u"project"_s);
    row("userRateLimitExceeded", 403, body(403, u"User Rate Limit Exceeded"_s, u"userRateLimitExceeded"_s),
        u"rate"_s, u"userRateLimitExceeded"_s, u"account"_s);
    row("dailyLimitExceeded", 403, body(403, u"Daily Limit Exceeded"_s, u"dailyLimitExceeded"_s), u"rate"_s,
        u"dailyLimitExceeded"_s, u"project"_s);
    row("quotaExceeded", 403, body(403, u"Quota exceeded"_s, u"quotaExceeded"_s), u"rate"_s,
        u"quotaExceeded"_s, u"account"_s);
    row("too many at once", 429,
        body(429, u"Too many concurrent requests for user."_s, u"rateLimitExceeded"_s), u"rate"_s,
        u"rateLimitExceeded"_s, u"account"_s);
    // elie222/inbox-zero#379
    row("generic 429", 429,
        body(429, u"Resource has been exhausted (e.g. check quota)."_s, u"rateLimitExceeded"_s), u"rate"_s,
        u"rateLimitExceeded"_s, u"account"_s);
    row("429 without a body", 429, {}, u"rate"_s, u"http_429"_s, u"account"_s);

    // googleapis/google-api-ruby-client#20544
    row("lock-out", 429,
        body(429, u"User-rate limit exceeded.  Retry after 2026-06-12T19:16:46.648Z (Forwarding rules)"_s,
             u"rateLimitExceeded"_s),
        u"rate"_s, u"rateLimitExceeded"_s, u"account"_s);
    row("lock-out as a 403 without a reason", 403,
        uR"({"error":{"code":403,"message":"User-rate limit exceeded.  Retry after 2026-06-12T19:16:46.648Z"}})"_s,
        u"rate"_s, u"http_403"_s, u"account"_s);
    row("rate by details alone", 403,
        body(403, u"Quota exceeded"_s, QString(), quotaInfo(u"defaultPerMinutePerUser"_s)), u"rate"_s,
        u"http_403"_s, u"account"_s);
    row("429 that is a page", 429, u"<html><h1>Too Many Requests</h1></html>"_s, u"rate"_s, u"http_429"_s,
        u"account"_s);
    row("401 without a body", 401, {}, u"unauthorized"_s, u"http_401"_s);
    row("token refused", 401, body(401, u"Invalid Credentials"_s, u"authError"_s), u"unauthorized"_s,
        u"http_401"_s);

    row("another topic is active", 400,
        body(400,
             u"Only one user push notification client allowed per developer (call /stop then try again)"_s,
             u"invalidArgument"_s),
        u"owned_elsewhere"_s, u"watch_owned_elsewhere"_s);
    // googleapis/google-api-nodejs-client#1301
    row("topic of another project", 400,
        body(400, u"Invalid topicName does not match projects/p/topics/*"_s, u"invalidArgument"_s),
        u"configuration"_s, u"invalid_topic"_s, u"project"_s);
    // dacastro4/laravel-gmail#285, googleapis/google-api-nodejs-client#2843
    row("publisher without right", 403,
        body(
            403,
            u"Error sending test message to Cloud PubSub projects/P/topics/T: User not authorized to perform this action."_s,
            u"forbidden"_s),
        u"configuration"_s, u"topic_forbidden"_s, u"project"_s);
    row("topic missing", 404,
        body(
            404,
            u"Error sending test message to Cloud PubSub projects/P/topics/T: Resource not found (resource=T)"_s,
            u"notFound"_s),
        u"configuration"_s, u"topic_missing"_s, u"project"_s);
    row("API disabled, by reason", 403, body(403, u"Gmail API has not been used"_s, u"accessNotConfigured"_s),
        u"configuration"_s, u"api_disabled"_s, u"project"_s);
    row("API disabled, by details", 403,
        body(403, u"Gmail API"_s, u"forbidden"_s, info(u"SERVICE_DISABLED"_s)), u"configuration"_s,
        u"api_disabled"_s, u"project"_s);

    row("no mailbox", 400, body(400, u"Mail service not enabled"_s, u"failedPrecondition"_s), u"account"_s,
        u"mail_service_not_enabled"_s, u"parked"_s);
    row("domain policy", 403,
        body(403, u"The domain administrators have disabled Gmail apps."_s, u"domainPolicy"_s), u"account"_s,
        u"domain_policy"_s, u"parked"_s);
    row("scope, by reason", 403, body(403, u"Insufficient Permission"_s, u"insufficientPermissions"_s),
        u"account"_s, u"missing_scope"_s, u"needs_reauth"_s);
    row("scope, by details", 403,
        body(403, u"Request had insufficient authentication scopes."_s, u"forbidden"_s,
             info(u"ACCESS_TOKEN_SCOPE_INSUFFICIENT"_s)),
        u"account"_s, u"missing_scope"_s, u"needs_reauth"_s);

    row("ambiguous precondition", 400, body(400, u"Precondition check failed."_s, u"failedPrecondition"_s),
        u"transient"_s, u"failedPrecondition"_s);
    row("badRequest", 400, body(400, u"Bad Request"_s, u"badRequest"_s), u"transient"_s, u"badRequest"_s);
    row("403 that is a page", 403, u"<html>Forbidden</html>"_s, u"transient"_s, u"http_403"_s);
    row("403 without a body", 403, {}, u"transient"_s, u"http_403"_s);
    row("400 without a body", 400, {}, u"transient"_s, u"http_400"_s);
    row("other 400", 400, body(400, u"Invalid label: Label_7"_s, u"invalidArgument"_s), u"transient"_s,
        u"invalidArgument"_s);
    row("other 403", 403, body(403, u"Forbidden"_s, u"forbidden"_s), u"transient"_s, u"forbidden"_s);
    row("404 that is not about the topic", 404, u"not found"_s, u"transient"_s, u"http_404"_s);
    row("408", 408, {}, u"transient"_s, u"http_408"_s);
    row("302", 302, {}, u"transient"_s, u"http_302"_s);
}

void TestWatchAnswer::refusals()
{
    QFETCH(int, status);
    QFETCH(QString, text);
    const QJsonObject outcome = renewOutcome(answer(status, text), now);
    QTEST(outcome.value("outcome"_L1).toString(), "outcome");
    QTEST(outcome.value("code"_L1).toString(), "code");
    QVERIFY(!outcome.value("text"_L1).toString().isEmpty());
    const QString extra = outcome.value("outcome"_L1) == "account"_L1 ? outcome.value("state"_L1).toString()
                                                                      : outcome.value("scope"_L1).toString();
    QTEST(extra, "extra");
    const bool needsHumans =
        outcome.value("outcome"_L1) == "configuration"_L1 || outcome.value("outcome"_L1) == "account"_L1;
    QVERIFY(!needsHumans || !outcome.value("remedy"_L1).toString().isEmpty());
    m_met.insert(refusalFor(status, apiErrorFrom(text)));
}

void TestWatchAnswer::everyRowIsMet()
{
    for (const Refusal &row : knownRefusals())
        QVERIFY2(m_met.contains(&row),
                 qPrintable(u"%1 %2%3%4"_s.arg(QString::number(row.status), row.reason, row.infoReason,
                                               row.message)));
}

/// 20,000 answers put together at random from parts that Gmail uses, and from nonsense.
void TestWatchAnswer::whatIsUnknownIsTransient()
{
    QRandomGenerator random(20260612);
    const QStringList words{u"forbidden"_s,
                            u"notFound"_s,
                            u"invalid_grant"_s,
                            u"revoked"_s,
                            u"invalid_client"_s,
                            u"conflict"_s,
                            u"gone"_s,
                            u"Token has been expired or revoked."_s,
                            QString()};
    const auto word = [&] { return words[random.bounded(words.size())]; };
    for (int i = 0; i < 20'000; ++i) {
        const int status = random.bounded(100, 600);
        QString text = body(random.bounded(100, 600), word(), word(), info(word()));
        if (i % 3 == 0)
            text.truncate(random.bounded(text.size()));
        const QJsonObject outcome = renewOutcome(answer(status, text), now);
        const QString kind = outcome.value("outcome"_L1).toString();
        const QString expected = status == 401 ? u"unauthorized"_s
            : status == 429                    ? u"rate"_s
                                               : u"transient"_s;
        QVERIFY2(kind == expected, qPrintable(u"%1 %2: %3"_s.arg(status).arg(text, kind)));
    }
}

void TestWatchAnswer::everyServerErrorIsTransient()
{
    // googleapis/google-api-ruby-client#657, and whatever else a body under 5xx may claim.
    const QStringList reasons{u"backendError"_s, u"rateLimitExceeded"_s, u"domainPolicy"_s, u"authError"_s};
    for (const int status : {500, 502, 503, 504, 599}) {
        for (const QString &reason : reasons) {
            const QJsonObject outcome =
                renewOutcome(answer(status, body(status, u"Backend Error"_s, reason)), now);
            QCOMPARE(outcome.value("outcome"_L1).toString(), u"transient"_s);
            QCOMPARE(outcome.value("code"_L1).toString(), u"http_%1"_s.arg(status));
        }
    }
}

void TestWatchAnswer::noAnswer()
{
    ApiAnswer none;
    none.failure = u"timeout"_s;
    none.failureText = u"No answer."_s;
    QCOMPARE(renewOutcome(none, now).value("outcome"_L1).toString(), u"transient"_s);
    QCOMPARE(renewOutcome(none, now).value("code"_L1).toString(), u"timeout"_s);
    QCOMPARE(removeOutcome(none, now).value("outcome"_L1).toString(), u"transient"_s);
}

void TestWatchAnswer::until_data()
{
    QTest::addColumn<QString>("message");
    QTest::addColumn<QString>("retryAfter");
    QTest::addColumn<QString>("date");
    QTest::addColumn<qint64>("expected");
    const qint64 told = at(u"2026-06-12T19:16:46.648Z"_s);
    const QString message = u"User-rate limit exceeded.  Retry after 2026-06-12T19:16:46.648Z"_s;
    QTest::newRow("time in the message") << message << QString() << QString() << told;
    // googleapis/google-api-ruby-client#20544
    QTest::newRow("with a suffix") << message + u" (Forwarding rules)"_s << QString() << QString() << told;
    QTest::newRow("without fraction") << u"Retry after 2026-06-12T19:16:46Z"_s << QString() << QString()
                                      << at(u"2026-06-12T19:16:46.000Z"_s);
    QTest::newRow("our clock is an hour ahead")
        << message << QString() << u"Fri, 12 Jun 2026 18:01:46 GMT"_s << told + 3'600'000;
    QTest::newRow("the message comes before the header") << message << u"5"_s << QString() << told;
    QTest::newRow("header in seconds") << u"Slow down"_s << u"30"_s << QString() << now + 30'000;
    QTest::newRow("header as a date")
        << u"Slow down"_s << u"Fri, 12 Jun 2026 19:02:46 GMT"_s << QString() << now + 60'000;
    QTest::newRow("nothing told") << u"Slow down"_s << QString() << QString() << qint64(0);
    QTest::newRow("nonsense") << u"Retry after 2026-99-12T19:16:46Z"_s << u"soon"_s << u"yesterday"_s
                              << qint64(0);
    QTest::newRow("negative seconds") << u"Slow down"_s << u"-5"_s << QString() << qint64(0);
}

void TestWatchAnswer::until()
{
    QFETCH(QString, message);
    QFETCH(QString, retryAfter);
    QFETCH(QString, date);
    ApiAnswer rate = answer(429, body(429, message, u"rateLimitExceeded"_s));
    rate.retryAfter = retryAfter;
    rate.date = date;
    QTEST(renewOutcome(rate, now).value("until"_L1).toInteger(), "expected");
}

/// 02:30 on 8 March does not exist in Los Angeles, but in Greenwich it does.
void TestWatchAnswer::datesDoNotDependOnOurZone()
{
    const QByteArray before = qgetenv("TZ");
    qputenv("TZ", "America/Los_Angeles");
    ApiAnswer rate = answer(429, body(429, u"Slow down"_s, u"rateLimitExceeded"_s));
    rate.retryAfter = u"Sun, 08 Mar 2026 02:30:00 GMT"_s;
    const qint64 until = renewOutcome(rate, at(u"2026-03-08T02:00:00.000Z"_s)).value("until"_L1).toInteger();
    before.isEmpty() ? qunsetenv("TZ") : qputenv("TZ", before);
    QCOMPARE(until, at(u"2026-03-08T02:30:00.000Z"_s));
}

void TestWatchAnswer::removal_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("outcome");
    QTest::newRow("200") << 200 << u"gone"_s;
    QTest::newRow("204") << 204 << u"gone"_s;
    QTest::newRow("401") << 401 << u"unauthorized"_s;
    QTest::newRow("429") << 429 << u"rate"_s;
    QTest::newRow("503") << 503 << u"transient"_s;
}

void TestWatchAnswer::removal()
{
    QFETCH(int, status);
    QTEST(removeOutcome(answer(status, {}), now).value("outcome"_L1).toString(), "outcome");
}

void TestWatchAnswer::aTopicOfItsOwnStopsNobodyElse()
{
    const QString text =
        body(403, u"Error sending test message to Cloud PubSub projects/P/topics/T: no"_s, u"forbidden"_s);
    const QJsonObject own = withOwnTopicFault(renewOutcome(answer(403, text), now));
    QCOMPARE(own.value("outcome"_L1).toString(), u"account"_s);
    QCOMPARE(own.value("reason"_L1).toString(), u"topic_forbidden"_s);
    QCOMPARE(own.value("state"_L1).toString(), u"parked"_s);
    const QJsonObject disabled = renewOutcome(answer(403, body(403, u"x"_s, u"accessNotConfigured"_s)), now);
    QCOMPARE(withOwnTopicFault(disabled), disabled);
    const QJsonObject done = renewOutcome(answer(200, uR"({"expiration":"1800000000000"})"_s), now);
    QCOMPARE(withOwnTopicFault(done), done);
}

void TestWatchAnswer::noAddressInTexts()
{
    const QJsonObject outcome = renewOutcome(
        answer(403, body(403, u"Delegation denied for someone@example.com today"_s, u"forbidden"_s)), now);
    QVERIFY(!outcome.value("text"_L1).toString().contains(u'@'));
    QVERIFY(outcome.value("text"_L1).toString().contains(u"Delegation denied for (address) today"_s));
}

void TestWatchAnswer::hostileBodies_data()
{
    QTest::addColumn<QString>("text");
    QTest::newRow("array") << u"[1,2]"_s;
    QTest::newRow("error is text") << uR"({"error":"invalid_grant"})"_s;
    QTest::newRow("errors is an object") << uR"({"error":{"errors":{"reason":"x"},"details":"y"}})"_s;
    QTest::newRow("long message") << body(400, QString(100'000, u'x'), u"r"_s);
    QTest::newRow("deep") << QString(5'000, u'[');
}

void TestWatchAnswer::hostileBodies()
{
    QFETCH(QString, text);
    const QJsonObject outcome = renewOutcome(answer(400, text), now);
    QCOMPARE(outcome.value("outcome"_L1).toString(), u"transient"_s);
    QVERIFY(outcome.value("text"_L1).toString().size() < 400);
}

QTEST_APPLESS_MAIN(TestWatchAnswer)
#include "tst_watchanswer.moc"
