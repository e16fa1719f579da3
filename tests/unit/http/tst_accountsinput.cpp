// SPDX-License-Identifier: Apache-2.0
// What the account routes refuse, with the field, and that nothing is half done.
#include "accountsfixture.h"

#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using http::Method;
using test::AccountsFixture;
using Answer = AccountsFixture::Answer;

class AccountsInputTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refusedFields_data();
    void refusedFields();
    void acceptedValues_data();
    void acceptedValues();
    void watchData_data();
    void watchData();
    void refusedBodies_data();
    void refusedBodies();
    void importStoresTheGoodLines();
    void importIsIdempotent();
    void refusedImports_data();
    void refusedImports();
    void importOfTheMostLines();
};

void AccountsInputTest::refusedFields_data()
{
    QTest::addColumn<QByteArray>("member"); // beside a good e-mail, or instead of it
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("field");
    const auto bad = [](const char *member, const char *field, const char *code = "invalid_request") {
        QTest::newRow(member) << QByteArray(member) << QString::fromLatin1(code)
                              << QString::fromLatin1(field);
    };
    bad(R"("email":null)", "email");
    bad(R"("email":7)", "email");
    bad(R"("email":"")", "email");
    bad(R"("email":"no address")", "email");
    bad(R"("email":["kim@example.com"])", "email");
    for (const char *field : {"project", "client"}) {
        for (const char *value : {"null", "7", "true", "\"\"", "[]", "{}"}) {
            const QByteArray member = '"' + QByteArray(field) + "\":" + value;
            bad(member.constData(), field);
        }
    }
    bad(R"("project":"secnd")", "project", "unknown_project");
    bad(R"("client":"web")", "client", "unknown_client");
    bad(R"("project":"second","client":"mobile")", "client", "unknown_client");
    bad(R"("language":7)", "language");
    bad(R"("language":"Korean, please")", "language");
    bad(R"("watch_expires_at":"soon")", "watch_expires_at");
    bad(R"("watch_expires_at":"1800000000000")", "watch_expires_at");
    bad(R"("watch_expires_at":1.5)", "watch_expires_at");
    bad(R"("watch_expires_at":true)", "watch_expires_at");
    bad(R"("watch_expires_at":1e18)", "watch_expires_at");
    bad(R"("history_id":7)", "history_id");
    bad(R"("history_id":"-1")", "history_id");
    bad(R"("history_id":"7.5")", "history_id");
    bad(R"("history_id":"18446744073709551616")", "history_id");
    bad(R"("topic":7)", "topic");
    bad(R"("topic":"gmail")", "topic");
    bad(R"("topic":"projects/p/topics/")", "topic");
    bad(R"("topic":"projects/p/topics/a b")", "topic");
    bad(R"("label_ids":7)", "label_ids");
    bad(R"("label_ids":{})", "label_ids");
    bad(R"("label_ids":[7])", "label_ids");
    bad(R"("label_ids":[""])", "label_ids");
    bad(R"("label_filter_behavior":7)", "label_filter_behavior");
    bad(R"("label_filter_behavior":"only")", "label_filter_behavior");
    bad(R"("labelFilterAction":"include")", "labelFilterAction");
    bad(R"("refresh_token":7)", "refresh_token");
    bad(R"("refresh_token":"")", "refresh_token");
    bad(R"("refresh_token":"a b")", "refresh_token");
    bad(R"("refresh_token":"a\n")", "refresh_token");
    bad(R"("grant":7)", "grant");
    bad(R"("grant":{})", "grant.kind");
    bad(R"("grant":{"kind":"magic"})", "grant.kind");
    bad(R"("grant":{"kind":"none"})", "grant.kind");
    bad(R"("grant":{"kind":"stored"})", "grant.refresh_token");
    bad(R"("grant":{"kind":"http"})", "grant.token_url");
    bad(R"("grant":{"kind":"http","token_url":"http://tokens.example/"})", "grant.token_url");
    bad(R"("grant":{"kind":"http","token_url":"file:///etc/passwd"})", "grant.token_url");
    bad(R"("grant":{"kind":"http","token_url":"https://me:pw@tokens.example/"})", "grant.token_url");
    bad(R"("grant":{"kind":"http","url":"https://tokens.example/"})", "url");
    bad(R"("grant":{"kind":"delegated"})", "grant.key_file");
    bad(R"("grant":{"kind":"delegated","key_file":"key.json"})", "grant.key_file");
    bad(R"("grant":{"kind":"delegated","key_file":"/k","sub":7})", "grant.sub");
    bad(R"("refresh_token":"t","grant":null)", "grant");
    bad(R"("id":"another")", "id");
    bad(R"("id":7)", "id");
    bad(R"("emial":"kim@example.com")", "emial");
    for (const char *field : {"state", "band", "attempts", "error", "subscriptions", "has_refresh_token"}) {
        const QByteArray member = '"' + QByteArray(field) + "\":null";
        bad(member.constData(), field);
    }
}

void AccountsInputTest::refusedFields()
{
    QFETCH(QByteArray, member);
    QFETCH(QString, code);
    QFETCH(QString, field);
    AccountsFixture engine;
    const bool isEmail = member.startsWith("\"email\"");
    const QByteArray body = '{' + (isEmail ? QByteArray() : R"("email":"kim@example.com",)") + member + '}';

    const Answer put = engine.call(Method::Put, u"/a1"_s, body);
    QVERIFY2(put.status == 422, put.body.constData());
    QCOMPARE(put.code(), code);
    QCOMPARE(put.field(), field);
    QVERIFY2(put.detail().contains(field), put.body.constData());
    QVERIFY(!put.body.contains("kim@example.com"));
    QCOMPARE(engine.call(Method::Get, u"/a1"_s).status, 404);

    // The same in a PATCH of a good account and in a line of an import.
    const Answer good =
        engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com","refresh_token":"t"})");
    QCOMPARE(good.status, 201);
    const Answer patch = engine.call(Method::Patch, u"/a1"_s, body);
    QCOMPARE(patch.code(), code);
    QCOMPARE(patch.field(), field);
    if (!member.startsWith("\"id\"")) {
        const Answer import = engine.call(Method::Post, u"/import"_s, R"({"id":"a1",)" + body.mid(1));
        QCOMPARE(import.status, 200);
        QCOMPARE(import.json[u"errors"_s][0][u"code"_s].toString(), code);
        QCOMPARE(import.json[u"errors"_s][0][u"field"_s].toString(), field);
    }
    QCOMPARE(engine.call(Method::Get, u"/a1"_s).json, good.json);
    QCOMPARE(engine.changes, 1);
}

// langgenius/dify#41162: -1 stood for "no watch yet" and was read as "never expires".
void AccountsInputTest::acceptedValues_data()
{
    QTest::addColumn<QByteArray>("member");
    QTest::addColumn<QString>("field");
    QTest::addColumn<QJsonValue>("shown");
    const auto row = [](const char *member, const QString &field, const QJsonValue &shown) {
        QTest::newRow(member) << QByteArray(member) << field << shown;
    };
    row(R"("watch_expires_at":null)", u"watch_expires_at"_s, 0);
    row(R"("watch_expires_at":0)", u"watch_expires_at"_s, 0);
    row(R"("watch_expires_at":-1)", u"watch_expires_at"_s, 0);
    row(R"("watch_expires_at":-1)", u"band"_s, u"none"_s);
    row(R"("watch_expires_at":1)", u"band"_s, u"expired"_s);
    row(R"("watch_expires_at":1.8e12)", u"watch_expires_at"_s, qint64(1'800'000'000'000));
    row(R"("history_id":"18446744073709551615")", u"history_id"_s, u"18446744073709551615"_s);
    row(R"("history_id":"")", u"history_id"_s, u""_s);
    row(R"("language":"pt-BR")", u"language"_s, u"pt-BR"_s);
    row(R"("project":"second")", u"project"_s, u"second"_s);
    row(R"("project":"default")", u"project"_s, u"default"_s);
    row(R"("project":"second","client":"default")", u"client"_s, u"default"_s);
    row(R"("client":"mobile")", u"client"_s, u"mobile"_s);
    row(R"("refresh_token":null)", u"has_refresh_token"_s, false);
}

void AccountsInputTest::acceptedValues()
{
    QFETCH(QByteArray, member);
    QFETCH(QString, field);
    QFETCH(QJsonValue, shown);
    AccountsFixture engine;
    const Answer answer = engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com",)" + member + '}');
    QVERIFY2(answer.status == 201, answer.body.constData());
    QCOMPARE(answer.json[field], shown);
}

void AccountsInputTest::watchData_data()
{
    QTest::addColumn<QByteArray>("members");
    QTest::addColumn<QJsonObject>("data");
    const auto row = [](const char *members, const QJsonObject &data) {
        QTest::newRow(members) << QByteArray(members) << data;
    };
    const QJsonArray two{u"INBOX"_s, u"Label_7"_s};
    row(R"("topic":"projects/p/topics/t")", {{u"topic"_s, u"projects/p/topics/t"_s}});
    row(R"("topic":null)", {});
    row(R"("topic":"")", {});
    row(R"("label_ids":["INBOX","Label_7","INBOX"])", {{u"label_ids"_s, two}});
    row(R"("label_ids":"INBOX, Label_7,")", {{u"label_ids"_s, two}});
    row(R"("label_ids":[])", {});
    row(R"("label_ids":"")", {});
    row(R"("label_filter_behavior":"EXCLUDE")", {{u"label_filter_behavior"_s, u"exclude"_s}});
    row(R"("label_filter_behavior":null)", {});
}

/// By PUT and by a line of an import alike, and kept by a PATCH that does not speak of it.
void AccountsInputTest::watchData()
{
    QFETCH(QByteArray, members);
    const auto dataOf = [](const Answer &answer) {
        return answer.json[u"subscriptions"_s].toArray().at(0).toObject()[u"data"_s].toObject();
    };
    AccountsFixture engine;
    const Answer put = engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com",)" + members + '}');
    QVERIFY2(put.status == 201, put.body.constData());
    QTEST(dataOf(put), "data");
    const Answer imported =
        engine.call(Method::Post, u"/import"_s, R"({"id":"a2","email":"lee@example.com",)" + members + "}\n");
    QCOMPARE(imported.json[u"created"_s].toInt(), 1);
    QTEST(dataOf(engine.call(Method::Get, u"/a2"_s)), "data");
    QTEST(dataOf(engine.call(Method::Patch, u"/a1"_s, R"({"language":"ko"})")), "data");
}

void AccountsInputTest::refusedBodies_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("code");
    QTest::newRow("empty") << u"/a1"_s << QByteArray() << 400 << u"malformed_json"_s;
    QTest::newRow("not JSON") << u"/a1"_s << QByteArray("{\"email\":") << 400 << u"malformed_json"_s;
    QTest::newRow("array") << u"/a1"_s << QByteArray("[]") << 400 << u"malformed_json"_s;
    QTest::newRow("new, without e-mail") << u"/a1"_s << QByteArray("{}") << 422 << u"invalid_request"_s;
    const QByteArray good = R"({"email":"kim@example.com"})";
    QTest::newRow("long id") << QString(u'/' + u"a"_s.repeated(257)) << good << 422 << u"invalid_request"_s;
    QTest::newRow("id with a line feed") << u"/a%0Ab"_s << good << 422 << u"invalid_request"_s;
    QTest::newRow("id with a space at its end") << u"/a%20"_s << good << 422 << u"invalid_request"_s;
}

