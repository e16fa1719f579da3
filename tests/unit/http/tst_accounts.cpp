// SPDX-License-Identifier: Apache-2.0
// The account routes: life of an account, and what is shown of it.
#include "accountsfixture.h"
#include "protocol/accountview.h"

#include <QtCore/QJsonArray>
#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using http::Method;
using test::AccountsFixture;
using Answer = AccountsFixture::Answer;

class AccountsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void createdThenUpdated();
    void showsEveryFieldOfTheContract();
    void viewSurvivesTheWire();
    void refreshTokenIsWriteOnly();
    void refreshTokenIsKeptRemovedOrReplaced();
    void patchChangesOnlyWhatItCarries();
    void grants_data();
    void grants();
    void idsAreTheCallersOwn();
    void unknownAccount_data();
    void unknownAccount();
    void pauseAndResume();
    void deleteMeansLeaving();
    void listFiltersAndPages();
    void listRefuses_data();
    void listRefuses();
    void secretsNeverShow();
};

void AccountsTest::createdThenUpdated()
{
    AccountsFixture engine;
    const Answer created = engine.call(Method::Put, u"/a1"_s, R"({"email":" Kim@Example.com "})");
    QCOMPARE(created.status, 201);
    QCOMPARE(created.json[u"id"_s].toString(), u"a1"_s);
    QCOMPARE(created.json[u"email"_s].toString(), u"kim@example.com"_s);
    QCOMPARE(engine.changes, 1);
    const Answer same = engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com"})");
    QCOMPARE(same.status, 200);
    QCOMPARE(same.json, created.json);
    QCOMPARE(engine.changes, 1);
    const Answer updated = engine.call(Method::Put, u"/a1"_s, R"({"language":"ko"})");
    QCOMPARE(updated.status, 200);
    QCOMPARE(updated.json[u"language"_s].toString(), u"ko"_s);
    QCOMPARE(updated.json[u"email"_s].toString(), u"kim@example.com"_s);
    QCOMPARE(engine.changes, 2);
    QCOMPARE(engine.call(Method::Get, u"/a1"_s).json, updated.json);
}

