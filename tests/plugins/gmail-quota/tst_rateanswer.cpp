// SPDX-License-Identifier: Apache-2.0
// One row for each shape of an answer, with the public source of the shape.
#include "decide/rateanswer.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace gmailquota;

namespace {

qint64 at(const char *utc)
{
    return QDateTime::fromString(QString::fromLatin1(utc), Qt::ISODate).toMSecsSinceEpoch();
}

const qint64 nowMs = at("2026-06-12T19:00:00Z"); // noon in Los Angeles

QString words(const QString &message, const QString &domain, const QString &reason, int code = 403,
              const QString &more = {})
{
    const QString form =
        u"{\"error\":{\"code\":%1,\"message\":\"%2\",\"errors\":[{\"message\":\"%2\",\"domain\":"
        "\"%3\",\"reason\":\"%4\"}]%5}}"_s;
    return form.arg(code).arg(message, domain, reason, more);
}

QString status(const QString &word)
{
    return u",\"status\":\"%1\""_s.arg(word);
}

/// The new form: with ErrorInfo and its metadata.
QString info(const QString &metric, const QString &limit, const QString &value, const QString &extra = {})
{
    return u",\"status\":\"PERMISSION_DENIED\",\"details\":[{\"@type\":\"type.googleapis.com/"
           u"google.rpc.ErrorInfo\","
           "\"reason\":\"RATE_LIMIT_EXCEEDED\",\"domain\":\"googleapis.com\",\"metadata\":{\"quota_metric\":"
           "\"gmail.googleapis.com/%1\",\"quota_limit\":\"%2\",\"quota_limit_value\":\"%3\"%4,\"service\":"
           "\"gmail.googleapis.com\",\"consumer\":\"projects/"
           "123456789012\"}},{\"@type\":\"type.googleapis.com/"
           "google.rpc.Help\",\"links\":[{\"description\":\"Request a higher quota limit.\",\"url\":"
           "\"https://cloud.google.com/docs/quota#requesting_higher_quota\"}]}]"_s.arg(metric, limit, value,
                                                                                       extra);
}

QString exceeded(const QString &metric, const QString &limit)
{
    return u"Quota exceeded for quota metric '%1' and limit '%2' of service 'gmail.googleapis.com' for "
           u"consumer "
           "'project_number:123456789012'."_s.arg(metric, limit);
}

struct Row {
    const char *name;
    int status = 403;
    QJsonValue body = QJsonValue::Undefined;
    QJsonObject headers = {};
    // expected
    QString scope = {}; ///< empty: not a rate answer
    QString reason = {};
    qint64 retryAfterMs = 0;
    QString family = {};
    qint64 toldLimit = 0;
    bool retryable = true;
    bool untilDayEnd = false;
    bool admitted = false;
};

} // namespace

Q_DECLARE_METATYPE(Row)

class TestRateAnswer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void unitsOfTheMinute_data();
    void unitsOfTheMinute() { check(); }
    void otherRefusalsForTheRate_data();
    void otherRefusalsForTheRate() { check(); }
    void bodiesThatAreNoEnvelope_data();
    void bodiesThatAreNoEnvelope() { check(); }
    void otherAnswers_data();
    void otherAnswers() { check(); }
    void foreignWordsStayOutside();

private:
    static void columns() { QTest::addColumn<Row>("row"); }
    static void add(const Row &row) { QTest::newRow(row.name) << row; }
    static void check();
};

void TestRateAnswer::check()
{
    QFETCH(Row, row);
    const RateAnswer got = classify({row.status, row.headers, row.body}, nowMs);
    QCOMPARE(got.rate, !row.scope.isEmpty());
    QCOMPARE(got.scope, row.scope);
    QCOMPARE(got.reason, row.reason);
    QCOMPARE(got.retryAfterMs, row.retryAfterMs);
    QCOMPARE(got.family, row.family);
    QCOMPARE(got.toldLimit, row.toldLimit);
    QCOMPARE(got.retryable, row.retryable);
    QCOMPARE(got.untilDayEnd, row.untilDayEnd);
    QCOMPARE(got.admitted, row.admitted);
    QVERIFY(got.sentence.endsWith(u'.'));
}

