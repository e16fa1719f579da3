// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/multipart.h"
#include "simbench.h"

#include <QtTest/QTest>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

const QString topic = u"projects/sim-project/topics/gmail"_s;

// As captured on the wire.
constexpr auto newMeterBody = R"({"error":{"code":403,
      "message":"Quota exceeded for quota metric 'Total Query Cost' and limit 'Units per minute per user' of service 'gmail.googleapis.com' for consumer 'project_number:123456789012'.",
      "errors":[{"message":"Quota exceeded for quota metric 'Total Query Cost' and limit 'Units per minute per user' of service 'gmail.googleapis.com' for consumer 'project_number:123456789012'.","domain":"usageLimits","reason":"rateLimitExceeded"}],
      "status":"PERMISSION_DENIED",
      "details":[
       {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com",
        "metadata":{"quota_metric":"gmail.googleapis.com/total_query_cost","quota_limit":"totalQueryCostPerMinutePerUser","quota_limit_value":"6000","quota_location":"global","service":"gmail.googleapis.com","consumer":"projects/123456789012","quota_unit":"1/min/{project}/{user}"}},
       {"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Request a higher quota limit.","url":"https://cloud.google.com/docs/quota#requesting_higher_quota"}]}]}})";
constexpr auto oldMeterBody = R"({"error":{"code":403,
      "message":"Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'gmail.googleapis.com' for consumer 'project_number:123456789012'.",
      "errors":[{"message":"Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'gmail.googleapis.com' for consumer 'project_number:123456789012'.","domain":"usageLimits","reason":"rateLimitExceeded"}],
      "status":"PERMISSION_DENIED",
      "details":[
       {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com",
        "metadata":{"quota_metric":"gmail.googleapis.com/default","quota_limit":"defaultPerMinutePerUser","quota_limit_value":"15000","quota_location":"global","service":"gmail.googleapis.com","consumer":"projects/123456789012"}},
       {"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Request a higher quota limit.","url":"https://cloud.google.com/docs/quota#requesting_higher_quota"}]}]}})";

QJsonObject jsonOf(const char *text)
{
    return QJsonDocument::fromJson(text).object();
}

} // namespace

class TestSimGmail : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void minuteBody_data();
    void minuteBody();
    void answerOfTheUserLimitCanBeChosen();
    void projectBody();
    void concurrencyBody();
    void placesAreFreeAgainAfterTheAnswer();
    void whoMayCall();
    void addressOrMe();
    void scopes_data();
    void scopes();
    void threadsAreListedAndRead();
    void pagesFollowEachOther();
    void messageFormats();
    void historyTellsChanges();
    void historyTooOld();
    void sendByJsonAndUpload();
    void draftsAndLabels();
    void badJson();
    void batchAnswersEachPart();
    void largeBatchTripsOverConcurrency();
};

void TestSimGmail::minuteBody_data()
{
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("path");
    QTest::addColumn<int>("callsInHalf"); // fit into half of the limit
    QTest::addColumn<QByteArray>("body");
    QTest::newRow("new meter") << u"gmail-2026"_s << u"threads/x"_s << 75 << QByteArray(newMeterBody);
    QTest::newRow("old meter") << u"gmail-legacy"_s << u"threads/x"_s << 750 << QByteArray(oldMeterBody);
}

/// Half of the limit at once, the other half 18 s later; then the minute is full until the first half leaves it.
void TestSimGmail::minuteBody()
{
    QFETCH(QString, preset);
    QFETCH(QString, path);
    QFETCH(int, callsInHalf);
    QFETCH(QByteArray, body);
    SimBench bench({{u"preset"_s, preset}});
    for (int half = 0; half < 2; ++half) {
        for (int i = 0; i < callsInHalf; ++i)
            QCOMPARE(bench.gmail("GET", path).status, 404); // answered, and charged
        QCOMPARE(bench.gmail("GET", path).status, 403);
        bench.advanceMs(18'000);
    }
    const Answer refused = bench.gmail("GET", path);
    QCOMPARE(refused.status, 403);
    QCOMPARE(SimBench::json(refused), jsonOf(body));
    bench.advanceMs(60'000 - 36'000);
    QCOMPARE(bench.gmail("GET", path).status, 404);
    const QJsonObject account = bench.account();
    QCOMPARE(account[u"refused"].toInt(), 3);
    QCOMPARE(account[u"refused_by"].toObject(), QJsonObject({{u"user_burst"_s, 1}, {u"user_minute"_s, 2}}));
    QCOMPARE(account[u"units_worst_60s"].toInt(), preset == u"gmail-2026"_s ? 6'000 : 15'000);
}

void TestSimGmail::answerOfTheUserLimitCanBeChosen()
{
    SimBench bench;
    bench.control("settings",
                  {{u"user_limit_per_minute"_s, 199}, {u"user_limit_answer"_s, u"too_many_requests"_s}});
    const Answer asText = bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}});
    QCOMPARE(asText.status, 429);
    QVERIFY(messageOf(asText).startsWith(u"Quota exceeded for quota metric"_s));
    bench.control("settings", {{u"user_limit_answer"_s, u"exhausted"_s}});
    const Answer exhausted = bench.gmail("POST", u"watch"_s, {{u"topicName"_s, topic}});
    QCOMPARE(exhausted.status, 429);
    QCOMPARE(
        SimBench::json(exhausted),
        jsonOf(R"({"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","errors":[
                {"message":"Resource has been exhausted (e.g. check quota).","domain":"global","reason":"rateLimitExceeded"}],
                "status":"RESOURCE_EXHAUSTED"}})"));
}