void AccountsTest::showsEveryFieldOfTheContract()
{
    AccountsFixture engine;
    const qint64 expiresAt = engine.now() + 3'600'000;
    engine.call(Method::Put, u"/a1"_s,
                R"({"email":"kim@example.com","project":"second","language":"ko","refresh_token":"1//abc",)"
                R"("history_id":"18446744073709551615","watch_expires_at":)"
                    + QByteArray::number(expiresAt) + '}');
    core::Subscription subscription = *QCoro::waitFor(engine.accounts.subscription(u"a1/gmail"_s));
    subscription.attempts = 3;
    subscription.deferrals = 2;
    subscription.lastSuccessAt = engine.now() - 5;
    subscription.nextAttemptAt = engine.now() + 60'000;
    subscription.errorClass = u"transient"_s;
    subscription.errorCode = u"503"_s;
    subscription.errorText = u"Gmail did not answer."_s;
    QVERIFY(QCoro::waitFor(engine.accounts.compareAndSet(subscription)).has_value());

    const QJsonObject json = engine.call(Method::Get, u"/a1"_s).json;
    QCOMPARE(json[u"project"_s].toString(), u"second"_s);
    QCOMPARE(json[u"client"_s].toString(), u"default"_s);
    QCOMPARE(json[u"state"_s].toString(), u"active"_s);
    QCOMPARE(json[u"band"_s].toString(), u"critical"_s);
    QCOMPARE(json[u"grant_kind"_s].toString(), u"stored"_s);
    QCOMPARE(json[u"has_refresh_token"_s], QJsonValue(true));
    QCOMPARE(json[u"watch_expires_at"_s], QJsonValue(expiresAt));
    QCOMPARE(json[u"history_id"_s], QJsonValue(u"18446744073709551615"_s));
    QCOMPARE(json[u"last_success_at"_s], QJsonValue(engine.now() - 5));
    QVERIFY(json[u"next_target_at"_s].isDouble());
    QCOMPARE(json[u"next_attempt_at"_s], QJsonValue(engine.now() + 60'000));
    QCOMPARE(json[u"attempts"_s], QJsonValue(3));
    QCOMPARE(json[u"deferrals"_s], QJsonValue(2));
    QCOMPARE(json[u"error"_s][u"class"_s].toString(), u"transient"_s);
    QCOMPARE(json[u"error"_s][u"code"_s].toString(), u"503"_s);
    QCOMPARE(json[u"error"_s][u"text"_s].toString(), u"Gmail did not answer."_s);
    QCOMPARE(json[u"subscriptions"_s].toArray().size(), 1);
    QCOMPARE(json[u"subscriptions"_s][0][u"id"_s].toString(), u"a1/gmail"_s);
    QCOMPARE(json[u"subscriptions"_s][0][u"expires_at"_s], QJsonValue(expiresAt));
    QVERIFY(!json.contains(u"refresh_token"_s));
}

void AccountsTest::viewSurvivesTheWire()
{
    AccountsFixture engine;
    engine.call(Method::Put, u"/a1"_s,
                R"({"email":"kim@example.com","history_id":"7","refresh_token":"1//abc"})");
    const QJsonObject account = engine.call(Method::Get, u"/a1"_s).json;
    QCOMPARE(protocol::toJson(protocol::accountFrom(account)), account);
    const QJsonObject list = engine.call(Method::Get, u""_s).json;
    QCOMPARE(protocol::toJson(protocol::accountListFrom(list)), list);
    const QJsonObject imported = engine.call(Method::Post, u"/import"_s, "{}\n{\"id\":\"a1\"}\n").json;
    QCOMPARE(protocol::toJson(protocol::importFrom(imported)), imported);
}

void AccountsTest::refreshTokenIsWriteOnly()
{
    AccountsFixture engine;
    engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com","refresh_token":"1//secret"})");
    const store::GrantChange grant = *QCoro::waitFor(engine.accounts.sealedGrant(u"a1"_s));
    QVERIFY(!grant.sealedRefreshToken.contains("1//secret"));
    QCOMPARE(*engine.sealing.unseal(grant.sealedRefreshToken, grant.keyId, u"a1"_s), QByteArray("1//secret"));
}

void AccountsTest::refreshTokenIsKeptRemovedOrReplaced()
{
    AccountsFixture engine;
    const auto has = [&] { return engine.call(Method::Get, u"/a1"_s).json[u"has_refresh_token"_s].toBool(); };
    engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com","refresh_token":"one"})");
    QVERIFY(has());
    engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com"})");
    QVERIFY(has());
    engine.call(Method::Put, u"/a1"_s, R"({"refresh_token":null})");
    QVERIFY(!has());
    QCOMPARE(engine.call(Method::Get, u"/a1"_s).json[u"grant_kind"_s].toString(), u"none"_s);

    const qint64 generation = QCoro::waitFor(engine.accounts.find(u"a1"_s))->account.generation;
    QVERIFY(QCoro::waitFor(engine.accounts.setState(u"a1"_s, core::AccountState::NeedsReauth,
                                                    u"invalid_grant"_s, generation, engine.now()))
                .has_value());
    QCOMPARE(engine.call(Method::Get, u"/a1"_s).json[u"state"_s].toString(), u"needs_reauth"_s);
    const QJsonObject json = engine.call(Method::Patch, u"/a1"_s, R"({"refresh_token":"two"})").json;
    QCOMPARE(json[u"state"_s].toString(), u"active"_s);
    QVERIFY(json[u"next_target_at"_s].toInteger() <= engine.now());
    QVERIFY(has());
}

void AccountsTest::patchChangesOnlyWhatItCarries()
{
    AccountsFixture engine;
    engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com","language":"ko","history_id":"7"})");
    const Answer patched = engine.call(Method::Patch, u"/a1"_s, R"({"client":"mobile"})");
    QCOMPARE(patched.status, 200);
    QCOMPARE(patched.json[u"client"_s].toString(), u"mobile"_s);
    QCOMPARE(patched.json[u"language"_s].toString(), u"ko"_s);
    QCOMPARE(patched.json[u"history_id"_s].toString(), u"7"_s);
    const Answer cleared = engine.call(Method::Patch, u"/a1"_s, R"({"language":null,"history_id":null})");
    QCOMPARE(cleared.json[u"language"_s].toString(), QString());
    QCOMPARE(cleared.json[u"history_id"_s].toString(), QString());
    QCOMPARE(engine.call(Method::Patch, u"/a1"_s, "{}").status, 200);
}