void AccountsInputTest::refusedBodies()
{
    QFETCH(QString, path);
    QFETCH(QByteArray, body);
    QFETCH(int, status);
    QFETCH(QString, code);
    AccountsFixture engine;
    const Answer answer = engine.call(Method::Put, path, body);
    QCOMPARE(answer.status, status);
    QCOMPARE(answer.code(), code);
    QCOMPARE(engine.call(Method::Get, u""_s).json[u"total"_s].toInt(), 0);
}

void AccountsInputTest::importStoresTheGoodLines()
{
    AccountsFixture engine;
    engine.call(Method::Put, u"/old"_s, R"({"email":"old@example.com"})");
    const Answer answer =
        engine.call(Method::Post, u"/import"_s,
                    "{\"id\":\"a1\",\"email\":\"kim@example.com\",\"refresh_token\":\"t\"}\r\n"
                    "\n"
                    "{\"id\":\"a2\",\"email\":\"nonsense\"}\n"
                    "{\"id\":\"a3\"\n"
                    "{\"email\":\"lee@example.com\"}\n"
                    "{\"id\":\"a4\"}\n"
                    "7\n"
                    "{\"id\":\"old\",\"language\":\"ko\"}\n"
                    "{\"id\":\"a5\",\"email\":\"lee@example.com\"}");
    QCOMPARE(answer.status, 200);
    QCOMPARE(answer.json[u"created"_s].toInt(), 2);
    QCOMPARE(answer.json[u"updated"_s].toInt(), 1);
    QCOMPARE(answer.json[u"failed"_s].toInt(), 5);
    QStringList errors;
    for (const QJsonValue error : answer.json[u"errors"_s].toArray()) {
        errors.append(u"%1 %2 %3"_s.arg(error[u"line"_s].toInt())
                          .arg(error[u"code"_s].toString(), error[u"field"_s].toString())
                          .trimmed());
        QVERIFY(!error[u"text"_s].toString().isEmpty());
    }
    QCOMPARE(errors,
             QStringList({u"3 invalid_request email"_s, u"4 malformed_json"_s, u"5 invalid_request id"_s,
                          u"6 invalid_request email"_s, u"7 malformed_json"_s}));
    QVERIFY(!answer.body.contains("@example.com"));
    QCOMPARE(engine.call(Method::Get, u""_s).json[u"total"_s].toInt(), 3);
    QCOMPARE(engine.call(Method::Get, u"/a1"_s).json[u"has_refresh_token"_s], QJsonValue(true));
    QCOMPARE(engine.changes, 2);
}