void TestSimGmail::projectBody()
{
    SimBench bench;
    bench.control("settings", {{u"project_limit_per_minute"_s, 5}});
    for (int i = 0; i < 5; ++i)
        QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    const Answer refused = bench.gmail("GET", u"profile"_s);
    QCOMPARE(refused.status, 403);
    QCOMPARE(reasonOf(refused), u"rateLimitExceeded"_s);
    QCOMPARE(SimBench::json(refused)[u"error"][u"details"][0][u"metadata"][u"quota_limit"].toString(),
             u"totalQueryCostPerMinutePerProject"_s);
}

void TestSimGmail::concurrencyBody()
{
    SimBench bench;
    std::vector<Answer> running;
    for (int i = 0; i < 10; ++i)
        running.push_back(bench.gmail("GET", u"profile"_s));
    const Answer refused = bench.gmail("GET", u"profile"_s);
    QCOMPARE(refused.status, 429);
    QCOMPARE(SimBench::json(refused),
             jsonOf(R"({"error":{"code":429,"message":"Too many concurrent requests for user.","errors":[
                {"message":"Too many concurrent requests for user.","domain":"global","reason":"rateLimitExceeded"}],
                "status":"RESOURCE_EXHAUSTED"}})"));
    QCOMPARE(bench.account()[u"in_flight_worst"].toInt(), 10);
}

void TestSimGmail::placesAreFreeAgainAfterTheAnswer()
{
    SimBench bench;
    bench.control("settings", {{u"concurrency"_s, 1}});
    {
        const Answer running = bench.gmail("GET", u"profile"_s);
        QCOMPARE(bench.gmail("GET", u"profile"_s).status, 429);
    }
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
}

void TestSimGmail::whoMayCall()
{
    SimBench bench;
    const QByteArray good = bench.bearer;
    bench.bearer = "Bearer ya29.other";
    const Answer unknown = bench.gmail("GET", u"profile"_s);
    QCOMPARE(unknown.status, 401);
    QCOMPARE(
        SimBench::json(unknown),
        jsonOf(
            R"({"error":{"code":401,"message":"Invalid Credentials","errors":[{"message":"Invalid Credentials",
                "domain":"global","reason":"authError","location":"Authorization","locationType":"header"}],
                "status":"UNAUTHENTICATED"}})"));
    bench.bearer = good;
    bench.advanceMs(3'600'000 - 1);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 200);
    bench.advanceMs(1);
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, 401);
}

void TestSimGmail::addressOrMe()
{
    SimBench bench;
    const QString users = u"/gmail/v1/users/"_s;
    QCOMPARE(
        SimBench::json(bench.call("GET", users + u"a%40example.com/profile"_s))[u"emailAddress"].toString(),
        u"a@example.com"_s);
    QCOMPARE(bench.call("GET", users + u"a@example.com/profile"_s).status, 200);
    const Answer other = bench.call("GET", users + u"b%40example.com/profile"_s);
    QCOMPARE(other.status, 403);
    QCOMPARE(messageOf(other), u"Delegation denied for b@example.com"_s);
    QCOMPARE(bench.call("GET", users + u"me/nonsense"_s).status, 404);
}

