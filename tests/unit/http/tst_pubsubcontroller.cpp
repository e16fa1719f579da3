// SPDX-License-Identifier: Apache-2.0
// What Pub/Sub is told, whatever it brings.
#include "http/pubsubcontroller.h"
#include "http/pubsubmessage.h"

#include <QtCore/QJsonDocument>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::http;

namespace {

QByteArray pushOf(const QByteArray &data)
{
    return R"({"message":{"data":")" + data
        + R"(","messageId":"7514282652270598","message_id":"7514282652270598",)"
          R"("publishTime":"2023-04-24T11:31:42.877Z","publish_time":"2023-04-24T11:31:42.877Z"},)"
          R"("subscription":"projects/p/subscriptions/s"})";
}

QByteArray goodPush()
{
    return pushOf(QByteArray(R"({"emailAddress":"user@example.com","historyId":1006196})").toBase64());
}

} // namespace

class TestPubsubController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void messages_data();
    void messages();
    void takesWhatGmailPushes();
    void theSamePushThreeTimes();
    void nobodysMailbox();
    void withoutToken_data();
    void withoutToken();
    void refusals_data();
    void refusals();
    void whatCannotBeReadIsAcknowledged();
    void aDatabaseThatIsDown();
    void off();
    void warnsOnceAMinute();

private:
    Response push(const QByteArray &body, const QByteArray &authorization = "Bearer good");

    Result<> m_checked;
    Result<QSet<QString>> m_nobody;
    QMap<QString, QString> m_reported;
    QByteArray m_token;
    QStringList m_counted;
    QStringList m_warnings;
    qint64 m_nowMs = 0;
    std::unique_ptr<Router> m_router;
    std::unique_ptr<PubsubController> m_controller;
};

void TestPubsubController::init()
{
    m_checked = {};
    m_nobody = QSet<QString>();
    m_reported.clear();
    m_counted.clear();
    m_warnings.clear();
    m_router = std::make_unique<Router>();
    m_controller = std::make_unique<PubsubController>(
        *m_router,
        PubsubController::Ports{
            .check = [this](QByteArray token) -> QCoro::Task<Result<>> {
                m_token = token;
                co_return Result<>(m_checked);
            },
            .report = [this](QMap<QString, QString> pushes) -> QCoro::Task<Result<QSet<QString>>> {
                m_reported = pushes;
                co_return Result<QSet<QString>>(m_nobody);
            },
            .count = [this](const QString &result) { m_counted.append(result); },
            .warn = [this](const QString &sentence) { m_warnings.append(sentence); },
            .monotonicMs = [this] { return m_nowMs; }});
}

Response TestPubsubController::push(const QByteArray &body, const QByteArray &authorization)
{
    const Result<Router::Match> match = m_router->match(Method::Post, u"/pubsub/push"_s);
    if (!match || match->role != Role::None)
        qFatal("the route is missing or asks for a token of the API");
    Request request;
    request.method = Method::Post;
    request.body = body;
    if (!authorization.isEmpty())
        request.headers.insert("authorization", authorization);
    return QCoro::waitFor((*match->handler)(request));
}

void TestPubsubController::messages_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("email");
    QTest::addColumn<QString>("historyId");
    const auto said = [](const char *row, const QByteArray &text, const QString &email,
                         const QString &historyId) {
        QTest::newRow(row) << pushOf(text.toBase64()) << email << historyId;
    };
    const QString user = u"user@example.com"_s;
    // As captured on the wire (wasifalam23/Q-tasks): padded base64, a number.
    said("as on the wire", R"({"emailAddress":"user@example.com","historyId":1006196})", user, u"1006196"_s);
    const QByteArray guide = R"({"emailAddress":"user@example.com","historyId":"9876543210"})";
    QTest::newRow("as in Google's guide") << QByteArray(
        R"({"message":{"data":")"
        + guide.toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals) + R"("}})")
                                          << user << u"9876543210"_s;
    // "?>~" makes both letters that the alphabets differ in.
    const QByteArray odd = R"({"x":"?>~??>","emailAddress":"user@example.com","historyId":7})";
    QVERIFY(odd.toBase64().contains('/') || odd.toBase64().contains('+'));
    said("base64", odd, user, u"7"_s);
    QTest::newRow("base64url") << pushOf(odd.toBase64(QByteArray::Base64UrlEncoding)) << user << u"7"_s;
    QTest::newRow("not padded") << pushOf(odd.toBase64(QByteArray::OmitTrailingEquals)) << user << u"7"_s;
    said("address as typed", R"({"emailAddress":"User@Example.com","historyId":7})", user, u"7"_s);
    said("beyond a double", R"({"emailAddress":"user@example.com","historyId":9007199254740993})", user,
         u"9007199254740993"_s);
    said("largest, a number", R"({"historyId" : 18446744073709551615, "emailAddress":"user@example.com"})",
         user, u"18446744073709551615"_s);
    said("largest, a text", R"({"historyId":"18446744073709551615","emailAddress":"user@example.com"})", user,
         u"18446744073709551615"_s);

    said("too large", R"({"emailAddress":"user@example.com","historyId":18446744073709551616})", {}, {});
    said("negative", R"({"emailAddress":"user@example.com","historyId":-1})", {}, {});
    said("a fraction", R"({"emailAddress":"user@example.com","historyId":1.5})", {}, {});
    said("no id", R"({"emailAddress":"user@example.com"})", {}, {});
    said("no address", R"({"historyId":7})", {}, {});
    said("not an address", R"({"emailAddress":"user","historyId":7})", {}, {});
    said("huge address", R"({"emailAddress":")" + QByteArray(400, 'u') + R"(@x","historyId":7})", {}, {});
    said("a list", "[1]", {}, {});
    said("no JSON inside", "hello", {}, {});
    QTest::newRow("not base64") << pushOf("!!!!") << QString() << QString();
    QTest::newRow("no data") << QByteArray(R"({"message":{"attributes":{"a":"b"}}})") << QString()
                             << QString();
    QTest::newRow("no message") << QByteArray("{}") << QString() << QString();
    QTest::newRow("no JSON") << QByteArray("<html>") << QString() << QString();
    QTest::newRow("empty") << QByteArray() << QString() << QString();
}