void AccountsInputTest::importIsIdempotent()
{
    AccountsFixture engine;
    const QByteArray lines = "{\"id\":\"a1\",\"email\":\"kim@example.com\",\"refresh_token\":\"t\"}\n"
                             "{\"id\":\"a2\",\"email\":\"lee@example.com\",\"refresh_token\":\"u\"}\n";
    QCOMPARE(engine.call(Method::Post, u"/import"_s, lines).json[u"created"_s].toInt(), 2);
    engine.call(Method::Post, u"/a2/pause"_s);
    const QJsonObject before = engine.call(Method::Get, u""_s).json;
    engine.clock.advance(1'000);
    const Answer again = engine.call(Method::Post, u"/import"_s, lines);
    QCOMPARE(again.json[u"unchanged"_s].toInt(), 2);
    QCOMPARE(again.json[u"created"_s].toInt() + again.json[u"updated"_s].toInt(), 0);
    QCOMPARE(engine.call(Method::Get, u""_s).json, before);
}

void AccountsInputTest::refusedImports_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("blank lines") << QByteArray("\n \r\n\n");
    QTest::newRow("too many lines")
        << QByteArray("{\"id\":\"a\",\"email\":\"kim@example.com\"}\n").repeated(1001);
}

void AccountsInputTest::refusedImports()
{
    QFETCH(QByteArray, body);
    AccountsFixture engine;
    const Answer answer = engine.call(Method::Post, u"/import"_s, body);
    QCOMPARE(answer.status, 422);
    QCOMPARE(answer.code(), u"invalid_request"_s);
    QCOMPARE(engine.call(Method::Get, u""_s).json[u"total"_s].toInt(), 0);
}

void AccountsInputTest::importOfTheMostLines()
{
    AccountsFixture engine;
    QByteArray body;
    for (int i = 0; i < 1000; ++i)
        body += R"({"id":"a)" + QByteArray::number(i) + R"(","email":"kim@example.com"})" + '\n';
    QCOMPARE(engine.call(Method::Post, u"/import"_s, body).json[u"created"_s].toInt(), 1000);
}

QTEST_GUILESS_MAIN(AccountsInputTest)
#include "tst_accountsinput.moc"