void TestSimGmail::scopes_data()
{
    QTest::addColumn<QString>("scope");
    QTest::addColumn<int>("read");
    QTest::addColumn<int>("modify");
    QTest::addColumn<int>("remove");
    const QString base = u"https://www.googleapis.com/auth/gmail."_s;
    QTest::newRow("all") << u"https://mail.google.com/"_s << 200 << 204 << 204;
    QTest::newRow("modify") << base + u"modify"_s << 200 << 204 << 403;
    QTest::newRow("readonly") << base + u"readonly"_s << 200 << 403 << 403;
    QTest::newRow("metadata") << base + u"metadata"_s << 200 << 403 << 403;
    QTest::newRow("send") << base + u"send"_s << 403 << 403 << 403;
}

void TestSimGmail::scopes()
{
    QFETCH(QString, scope);
    QFETCH(int, read);
    QFETCH(int, modify);
    QFETCH(int, remove);
    SimBench bench({{u"scopes"_s, QJsonArray{scope}}});
    const QJsonObject ids{{u"ids"_s, QJsonArray{u"x"_s}}};
    QCOMPARE(bench.gmail("GET", u"profile"_s).status, read);
    QCOMPARE(bench.gmail("POST", u"messages/batchModify"_s, ids).status, modify);
    const Answer removed = bench.gmail("POST", u"messages/batchDelete"_s, ids);
    QCOMPARE(removed.status, remove);
    if (remove == 403)
        QCOMPARE(SimBench::json(removed)[u"error"][u"details"][0][u"reason"].toString(),
                 u"ACCESS_TOKEN_SCOPE_INSUFFICIENT"_s);
}

void TestSimGmail::threadsAreListedAndRead()
{
    SimBench bench({{u"threads"_s, 12}});
    const QJsonObject list = SimBench::json(bench.gmail("GET", u"threads?labelIds=INBOX&labelIds=UNREAD"_s));
    QCOMPARE(list[u"threads"].toArray().size(), 12);
    const QString id = list[u"threads"][0][u"id"].toString();
    const QJsonObject thread = SimBench::json(
        bench.gmail("GET", u"threads/%1?format=metadata&metadataHeaders=From&metadataHeaders=To"_s.arg(id)));
    QCOMPARE(thread[u"messages"].toArray().size(), 3); // the twelfth has three letters
    QCOMPARE(thread[u"messages"][0][u"threadId"].toString(), id);
    QCOMPARE(thread[u"messages"][0][u"payload"][u"headers"].toArray().size(), 2);
    QCOMPARE(bench.gmail("POST", u"threads/%1/trash"_s.arg(id)).status, 200);
    QCOMPARE(SimBench::json(bench.gmail("GET", u"threads"_s))[u"threads"].toArray().size(), 11);
    QCOMPARE(
        SimBench::json(bench.gmail("GET", u"threads?includeSpamTrash=true"_s))[u"threads"].toArray().size(),
        12);
    QCOMPARE(SimBench::json(bench.gmail("GET", u"threads?q=sender3"_s))[u"threads"].toArray().size(), 2);
}

void TestSimGmail::pagesFollowEachOther()
{
    SimBench bench({{u"threads"_s, 25}});
    QSet<QString> seen;
    QString token;
    int pages = 0;
    do {
        const QJsonObject page =
            SimBench::json(bench.gmail("GET", u"threads?maxResults=10&pageToken=%1"_s.arg(token)));
        const QJsonArray threads = page[u"threads"].toArray();
        for (const QJsonValue &thread : threads)
            seen.insert(thread[u"id"].toString());
        token = page[u"nextPageToken"].toString();
        ++pages;
    } while (!token.isEmpty());
    QCOMPARE(pages, 3);
    QCOMPARE(seen.size(), 25);
}

void TestSimGmail::messageFormats()
{
    SimBench bench({{u"threads"_s, 1}});
    const QString id = SimBench::json(bench.gmail("GET", u"messages"_s))[u"messages"][0][u"id"].toString();
    const auto get = [&](const QString &format) {
        return SimBench::json(bench.gmail("GET", u"messages/%1?format=%2"_s.arg(id, format)));
    };
    QVERIFY(!get(u"minimal"_s).contains(u"payload"_s));
    const QByteArray raw =
        QByteArray::fromBase64(get(u"raw"_s)[u"raw"].toString().toLatin1(), QByteArray::Base64UrlEncoding);
    QVERIFY(raw.contains("To: a@example.com\r\n"));
    const QJsonObject full = get(u"full"_s);
    const QString attachment = full[u"payload"][u"parts"][1][u"body"][u"attachmentId"].toString();
    const QJsonObject content =
        SimBench::json(bench.gmail("GET", u"messages/%1/attachments/%2"_s.arg(id, attachment)));
    QCOMPARE(content[u"size"].toInt(), 2048);
}

