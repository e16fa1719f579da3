// SPDX-License-Identifier: Apache-2.0
// The devices of an account: what is shown, what is refused with its field, and that no token ever comes back.
#include "accountsfixture.h"

#include <QCoro/QCoroTask>
#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using http::Method;
using test::AccountsFixture;
using Answer = AccountsFixture::Answer;

class DevicesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void registersAndShows();
    void sameTokenIsSameDevice();
    void oneTokenServesSeveralAccounts();
    void removes();
    void unknownNames();
    void leavingAccount();
    void storedSealed();
    void refused_data();
    void refused();

private:
    Answer add(const QByteArray &body, const QString &account = u"a1"_s)
    {
        return m_engine->call(Method::Post, u'/' + account + u"/devices"_s, body);
    }
    Answer list(const QString &account = u"a1"_s)
    {
        return m_engine->call(Method::Get, u'/' + account + u"/devices"_s);
    }

    std::unique_ptr<AccountsFixture> m_engine;
};

void DevicesTest::init()
{
    m_engine = std::make_unique<AccountsFixture>();
    for (const QString &id : {u"/a1"_s, u"/a2"_s})
        QCOMPARE(m_engine->call(Method::Put, id, R"({"email":"kim@example.com"})").status, 201);
}

void DevicesTest::registersAndShows()
{
    QCOMPARE(list().json, (QJsonObject{{u"devices"_s, QJsonArray()}}));
    const Answer added = add(R"({"token":"push-token-1","platform":"android","language":"ko"})");
    QCOMPARE(added.status, 201);
    const QJsonObject device = added.json[u"devices"_s][0].toObject();
    QCOMPARE(device.keys(), (QStringList{u"id"_s, u"language"_s, u"last_seen_at"_s, u"platform"_s}));
    QVERIFY(!device[u"id"_s].toString().isEmpty());
    QCOMPARE(device[u"platform"_s].toString(), u"android"_s);
    QCOMPARE(device[u"language"_s].toString(), u"ko"_s);
    QCOMPARE(device[u"last_seen_at"_s].toInteger(), m_engine->now());
    QVERIFY(!added.body.contains("push-token"));
    QCOMPARE(list().status, 200);
    QCOMPARE(list().json, added.json);
}