void AccountsTest::grants_data()
{
    QTest::addColumn<QByteArray>("grant");
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QJsonObject>("shown");
    QTest::newRow("stored") << QByteArray(R"({"kind":"stored","refresh_token":"t"})") << u"stored"_s
                            << QJsonObject();
    QTest::newRow("http") << QByteArray(R"({"kind":"http","token_url":"https://tokens.example/x"})")
                          << u"http"_s << QJsonObject{{u"token_url"_s, u"https://tokens.example/x"_s}};
    QTest::newRow("http on this machine")
        << QByteArray(R"({"kind":"http","token_url":"http://127.0.0.1:9/"})") << u"http"_s
        << QJsonObject{{u"token_url"_s, u"http://127.0.0.1:9/"_s}};
    QTest::newRow("delegated") << QByteArray(R"({"kind":"delegated","key_file":"/etc/key.json"})")
                               << u"delegated"_s << QJsonObject{{u"key_file"_s, u"/etc/key.json"_s}};
    QTest::newRow("none") << QByteArray("null") << u"none"_s << QJsonObject();
}

void AccountsTest::grants()
{
    QFETCH(QByteArray, grant);
    QFETCH(QString, kind);
    QFETCH(QJsonObject, shown);
    AccountsFixture engine;
    const Answer answer =
        engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com","grant":)" + grant + '}');
    QVERIFY2(answer.status == 201, answer.body.constData());
    QCOMPARE(answer.json[u"grant_kind"_s].toString(), kind);
    QCOMPARE(answer.json[u"grant"_s].toObject(), shown);
    QCOMPARE(answer.json[u"has_refresh_token"_s].toBool(), kind == "stored"_L1);
}

void AccountsTest::idsAreTheCallersOwn()
{
    AccountsFixture engine;
    for (const QString &id : {u"tenant%2F7"_s, u"%ED%95%9C"_s, u"kim@example.com"_s, u"a%20b"_s}) {
        const Answer answer = engine.call(Method::Put, u'/' + id, R"({"email":"kim@example.com"})");
        QVERIFY2(answer.status == 201, answer.body.constData());
        QCOMPARE(answer.json[u"id"_s].toString(), QUrl::fromPercentEncoding(id.toLatin1()));
        QCOMPARE(engine.call(Method::Get, u'/' + id).status, 200);
    }
    const Answer repeated = engine.call(Method::Put, u"/a1"_s, R"({"id":"a1","email":"kim@example.com"})");
    QCOMPARE(repeated.status, 201);
}

void AccountsTest::unknownAccount_data()
{
    QTest::addColumn<Method>("method");
    QTest::addColumn<QString>("path");
    QTest::newRow("get") << Method::Get << u"/no@example.com"_s;
    QTest::newRow("patch") << Method::Patch << u"/no@example.com"_s;
    QTest::newRow("delete") << Method::Delete << u"/no@example.com"_s;
    QTest::newRow("pause") << Method::Post << u"/no@example.com/pause"_s;
    QTest::newRow("resume") << Method::Post << u"/no@example.com/resume"_s;
}

void AccountsTest::unknownAccount()
{
    QFETCH(Method, method);
    QFETCH(QString, path);
    AccountsFixture engine;
    const Answer answer = engine.call(method, path, "{}");
    QCOMPARE(answer.status, 404);
    QCOMPARE(answer.code(), u"not_found"_s);
    QVERIFY(!answer.body.contains("example.com"));
    QCOMPARE(engine.changes, 0);
}

void AccountsTest::pauseAndResume()
{
    AccountsFixture engine;
    engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com"})");
    const Answer paused = engine.call(Method::Post, u"/a1/pause"_s);
    QCOMPARE(paused.status, 200);
    QCOMPARE(paused.json[u"state"_s].toString(), u"paused"_s);
    QVERIFY(QCoro::waitFor(engine.accounts.due(engine.now(), 9))->isEmpty());
    QCOMPARE(engine.call(Method::Post, u"/a1/pause"_s).status, 200);
    QCOMPARE(engine.call(Method::Post, u"/a1/resume"_s).json[u"state"_s].toString(), u"active"_s);
    QCOMPARE(QCoro::waitFor(engine.accounts.due(engine.now(), 9))->size(), 1);
    engine.call(Method::Delete, u"/a1"_s);
    const Answer refused = engine.call(Method::Post, u"/a1/resume"_s);
    QCOMPARE(refused.status, 409);
    QCOMPARE(refused.code(), u"conflict"_s);
    QCOMPARE(refused.json[u"state"_s].toString(), u"leaving"_s);
}