void TestSimGmail::historyTellsChanges()
{
    SimBench bench;
    const QString start = SimBench::json(bench.gmail("GET", u"profile"_s))[u"historyId"].toString();
    const QString latest =
        bench.control("mail", {{u"email"_s, u"a@example.com"_s}, {u"count"_s, 2}})[u"history_id"].toString();
    const QString path = u"history?startHistoryId=%1"_s.arg(start);
    const QJsonObject history = SimBench::json(bench.gmail("GET", path));
    QCOMPARE(history[u"history"].toArray().size(), 2);
    QCOMPARE(history[u"historyId"].toString(), latest);
    const QString id = history[u"history"][0][u"messagesAdded"][0][u"message"][u"id"].toString();
    bench.gmail("POST", u"messages/%1/modify"_s.arg(id), {{u"removeLabelIds"_s, QJsonArray{u"UNREAD"_s}}});
    const QJsonObject labels = SimBench::json(bench.gmail("GET", path + u"&historyTypes=labelRemoved"_s));
    QCOMPARE(labels[u"history"].toArray().size(), 1);
    QCOMPARE(labels[u"history"][0][u"labelsRemoved"][0][u"labelIds"].toArray(), QJsonArray{u"UNREAD"_s});
    const QJsonObject both =
        SimBench::json(bench.gmail("GET", path + u"&historyTypes=labelRemoved&historyTypes=messageAdded"_s));
    QCOMPARE(both[u"history"].toArray().size(), 3);
}

void TestSimGmail::historyTooOld()
{
    SimBench bench;
    bench.control("settings", {{u"history_records"_s, 3}});
    const QString start = SimBench::json(bench.gmail("GET", u"profile"_s))[u"historyId"].toString();
    bench.control("mail", {{u"email"_s, u"a@example.com"_s}, {u"count"_s, 3}});
    QCOMPARE(bench.gmail("GET", u"history?startHistoryId="_s + start).status, 200);
    bench.control("mail", {{u"email"_s, u"a@example.com"_s}});
    const Answer gone = bench.gmail("GET", u"history?startHistoryId="_s + start);
    QCOMPARE(gone.status, 404);
    QCOMPARE(reasonOf(gone), u"notFound"_s);
    QCOMPARE(bench.gmail("GET", u"history"_s).status, 400);
}

void TestSimGmail::sendByJsonAndUpload()
{
    SimBench bench({{u"threads"_s, 0}});
    const QByteArray letter = "From: a@example.com\r\nTo: b@example.com\r\nSubject: Hi\r\n\r\nHello\r\n";
    const QString raw = QString::fromLatin1(letter.toBase64(QByteArray::Base64UrlEncoding));
    QCOMPARE(bench.gmail("POST", u"messages/send"_s, {{u"raw"_s, raw}}).status, 200);
    QCOMPARE(bench.gmail("POST", u"messages/send"_s, {{u"raw"_s, u""_s}}).status, 400);
    const QString upload = u"/upload/gmail/v1/users/me/messages/send?uploadType="_s;
    QCOMPARE(bench.call("POST", upload + u"media"_s, letter, "message/rfc822").status, 200);
    const QByteArray multipart = "--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nContent-Type: "
                                 "message/rfc822\r\n\r\n"
        + letter + "\r\n--b--";
    QCOMPARE(bench.call("POST", upload + u"multipart"_s, multipart, "multipart/related; boundary=b").status,
             200);
    const QJsonArray sent =
        SimBench::json(bench.gmail("GET", u"messages?labelIds=SENT"_s))[u"messages"].toArray();
    QCOMPARE(sent.size(), 3);
    for (const QJsonValue &message : sent) {
        const QJsonObject shown =
            SimBench::json(bench.gmail("GET", u"messages/%1?format=raw"_s.arg(message[u"id"].toString())));
        QCOMPARE(shown[u"raw"].toString(), raw);
    }
    QCOMPARE(bench.account()[u"units"].toInt(), 4 * 100 + 5 + 3 * 20); // the refused body was charged too
}