void DevicesTest::sameTokenIsSameDevice()
{
    const Answer first = add(R"({"token":"push-token-1","platform":"android","language":"ko"})");
    m_engine->clock.advance(60'000);
    const Answer again = add(R"({"token":"push-token-1","language":null})");
    QCOMPARE(again.status, 200);
    QCOMPARE(again.json[u"devices"_s].toArray().size(), 1);
    const QJsonValue device = again.json[u"devices"_s][0];
    QCOMPARE(device[u"id"_s], first.json[u"devices"_s][0][u"id"_s]);
    QCOMPARE(device[u"platform"_s].toString(), u"android"_s);
    QCOMPARE(device[u"language"_s].toString(), QString());
    QCOMPARE(device[u"last_seen_at"_s].toInteger(), m_engine->now());
    QCOMPARE(add(R"({"token":"push-token-2"})").json[u"devices"_s].toArray().size(), 2);
}

void DevicesTest::oneTokenServesSeveralAccounts()
{
    QCOMPARE(add(R"({"token":"push-token-1"})", u"a1"_s).status, 201);
    QCOMPARE(add(R"({"token":"push-token-1"})", u"a2"_s).status, 201);
    const QJsonValue first = list(u"a1"_s).json[u"devices"_s][0];
    const QJsonValue second = list(u"a2"_s).json[u"devices"_s][0];
    QVERIFY(first.isObject() && second.isObject());
    QVERIFY(first[u"id"_s] != second[u"id"_s]);
}

void DevicesTest::removes()
{
    const Answer added = add(R"({"token":"push-token-1"})");
    const QString path = u"/devices/"_s + added.json[u"devices"_s][0][u"id"_s].toString();
    QCOMPARE(m_engine->call(Method::Delete, u"/a2"_s + path).status, 404);
    const Answer removed = m_engine->call(Method::Delete, u"/a1"_s + path);
    QCOMPARE(removed.status, 200);
    QCOMPARE(removed.json, (QJsonObject{{u"devices"_s, QJsonArray()}}));
    const Answer again = m_engine->call(Method::Delete, u"/a1"_s + path);
    QCOMPARE(again.status, 404);
    QCOMPARE(again.code(), u"not_found"_s);
}

void DevicesTest::unknownNames()
{
    for (const Answer &answer : {list(u"nobody"_s), add(R"({"token":"push-token-1"})", u"nobody"_s),
                                 m_engine->call(Method::Delete, u"/nobody/devices/d1"_s),
                                 m_engine->call(Method::Delete, u"/a1/devices/d1"_s)}) {
        QCOMPARE(answer.status, 404);
        QCOMPARE(answer.code(), u"not_found"_s);
        QVERIFY(!answer.body.contains("push-token"));
    }
}

void DevicesTest::leavingAccount()
{
    QCOMPARE(m_engine->call(Method::Delete, u"/a1"_s).status, 202);
    const Answer refused = add(R"({"token":"push-token-1"})");
    QCOMPARE(refused.status, 409);
    QCOMPARE(refused.code(), u"conflict"_s);
    QCOMPARE(refused.json[u"state"_s].toString(), u"leaving"_s);
}

void DevicesTest::storedSealed()
{
    add(R"({"token":"push-token-1"})");
    const auto devices = QCoro::waitFor(m_engine->devices.list(u"a1"_s));
    QVERIFY(devices && devices->size() == 1);
    const store::Device &device = devices->constFirst();
    QVERIFY(!device.sealedToken.contains("push-token"));
    const auto opened = m_engine->sealing.unseal(device.sealedToken, device.keyId, u"a1"_s);
    QVERIFY(opened);
    QCOMPARE(*opened, QByteArray("push-token-1"));
    QVERIFY(!m_engine->sealing.unseal(device.sealedToken, device.keyId, u"a2"_s));
    QVERIFY(!m_engine->database.sql(u"SELECT fingerprint FROM devices"_s).toString().contains(u"push"_s));
}

void DevicesTest::refused_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("says");
    const auto bad = [](const QByteArray &body, const QString &field, const QString &says = {},
                        int status = 422) {
        QTest::newRow(body.left(60).constData()) << body << status << field << says;
    };
    const auto token = u"token"_s;
    bad("{}", token);
    bad(R"({"platform":"ios"})", token);
    bad(R"({"token":null})", token);
    bad(R"({"token":7})", token);
    bad(R"({"token":["secret-1"]})", token);
    bad(R"({"token":""})", token, u"empty"_s);
    bad(R"({"token":"secret 1"})", token, u"space"_s);
    bad(R"({"token":" secret-1"})", token, u"space"_s);
    bad(R"({"token":"secret-1\n"})", token, u"control"_s);
    bad(R"({"token":")" + QByteArray("secret-1").repeated(513) + R"("})", token, u"4096"_s);
    bad(R"({"token":"secret-1","platform":7})", u"platform"_s);
    bad(R"({"token":"secret-1","platform":{}})", u"platform"_s);
    bad(R"({"token":"secret-1","platform":")" + QByteArray(65, 'p') + R"("})", u"platform"_s, u"64"_s);
    bad(R"({"token":"secret-1","language":true})", u"language"_s);
    bad(R"({"token":"secret-1","language":"Korean, please"})", u"language"_s);
    bad(R"({"token":"secret-1","id":"d1"})", u"id"_s, u"read-only"_s);
    bad(R"({"token":"secret-1","last_seen_at":1})", u"last_seen_at"_s, u"read-only"_s);
    bad(R"({"tokn":"secret-1"})", u"tokn"_s, u"\"token\""_s);
    bad(R"({"token":"secret-1","platfrom":"ios"})", u"platfrom"_s, u"\"platform\""_s);
    bad(R"(["secret-1"])", {}, {}, 400);
    bad(R"({"token":"secret-1")", {}, {}, 400); // not closed
}

void DevicesTest::refused()
{
    QFETCH(QByteArray, body);
    QFETCH(QString, field);
    QFETCH(QString, says);
    const Answer answer = add(body);
    QTEST(answer.status, "status");
    QCOMPARE(answer.code(), answer.status == 400 ? u"malformed_json"_s : u"invalid_request"_s);
    QCOMPARE(answer.field(), field);
    QVERIFY2(answer.detail().contains(field) && answer.detail().contains(says), answer.body.constData());
    QVERIFY2(!answer.body.contains("secret"), answer.body.constData());
    QCOMPARE(list().json, (QJsonObject{{u"devices"_s, QJsonArray()}}));
}

QTEST_GUILESS_MAIN(DevicesTest)
#include "tst_devices.moc"