void AccountsTest::deleteMeansLeaving()
{
    AccountsFixture engine;
    engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com","refresh_token":"t"})");
    const Answer gone = engine.call(Method::Delete, u"/a1"_s);
    QCOMPARE(gone.status, 202);
    QCOMPARE(gone.json[u"state"_s].toString(), u"leaving"_s);
    // The token is still needed to stop the watch.
    QVERIFY(QCoro::waitFor(engine.accounts.sealedGrant(u"a1"_s)).has_value());
    QCOMPARE(engine.call(Method::Delete, u"/a1"_s).status, 202);
    QCOMPARE(engine.call(Method::Patch, u"/a1"_s, R"({"language":"ko"})").status, 409);
    QCOMPARE(engine.call(Method::Put, u"/a1"_s, "{}").json[u"state"_s].toString(), u"active"_s);
}

void AccountsTest::listFiltersAndPages()
{
    AccountsFixture engine;
    for (int i = 0; i < 5; ++i) {
        engine.call(Method::Put, u"/a%1"_s.arg(i),
                    R"({"email":"kim@example.com","watch_expires_at":)"
                        + QByteArray::number(engine.now() + i * 86'400'000LL + 1) + '}');
    }
    QStringList seen;
    QString cursor;
    do {
        const Answer page = engine.call(Method::Get, u"?limit=2&cursor="_s + cursor);
        QCOMPARE(page.status, 200);
        QCOMPARE(page.json[u"total"_s].toInt(), 5);
        for (const QJsonValue account : page.json[u"accounts"_s].toArray())
            seen.append(account[u"id"_s].toString());
        cursor = page.json[u"next_cursor"_s].toString();
    } while (!cursor.isEmpty());
    QCOMPARE(seen, QStringList({u"a0"_s, u"a1"_s, u"a2"_s, u"a3"_s, u"a4"_s}));

    const auto total = [&](const QString &query) {
        return engine.call(Method::Get, query).json[u"total"_s].toInt();
    };
    QCOMPARE(total(u"?band=critical"_s), 1);
    QCOMPARE(total(u"?expiring_within=25h"_s), 2);
    QCOMPARE(total(u"?expiring_within=90000000"_s), 2); // 25 h in ms
    QCOMPARE(total(u"?state=paused"_s), 0);
    QCOMPARE(total(u"?q=A3"_s), 1);
    QCOMPARE(total(u"?q=kim%40example.com"_s), 5);
    QCOMPARE(total(u"?project=second"_s), 0);
    QCOMPARE(total(u"?due=true"_s),
             2); // the others have days to spare, and a target of their own in the first
    QCOMPARE(total(u"?due=false"_s), 5);
    const QJsonObject page = engine.call(Method::Get, u"?sort=-expires_at&limit=1"_s).json;
    QCOMPARE(page[u"accounts"_s][0][u"id"_s].toString(), u"a4"_s);
    QCOMPARE(page[u"facets"_s][u"band"_s][u"critical"_s].toInt(), 1);
    QCOMPARE(page[u"facets"_s][u"state"_s][u"active"_s].toInt(), 5);
    QVERIFY(engine.call(Method::Get, u""_s).json[u"next_cursor"_s].isNull());
}

