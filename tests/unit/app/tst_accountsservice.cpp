// SPDX-License-Identifier: Apache-2.0
#include "app/hostservices.h"
#include "http/accountview.h"
#include "support/fakeclock.h"
#include "support/testdatabase.h"

#include <tidekeeper/callback.h>

#include <QCoro/QCoroTask>
#include <QtCore/QJsonArray>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

constexpr qint64 windowMs = 6 * 86'400'000LL;

struct Answer {
    int count = 0;
    Status status;
    QJsonObject json;
};

} // namespace

/// What a plugin gets of accounts and devices.
class AccountsServiceTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void accountAsTheApiShowsIt();
    void devicesWithTheirTokens();
    void damagedDeviceStopsNoOther();
    void removesDevice();
    void unknownNames();

private:
    template<typename Call>
    Answer ask(Call call)
    {
        Answer answer;
        call(whenDone(this, [&answer](const Status &status, const QJsonObject &json) {
            ++answer.count;
            answer.status = status;
            answer.json = json;
        }));
        if (!QTest::qWaitFor([&answer] { return answer.count > 0; }))
            qFatal("no answer");
        return answer;
    }
    Answer devices(const QString &account = u"a1"_s)
    {
        return ask([&](Reply *reply) { m_service->devices(account, reply); });
    }
    void addDevice(const QByteArray &token, const QString &sealedFor = u"a1"_s)
    {
        m_clock.advance(1);
        store::DeviceChange change{*m_sealing->seal(token, sealedFor), m_sealing->keyId(),
                                   m_sealing->valueFingerprint(token), u"android"_s, u"ko"_s};
        QVERIFY(QCoro::waitFor(m_devices->put(u"a1"_s, change, m_clock.nowMs())).has_value());
    }

    test::FakeClock m_clock;
    std::unique_ptr<test::TestDatabase> m_database;
    std::unique_ptr<store::AccountStore> m_accounts;
    std::unique_ptr<store::DeviceStore> m_devices;
    std::shared_ptr<const oauth::Sealing> m_sealing =
        std::make_shared<oauth::Sealing>(QByteArray(oauth::Sealing::keyBytes, 'k'));
    std::unique_ptr<app::AccountsService> m_service;
};

void AccountsServiceTest::init()
{
    m_database = std::make_unique<test::TestDatabase>();
    m_accounts = std::make_unique<store::AccountStore>(m_database->database());
    m_devices = std::make_unique<store::DeviceStore>(m_database->database());
    m_service = std::make_unique<app::AccountsService>(*m_accounts, *m_devices, m_sealing, m_clock,
                                                       [] { return windowMs; });
    store::AccountChange change;
    change.email = u"kim@example.com"_s;
    change.language = u"ko"_s;
    change.watchExpiresAt = m_clock.nowMs() + windowMs / 2;
    QVERIFY(QCoro::waitFor(m_accounts->put(u"a1"_s, change, m_clock.nowMs())).has_value());
}

void AccountsServiceTest::accountAsTheApiShowsIt()
{
    const Answer answer = ask([&](Reply *reply) { m_service->account(u"a1"_s, reply); });
    QVERIFY(answer.status.ok());
    const store::AccountRow row = *QCoro::waitFor(m_accounts->find(u"a1"_s));
    QCOMPARE(answer.json, protocol::toJson(http::accountView(row, m_clock.nowMs(), windowMs)));
    QCOMPARE(answer.json[u"language"_s].toString(), u"ko"_s);
}

void AccountsServiceTest::devicesWithTheirTokens()
{
    QCOMPARE(devices().json, (QJsonObject{{u"devices"_s, QJsonArray()}}));
    addDevice("push-token-1");
    const QJsonObject device = devices().json[u"devices"_s][0].toObject();
    QCOMPARE(device.keys(),
             (QStringList{u"id"_s, u"language"_s, u"last_seen_at"_s, u"platform"_s, u"token"_s}));
    QCOMPARE(device[u"token"_s].toString(), u"push-token-1"_s);
    QCOMPARE(device[u"platform"_s].toString(), u"android"_s);
    QCOMPARE(device[u"last_seen_at"_s].toInteger(), m_clock.nowMs());
}

// KanishJebaMathewM/Truxify#9275: one bad device prevented the delivery to all others.
void AccountsServiceTest::damagedDeviceStopsNoOther()
{
    addDevice("push-token-1");
    addDevice("push-token-2", u"another account"_s); // does not open here
    addDevice("push-token-3");
    const QJsonArray answered = devices().json[u"devices"_s].toArray();
    QCOMPARE(answered.size(), 2);
    QCOMPARE(answered[0][u"token"_s].toString(), u"push-token-3"_s);
    QCOMPARE(answered[1][u"token"_s].toString(), u"push-token-1"_s);
}

void AccountsServiceTest::removesDevice()
{
    addDevice("push-token-1");
    const QString id = devices().json[u"devices"_s][0][u"id"_s].toString();
    const auto remove = [&] {
        return ask([&](Reply *reply) { m_service->removeDevice(u"a1"_s, id, reply); });
    };
    QVERIFY(remove().status.ok());
    QVERIFY(devices().json[u"devices"_s].toArray().isEmpty());
    QCOMPARE(remove().status.code, u"not_found"_s);
}

void AccountsServiceTest::unknownNames()
{
    QCOMPARE(devices(u"nobody"_s).status.code, u"not_found"_s);
    const Answer answer = ask([&](Reply *reply) { m_service->account(u"nobody"_s, reply); });
    QCOMPARE(answer.status.code, u"not_found"_s);
    QCOMPARE(answer.json, QJsonObject());
}

QTEST_GUILESS_MAIN(AccountsServiceTest)
#include "tst_accountsservice.moc"