void TestRateAnswer::unitsOfTheMinute_data()
{
    columns();
    const QString rate = u"rateLimitExceeded"_s;
    const QString usage = u"usageLimits"_s;
    const QString queries = exceeded(u"Queries"_s, u"Queries per minute per user"_s);
    const QString units = exceeded(u"Total Query Cost"_s, u"Units per minute per user"_s);
    const QString perUser = info(u"default"_s, u"defaultPerMinutePerUser"_s, u"15000"_s);
    // Old meter: GAM-team/got-your-back#309, elie222/inbox-zero#480, SpiderStrategies/node-gmail-api#43.
    add({.name = "old meter",
         .body = words(queries, usage, rate, 403, perUser),
         .scope = u"account"_s,
         .reason = rate,
         .toldLimit = 15'000});
    // The same text as 429 or 403: support.nylas.com article 5210474048669.
    add({.name = "old meter, as 429",
         .status = 429,
         .body = words(queries, usage, rate, 429, perUser),
         .scope = u"account"_s,
         .reason = rate,
         .toldLimit = 15'000});
    // mxngls/gmail-cleaner#5: without details, the message names the user.
    add({.name = "old meter, no details",
         .body = words(queries, usage, rate),
         .scope = u"account"_s,
         .reason = rate});
    // New meter, since May 2026; unit as in Google's quota pages.
    const QString unit = u",\"quota_unit\":\"1/min/{project}/{user}\""_s;
    add({.name = "new meter",
         .body = words(units, usage, rate, 403,
                       info(u"total_query_cost"_s, u"totalQueryCostPerMinutePerUser"_s, u"6000"_s, unit)),
         .scope = u"account"_s,
         .reason = rate,
         .toldLimit = 6'000});
    add({.name = "new meter, no details",
         .body = words(units, usage, rate),
         .scope = u"account"_s,
         .reason = rate});
    // The project's own minute, by the name of its limit.
    add({.name = "project",
         .body = words(exceeded(u"Queries"_s, u"Queries per minute"_s), usage, rate, 403,
                       info(u"default"_s, u"defaultPerMinutePerProject"_s, u"1200000"_s)),
         .scope = u"project"_s,
         .reason = rate,
         .toldLimit = 1'200'000});
    add({.name = "project, no details",
         .body = words(exceeded(u"Queries"_s, u"Queries per minute"_s), usage, rate),
         .scope = u"project"_s,
         .reason = rate});
    // google.rpc form without errors[]: only ErrorInfo gives a reason.
    add({.name = "reason in details only",
         .status = 429,
         .body = u"{\"error\":{\"code\":429,\"message\":\"%1\"%2}}"_s.arg(queries, perUser),
         .scope = u"account"_s,
         .reason = u"RATE_LIMIT_EXCEEDED"_s,
         .toldLimit = 15'000});
    // A limit that is not in units of a minute says nothing about the bucket's pace.
    add({.name = "another metric",
         .body = words(queries, usage, rate, 403, info(u"sends"_s, u"sendsPerMinutePerUser"_s, u"20"_s)),
         .scope = u"account"_s,
         .reason = rate});
    add({.name = "per second",
         .body = words(queries, usage, rate, 403, info(u"default"_s, u"defaultPerSecondPerUser"_s, u"250"_s)),
         .scope = u"account"_s,
         .reason = rate});
    add({.name = "limit of nothing",
         .body = words(queries, usage, rate, 403, info(u"default"_s, u"defaultPerMinutePerUser"_s, u"0"_s)),
         .scope = u"account"_s,
         .reason = rate});
    add({.name = "limit that is no number",
         .body =
             words(queries, usage, rate, 403, info(u"default"_s, u"defaultPerMinutePerUser"_s, u"lots"_s)),
         .scope = u"account"_s,
         .reason = rate});
    // The details win over the message.
    add({.name = "details and message differ",
         .body = words(queries, usage, rate, 403,
                       info(u"default"_s, u"defaultPerMinutePerProject"_s, u"100000"_s)),
         .scope = u"project"_s,
         .reason = rate,
         .toldLimit = 100'000});
}

void TestRateAnswer::otherRefusalsForTheRate_data()
{
    columns();
    const QString rate = u"rateLimitExceeded"_s;
    const QString usage = u"usageLimits"_s;
    const QString global = u"global"_s;
    const QString exhausted = status(u"RESOURCE_EXHAUSTED"_s);
    // Concurrency: googleapis/google-api-dotnet-client#1982, and its older form googleapis/google-api-ruby-client#616.
    add({.name = "concurrency",
         .status = 429,
         .body = words(u"Too many concurrent requests for user."_s, global, rate, 429, exhausted),
         .scope = u"account"_s,
         .reason = rate});
    add({.name = "concurrency, old form",
         .status = 429,
         .body = words(u"Too many concurrent requests for user"_s, usage, rate, 429),
         .scope = u"account"_s,
         .reason = rate});
    // Google's page "Resolve errors": three messages of a 429 for which it gives no reason.
    const QString bare = u"{\"error\":{\"code\":429,\"message\":\"Too many requests: %1\"}}"_s;
    add({.name = "documented: sending",
         .status = 429,
         .body = bare.arg("User-rate limit exceeded (Mail sending)"_L1),
         .scope = u"account"_s,
         .family = u"mail_sending"_s});
    add({.name = "documented: bandwidth",
         .status = 429,
         .body = bare.arg("User-rate limit exceeded"_L1),
         .scope = u"account"_s});
    add({.name = "documented: concurrency",
         .status = 429,
         .body = bare.arg("Too many concurrent requests for user"_L1),
         .scope = u"account"_s});
    // Lock-out with a time: twentyhq/twenty#17850, elie222/inbox-zero#711; taers232c/GAMADV-XTD3#337.
    const QString lockedOut = u"User-rate limit exceeded.  Retry after 2026-06-12T19:15:00.648Z"_s;
    add({.name = "lock-out",
         .status = 429,
         .body = words(lockedOut, global, rate, 429, exhausted),
         .scope = u"account"_s,
         .reason = rate,
         .retryAfterMs = 900'648});
    add({.name = "lock-out, as 403",
         .body = words(lockedOut, usage, u"userRateLimitExceeded"_s),
         .scope = u"account"_s,
         .reason = u"userRateLimitExceeded"_s,
         .retryAfterMs = 900'648});
    add({.name = "lock-out, one space, no milliseconds",
         .status = 429,
         .body = words(u"User-rate limit exceeded. Retry after 2026-06-12T19:15:00Z"_s, global, rate, 429),
         .scope = u"account"_s,
         .reason = rate,
         .retryAfterMs = 900'000});
    // googleapis/google-api-ruby-client#20544.
    add({.name = "lock-out of forwarding",
         .status = 429,
         .body = words(lockedOut + u" (Forwarding rules)"_s, global, rate, 429, exhausted),
         .scope = u"account"_s,
         .reason = rate,
         .retryAfterMs = 900'648,
         .family = u"forwarding_rules"_s});
    add({.name = "lock-out of sending, other case",
         .status = 429,
         .body = words(lockedOut + u" (mail  Sending)"_s, global, rate, 429, exhausted),
         .scope = u"account"_s,
         .reason = rate,
         .retryAfterMs = 900'648,
         .family = u"mail_sending"_s});
    add({.name = "lock-out of something new: all methods",
         .status = 429,
         .body = words(lockedOut + u" (Carrier pigeons)"_s, global, rate, 429, exhausted),
         .scope = u"account"_s,
         .reason = rate,
         .retryAfterMs = 900'648});
    // elie222/inbox-zero#379, mxngls/gmail-cleaner#5. What stands in brackets is no family.
    add({.name = "generic",
         .status = 429,
         .body = words(u"Resource has been exhausted (e.g. check quota)."_s, global, rate, 429, exhausted),
         .scope = u"account"_s,
         .reason = rate});
    // Google's page "Resolve errors": reasons of a 403.
    add({.name = "documented: user",
         .body = words(u"User Rate Limit Exceeded"_s, usage, u"userRateLimitExceeded"_s),
         .scope = u"account"_s,
         .reason = u"userRateLimitExceeded"_s});
    add({.name = "documented: project",
         .body = words(u"Rate Limit Exceeded"_s, usage, rate),
         .scope = u"project"_s,
         .reason = rate});
    add({.name = "documented: day, till midnight in Los Angeles",
         .body = words(u"Daily Limit Exceeded"_s, usage, u"dailyLimitExceeded"_s),
         .scope = u"project"_s,
         .reason = u"dailyLimitExceeded"_s,
         .retryAfterMs = 12 * 3'600'000,
         .untilDayEnd = true});
    add({.name = "day, its hint is not believed",
         .status = 429,
         .body = words(u"Daily Limit Exceeded"_s, usage, u"dailyLimitExceeded"_s),
         .headers = {{u"Retry-After"_s, u"30"_s}},
         .scope = u"project"_s,
         .reason = u"dailyLimitExceeded"_s,
         .retryAfterMs = 12 * 3'600'000,
         .untilDayEnd = true});
    // An owner's cap on the day, in the form of the other quotas; its value is none of a minute.
    add({.name = "limit per day",
         .body = words(exceeded(u"Total Query Cost"_s, u"Units per day"_s), usage, rate, 403,
                       info(u"total_query_cost"_s, u"totalQueryCostPerDayPerProject"_s, u"80000000"_s)),
         .scope = u"project"_s,
         .reason = rate,
         .retryAfterMs = 12 * 3'600'000,
         .untilDayEnd = true});
    // Not on Gmail's page; retried for all Google APIs by GAM-team/GAM (GAPI_DEFAULT_RETRY_REASONS).
    add({.name = "quotaExceeded",
         .body = words(u"Quota exceeded."_s, usage, u"quotaExceeded"_s),
         .scope = u"account"_s,
         .reason = u"quotaExceeded"_s});
    add({.name = "second of two reasons",
         .body =
             u"{\"error\":{\"code\":403,\"message\":\"Two.\",\"errors\":[{\"reason\":\"other\"},{\"reason\":"
             "\"userRateLimitExceeded\"}]}}"_s,
         .scope = u"account"_s,
         .reason = u"userRateLimitExceeded"_s});
    add({.name = "no reason, 403: the message",
         .body = u"{\"error\":{\"code\":403,\"message\":\"User Rate Limit Exceeded\"}}"_s,
         .scope = u"account"_s});
    add({.name = "no reason, 403: the status word",
         .body = u"{\"error\":{\"code\":403,\"status\":\"RESOURCE_EXHAUSTED\"}}"_s,
         .scope = u"account"_s});
    add({.name = "reason never heard of, 429",
         .status = 429,
         .body = words(u"Slow down."_s, global, u"slowDown"_s, 429),
         .scope = u"account"_s,
         .reason = u"slowDown"_s});
}

void TestRateAnswer::bodiesThatAreNoEnvelope_data()
{
    columns();
    const QString rate = u"rateLimitExceeded"_s;
    const QString whole = words(exceeded(u"Queries"_s, u"Queries per minute per user"_s), u"usageLimits"_s,
                                rate, 403, info(u"default"_s, u"defaultPerMinutePerUser"_s, u"15000"_s));
    add({.name = "object",
         .body = QJsonDocument::fromJson(whole.toUtf8()).object(),
         .scope = u"account"_s,
         .reason = rate,
         .toldLimit = 15'000});
    add({.name = "error alone", // as a client library hands it on
         .body = QJsonDocument::fromJson(whole.toUtf8()).object()["error"_L1],
         .scope = u"account"_s,
         .reason = rate,
         .toldLimit = 15'000});
    add({.name = "list", // as streaming answers are
         .body = u"[%1]"_s.arg(whole),
         .scope = u"account"_s,
         .reason = rate,
         .toldLimit = 15'000});
    add({.name = "cut off after the reason",
         .body = whole.left(whole.indexOf("\"status\""_L1)),
         .scope = u"account"_s,
         .reason = rate});
    add({.name = "cut off in the details",
         .body = whole.left(whole.indexOf("\"service\""_L1)),
         .scope = u"account"_s,
         .reason = rate,
         .toldLimit = 15'000});
    add({.name = "cut off in the message",
         .body = whole.left(whole.indexOf(" of service"_L1)),
         .scope = u"account"_s});
    // What Python's client prints, mxngls/gmail-cleaner#5.
    add({.name = "printed by a client",
         .status = 429,
         .body = u"<HttpError 429 when requesting https://gmail.googleapis.com/gmail/v1/users/me returned "
                 "\"User-rate limit exceeded.  Retry after 2026-06-12T19:15:00Z (Mail sending)\". Details: "
                 "\"[{'message': 'User-rate limit exceeded.', 'domain': 'global', 'reason': "
                 "'rateLimitExceeded'}]\">"_s,
         .scope = u"account"_s,
         .reason = rate,
         .retryAfterMs = 900'000,
         .family = u"mail_sending"_s});
    add({.name = "quotes written as escapes, cut off",
         .body = u"{\"error\":{\"message\":\"Quota exceeded for quota metric \\u0027Queries\\u0027 and limit "
                 "\\u0027Queries per minute\\u0027 of serv"_s,
         .scope = u"project"_s});
    add({.name = "429 without a body", .status = 429, .scope = u"account"_s});
    add({.name = "429 with an empty body", .status = 429, .body = u""_s, .scope = u"account"_s});
    add({.name = "429 page",
         .status = 429,
         .body = u"<!DOCTYPE html><html><title>Error 429 (Too Many Requests)!!1</title></html>"_s,
         .headers = {{u"retry-after"_s, u"12"_s}},
         .scope = u"account"_s,
         .retryAfterMs = 12'000});
    add({.name = "403 page",
         .body = u"<!DOCTYPE html><html><title>Error 403 (Forbidden)!!1</title></html>"_s,
         .retryable = false});
    add({.name = "502 page", .status = 502, .body = u"<html>Bad Gateway, too many requests</html>"_s});
    for (const char *body :
         {"null", "42", "\"text\"", "[]", "[[]]", "{}", "{\"error\":null}", "{\"error\":[]}",
          "{\"error\":{\"errors\":{},\"details\":7,\"message\":[]}}", "{\"error\":{\"errors\":[3]}}"})
        add({.name = body, .status = 429, .body = QString::fromLatin1(body), .scope = u"account"_s});
}

void TestRateAnswer::otherAnswers_data()
{
    columns();
    const QString global = u"global"_s;
    add({.name = "200", .status = 200, .body = u"{}"_s, .retryable = false, .admitted = true});
    add({.name = "204", .status = 204, .retryable = false, .admitted = true});
    add({.name = "304", .status = 304, .retryable = false, .admitted = true});
    // Google's page "Resolve errors".
    add({.name = "badRequest",
         .status = 400,
         .body = words(u"Invalid id value"_s, global, u"badRequest"_s, 400),
         .reason = u"badRequest"_s,
         .retryable = false,
         .admitted = true});
    add({.name = "authError",
         .status = 401,
         .body = words(u"Invalid Credentials"_s, global, u"authError"_s, 401),
         .reason = u"authError"_s,
         .retryable = false});
    add({.name = "domainPolicy",
         .body = words(u"The domain administrators have disabled Gmail apps."_s, global, u"domainPolicy"_s),
         .reason = u"domainPolicy"_s,
         .retryable = false});
    // Reasons as other Google APIs send them.
    add({.name = "insufficientPermissions",
         .body = words(u"Request had insufficient authentication scopes."_s, global,
                       u"insufficientPermissions"_s),
         .reason = u"insufficientPermissions"_s,
         .retryable = false});
    add({.name = "accessNotConfigured",
         .body = words(u"Gmail API has not been used in project 1 before or it is disabled."_s,
                       u"usageLimits"_s, u"accessNotConfigured"_s),
         .reason = u"accessNotConfigured"_s,
         .retryable = false});
    // dacastro4/laravel-gmail#285.
    add({.name = "forbidden",
         .body = words(u"Error sending test message to Cloud PubSub : User not authorized to perform this "
                       "action."_s,
                       global, u"forbidden"_s),
         .reason = u"forbidden"_s,
         .retryable = false});
    add({.name = "notFound",
         .status = 404,
         .body = words(u"Requested entity was not found."_s, global, u"notFound"_s, 404),
         .reason = u"notFound"_s,
         .retryable = false,
         .admitted = true});
    add({.name = "failedPrecondition",
         .status = 400,
         .body = words(u"Mail service not enabled"_s, global, u"failedPrecondition"_s, 400),
         .reason = u"failedPrecondition"_s,
         .retryable = false,
         .admitted = true});
    // A reason counts for more than the status and the message.
    add({.name = "429, but another reason",
         .status = 429,
         .body = words(u"Too many requests"_s, global, u"domainPolicy"_s, 429),
         .reason = u"domainPolicy"_s,
         .retryable = false,
         .admitted = true});
    for (const int code : {500, 502, 503, 504}) {
        const QByteArray name = "backendError " + QByteArray::number(code);
        add({.name = name.constData(),
             .status = code,
             .body = words(u"Backend Error"_s, global, u"backendError"_s, code),
             .reason = u"backendError"_s});
    }
    add({.name = "503 with a time",
         .status = 503,
         .headers = {{u"RETRY-AFTER"_s, u"7"_s}},
         .retryAfterMs = 7'000});
    add({.name = "408", .status = 408});
}

void TestRateAnswer::foreignWordsStayOutside()
{
    const QString body = words(u"a@example.com calls too often"_s, u"global"_s, u"a@example.com <b>"_s, 429);
    const RateAnswer answer = classify({429, {}, body}, nowMs);
    QVERIFY(answer.rate);
    QCOMPARE(answer.reason, QString());
    QVERIFY(!answer.sentence.contains(u'@'));
}

QTEST_APPLESS_MAIN(TestRateAnswer)
#include "tst_rateanswer.moc"