void TestPubsubController::messages()
{
    QFETCH(QByteArray, body);
    QFETCH(QString, email);
    QFETCH(QString, historyId);
    const std::optional<GmailPush> push = gmailPushFrom(body);
    QCOMPARE(push.has_value(), !email.isEmpty());
    if (!push)
        return;
    QCOMPARE(push->email, email);
    QCOMPARE(push->historyId, historyId);
}

void TestPubsubController::takesWhatGmailPushes()
{
    const Response response = push(goodPush(), "bearer  the-token ");
    QCOMPARE(response.status, 204);
    QVERIFY(response.body.isEmpty());
    QCOMPARE(m_token, "the-token");
    QCOMPARE(m_reported, (QMap<QString, QString>{{u"user@example.com"_s, u"1006196"_s}}));
    QCOMPARE(m_counted, QStringList{u"taken"_s});
}

/// Redelivery is normal: openclaw/gogcli#271, openclaw/gogcli#1140.
void TestPubsubController::theSamePushThreeTimes()
{
    for (int i = 0; i < 3; ++i)
        QCOMPARE(push(goodPush()).status, 204);
    QCOMPARE(m_counted, QStringList(3, u"taken"_s));
}

void TestPubsubController::nobodysMailbox()
{
    m_nobody = QSet<QString>{u"user@example.com"_s};
    QCOMPARE(push(goodPush()).status, 204);
    QCOMPARE(m_counted, QStringList{u"unknown"_s});
}

void TestPubsubController::withoutToken_data()
{
    QTest::addColumn<QByteArray>("authorization");
    QTest::newRow("no header") << QByteArray();
    QTest::newRow("other scheme") << QByteArray("Basic dXNlcjpwYXNz");
    QTest::newRow("nothing behind it") << QByteArray("Bearer ");
}

void TestPubsubController::withoutToken()
{
    QFETCH(QByteArray, authorization);
    const Response response = push(goodPush(), authorization);
    QCOMPARE(response.status, 401);
    QVERIFY(std::any_of(response.headers.begin(), response.headers.end(),
                        [](const auto &header) { return header.first == "WWW-Authenticate"; }));
    QVERIFY(m_reported.isEmpty());
    QCOMPARE(m_counted, QStringList{u"no_token"_s});
}

void TestPubsubController::refusals_data()
{
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("reason");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("counted");
    QTest::newRow("wrong token") << u"push_token_refused"_s << u"audience"_s << 403 << u"audience"_s;
    QTest::newRow("no keys") << u"keys_unavailable"_s << QString() << 503 << u"keys_unavailable"_s;
}

void TestPubsubController::refusals()
{
    QFETCH(QString, code);
    QFETCH(QString, reason);
    QFETCH(int, status);
    QFETCH(QString, counted);
    m_checked =
        fail(code, u"A sentence."_s, reason.isEmpty() ? QJsonObject() : QJsonObject{{u"reason"_s, reason}});
    const Response response = push(goodPush());
    QCOMPARE(response.status, status);
    QCOMPARE(QJsonDocument::fromJson(response.body)["code"_L1].toString(), code);
    QVERIFY(m_reported.isEmpty());
    QCOMPARE(m_counted, QStringList{counted});
}

/// Or it comes again until it expires after days: xorbitsai/xagent#704.
void TestPubsubController::whatCannotBeReadIsAcknowledged()
{
    QCOMPARE(push(pushOf("!!!!")).status, 204);
    QVERIFY(m_reported.isEmpty());
    QCOMPARE(m_counted, QStringList{u"unreadable"_s});
}

/// Then it must come again: xorbitsai/xagent#704.
void TestPubsubController::aDatabaseThatIsDown()
{
    m_nobody = fail(u"database_unavailable"_s, u"The database does not answer."_s);
    QCOMPARE(push(goodPush()).status, 503);
    QCOMPARE(m_counted, QStringList{u"database_unavailable"_s});
}

void TestPubsubController::off()
{
    m_router = std::make_unique<Router>();
    m_controller = std::make_unique<PubsubController>(*m_router, PubsubController::Ports{});
    const Response response = push(goodPush());
    QCOMPARE(response.status, 404);
    QVERIFY(response.body.contains("push.audience"));
}

void TestPubsubController::warnsOnceAMinute()
{
    push(goodPush(), {});
    push(pushOf("!!!!"));
    QCOMPARE(m_warnings.size(), 1);
    m_nowMs += 59'999;
    push(goodPush(), {});
    QCOMPARE(m_warnings.size(), 1);
    m_nowMs += 1;
    push(goodPush(), {});
    QCOMPARE(m_warnings.size(), 2);
    QVERIFY(m_warnings.constFirst().contains("authentication"_L1));
}

QTEST_GUILESS_MAIN(TestPubsubController)
#include "tst_pubsubcontroller.moc"