void TestSimGmail::draftsAndLabels()
{
    SimBench bench;
    const QString raw = QString::fromLatin1(QByteArray("Subject: Draft\r\n\r\nx").toBase64());
    const QJsonObject draft =
        SimBench::json(bench.gmail("POST", u"drafts"_s, {{u"message"_s, QJsonObject{{u"raw"_s, raw}}}}));
    const QString id = draft[u"id"].toString();
    QCOMPARE(bench.gmail("GET", u"drafts/"_s + id).status, 200);
    QCOMPARE(bench.gmail("POST", u"drafts/send"_s, {{u"id"_s, id}}).status, 200);
    QCOMPARE(bench.gmail("GET", u"drafts/"_s + id).status, 404);
    const QString label =
        SimBench::json(bench.gmail("POST", u"labels"_s, {{u"name"_s, u"Mine"_s}}))[u"id"].toString();
    QCOMPARE(bench.gmail("POST", u"labels"_s, {{u"name"_s, u"Mine"_s}}).status, 409);
    QCOMPARE(bench.gmail("DELETE", u"labels/"_s + label).status, 204);
    QCOMPARE(bench.gmail("GET", u"labels/"_s + label).status, 404);
    QCOMPARE(bench.gmail("PUT", u"settings/vacation"_s, {{u"enableAutoReply"_s, true}}).status, 200);
    QCOMPARE(SimBench::json(bench.gmail("GET", u"settings/vacation"_s))[u"enableAutoReply"].toBool(), true);
}

void TestSimGmail::badJson()
{
    SimBench bench;
    const Answer answer = bench.call("POST", u"/gmail/v1/users/me/watch"_s, "{\"topicName\":");
    QCOMPARE(answer.status, 400);
    QVERIFY(messageOf(answer).startsWith(u"Invalid JSON payload received."_s));
}

void TestSimGmail::batchAnswersEachPart()
{
    for (const QString &path : {u"/batch"_s, u"/batch/gmail/v1"_s}) {
        SimBench bench;
        const QByteArray body =
            "--x\r\nContent-Type: application/http\r\nContent-ID: <one>\r\n\r\n"
            "GET /gmail/v1/users/me/profile\r\n\r\n"
            "--x\r\nContent-Type: application/http\r\nContent-ID: <two>\r\n\r\n"
            "POST /gmail/v1/users/me/watch HTTP/1.1\r\nContent-Type: application/json\r\n\r\n"
            "{\"topicName\":\"projects/sim-project/topics/gmail\"}\r\n"
            "--x\r\nContent-Type: application/http\r\n\r\n"
            "GET /gmail/v1/users/me/threads/none?format=minimal\r\n\r\n--x--\r\n";
        const Answer answer = bench.call("POST", path, body, "multipart/mixed; boundary=\"x\"");
        QCOMPARE(answer.status, 200);
        const auto parts = splitMultipart(answer.contentType, answer.body);
        QCOMPARE(parts.size(), size_t(3));
        QCOMPARE(parts[0].headers.value("content-id"), "<response-one>");
        QVERIFY(parts[0].body.startsWith("HTTP/1.1 200 OK\r\n"));
        QVERIFY(parts[0].body.contains("\"emailAddress\":\"a@example.com\""));
        QVERIFY(parts[1].body.contains("\"expiration\":"));
        QVERIFY(parts[2].body.startsWith("HTTP/1.1 404 Not Found\r\n"));
        QCOMPARE(bench.account()[u"units"].toInt(), 1 + 100 + 40);
    }
}

void TestSimGmail::largeBatchTripsOverConcurrency()
{
    SimBench bench;
    QByteArray body;
    for (int i = 0; i < 25; ++i)
        body += "--x\r\nContent-Type: application/http\r\n\r\nGET /gmail/v1/users/me/profile\r\n\r\n";
    const Answer answer = bench.call("POST", u"/batch"_s, body + "--x--", "multipart/mixed; boundary=x");
    QCOMPARE(answer.status, 200);
    QCOMPARE(answer.body.count("HTTP/1.1 200"), 10);
    QCOMPARE(answer.body.count("HTTP/1.1 429"), 15);
    QByteArray tooLarge;
    for (int i = 0; i < 101; ++i)
        tooLarge += "--x\r\nContent-Type: application/http\r\n\r\nGET /gmail/v1/users/me/profile\r\n\r\n";
    QCOMPARE(bench.call("POST", u"/batch"_s, tooLarge + "--x--", "multipart/mixed; boundary=x").status, 400);
}

QTEST_GUILESS_MAIN(TestSimGmail)
#include "tst_sim_gmail.moc"