void AccountsTest::listRefuses_data()
{
    QTest::addColumn<QString>("query");
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("text");
    QTest::newRow("unknown parameter") << u"?stat=active"_s << u"stat"_s << u"\"state\""_s;
    QTest::newRow("band") << u"?band=bad"_s << u"band"_s << u"healthy, delayed"_s;
    QTest::newRow("state") << u"?state=bad"_s << u"state"_s << u"needs_reauth"_s;
    QTest::newRow("sort") << u"?sort=bad"_s << u"sort"_s << u"expires_at"_s;
    QTest::newRow("limit text") << u"?limit=many"_s << u"limit"_s << u"1000"_s;
    QTest::newRow("limit 0") << u"?limit=0"_s << u"limit"_s << u"1000"_s;
    QTest::newRow("limit 1001") << u"?limit=1001"_s << u"limit"_s << u"1000"_s;
    QTest::newRow("expiring_within") << u"?expiring_within=soon"_s << u"expiring_within"_s << u"24h"_s;
    QTest::newRow("expiring_within < 0") << u"?expiring_within=-5"_s << u"expiring_within"_s << u"24h"_s;
    QTest::newRow("due") << u"?due=yes"_s << u"due"_s << u"true or false"_s;
    QTest::newRow("cursor") << u"?cursor=abc"_s << u"cursor"_s << u"next_cursor"_s;
}

void AccountsTest::listRefuses()
{
    QFETCH(QString, query);
    QFETCH(QString, field);
    QFETCH(QString, text);
    AccountsFixture engine;
    const Answer answer = engine.call(Method::Get, query);
    QCOMPARE(answer.status, 422);
    QCOMPARE(answer.code(), u"invalid_request"_s);
    QCOMPARE(answer.field(), field);
    QVERIFY2(answer.detail().contains(text), answer.body.constData());
}

void AccountsTest::secretsNeverShow()
{
    AccountsFixture engine;
    QList<Answer> answers;
    answers << engine.call(Method::Put, u"/a1"_s, R"({"email":"kim@example.com","refresh_token":"S3CRET-1"})")
            << engine.call(Method::Patch, u"/a1"_s, R"({"refresh_token":"S3CRET-2"})")
            << engine.call(Method::Patch, u"/a1"_s,
                           R"({"grant":{"kind":"stored","refresh_token":"S3CRET-3"}})")
            << engine.call(Method::Put, u"/a1"_s, R"({"refresh_token":"S3CRET 4"})")
            << engine.call(Method::Put, u"/a1"_s, R"({"refresh_token":["S3CRET-5"]})")
            << engine.call(Method::Put, u"/a1"_s, R"({"refresh_token_":"S3CRET-6"})")
            << engine.call(Method::Put, u"/a1"_s, R"({"S3CRET/7":""})")
            << engine.call(Method::Post, u"/import"_s,
                           R"({"id":"a2","email":"x","refresh_token":"S3CRET-8"})")
            << engine.call(Method::Post, u"/import"_s, R"({"id":"a2","refresh_token":"S3CRET-9")")
            << engine.call(Method::Get, u"/a1"_s) << engine.call(Method::Get, u""_s)
            << engine.call(Method::Post, u"/a1/pause"_s) << engine.call(Method::Delete, u"/a1"_s);
    for (const Answer &answer : answers)
        QVERIFY2(!answer.body.contains("S3CRET"), answer.body.constData());
}

QTEST_GUILESS_MAIN(AccountsTest)
#include "tst_accounts.moc"
