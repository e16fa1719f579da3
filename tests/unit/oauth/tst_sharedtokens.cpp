// SPDX-License-Identifier: Apache-2.0
// Several engines on one Redis want a token of one account.
#include "oauth/accesstokens.h"
#include "support/fakeclock.h"
#include "support/localhttp.h"
#include "support/testredis.h"

#include <QCoro/QCoroTimer>
#include <QtCore/QElapsedTimer>
#include <QtCore/QFile>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

#include <chrono>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::oauth;
using tidekeeper::test::LocalHttp;

namespace {

class OneGrant final : public GrantSource {
public:
    QCoro::Task<Result<QString>> refreshToken(QString) override { co_return u"1//refresh"_s; }
    QCoro::Task<Result<>> rotate(QString, QString, QString) override { co_return Result<>(); }
};

QCoro::Task<> sleepFor(qint64 ms)
{
    co_await QCoro::sleepFor(std::chrono::milliseconds(ms));
}

std::shared_ptr<const Sealing> sealing(char filler)
{
    return std::make_shared<const Sealing>(QByteArray(Sealing::keyBytes, filler));
}

/// What an engine has of its own.
struct Engine {
    Engine(const QString &redisUrl, const QString &oauthUrl, const QString &secretFile, const Clock &clock,
           char key = 'k')
        : connection(*redis::Endpoint::fromUrl(redisUrl)),
          library(connection, "tidekeeper_lease", redis::FunctionLibrary::embedded(u"lease.lua"_s)),
          leases(library), shared(connection, leases, sealing(key), sleepFor),
          endpoint(http, oauthUrl, 1'500),
          tokens(endpoint, grants, {{u"default"_s, {{u"default"_s, {u"id"_s, secretFile}}}}}, clock, &shared)
    {
        connection.open();
    }

    redis::RedisConnection connection;
    redis::FunctionLibrary library;
    queue::Leases leases;
    SharedTokens shared;
    net::HttpClient http;
    TokenEndpoint endpoint;
    OneGrant grants;
    AccessTokens tokens;
};

core::Account account(const QString &id = u"a"_s)
{
    core::Account account;
    account.id = id;
    account.email = id + u"@example.com"_s;
    account.grantKind = core::GrantKind::Stored;
    return account;
}

} // namespace

class TestSharedTokens : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();

    void oneRequestAcrossEngines();
    void aTokenOfAnotherEngineIsTakenUntilNinetyPercent();
    void losersWaitForASlowWinner();
    void losersTakeTheirTurnAfterAFailure();
    void aLeaseIsFreedByItsOwnerOnly();
    void aDeadHolderIsWaitedOut();
    void rejectedAndChangedAreAskedAnew();
    void redisSeesNeitherTokenNorAddress();
    void anotherKeyAsksForItself();
    void withoutRedisEachForItself();

private:
    std::unique_ptr<Engine> engine(char key = 'k')
    {
        auto made = std::make_unique<Engine>(m_redis.url(), m_server->url(), m_folder.filePath(u"secret"_s),
                                             m_clock, key);
        if (!QCoro::waitFor(made->connection.waitReady(5'000)))
            qFatal("Redis does not answer.");
        return made;
    }
    /// Both ask at once.
    QList<TokenResult> race(std::initializer_list<Engine *> engines)
    {
        QList<TokenResult> results;
        for (Engine *each : engines)
            each->tokens.forAccount(account()).then([&](const TokenResult &got) { results.append(got); });
        const qsizetype wanted = static_cast<qsizetype>(engines.size());
        if (!QTest::qWaitFor([&] { return results.size() == wanted; }, 30'000))
            qFatal("Not everybody got an answer.");
        return results;
    }
    qsizetype requests() const { return m_server->requests().size(); }

    test::TestRedis m_redis;
    QTemporaryDir m_folder;
    std::unique_ptr<LocalHttp> m_server;
    test::FakeClock m_clock;
    int m_issued = 0;
};

void TestSharedTokens::initTestCase()
{
    QVERIFY(m_redis.start());
    QFile secret(m_folder.filePath(u"secret"_s));
    QVERIFY(secret.open(QIODevice::WriteOnly));
    secret.write("GOCSPX-secret");
}

void TestSharedTokens::init()
{
    m_redis.cli({u"FLUSHDB"_s});
    m_issued = 0;
    m_server = std::make_unique<LocalHttp>([this](const LocalHttp::Request &) {
        return LocalHttp::answer(
            200, R"({"access_token":"ya29.)" + QByteArray::number(++m_issued) + R"(","expires_in":1000})");
    });
}

void TestSharedTokens::oneRequestAcrossEngines()
{
    const auto a = engine();
    const auto b = engine();
    const auto c = engine();
    for (const TokenResult &result : race({a.get(), b.get(), c.get()}))
        QCOMPARE(result->token, u"ya29.1"_s);
    QCOMPARE(requests(), 1);
}

void TestSharedTokens::aTokenOfAnotherEngineIsTakenUntilNinetyPercent()
{
    const auto a = engine();
    const auto b = engine();
    const TokenResult first = QCoro::waitFor(a->tokens.forAccount(account()));
    QVERIFY(!first->kept);
    m_clock.advance(800'000);
    const TokenResult second = QCoro::waitFor(b->tokens.forAccount(account()));
    QVERIFY(second->kept); // nothing was learnt about the endpoint now
    QCOMPARE(second->expiresAt, first->expiresAt);
    QCOMPARE(requests(), 1);
    m_clock.advance(
        100'000); // 90 % of its life, by the engine's clock; the key in Redis goes at the same age
    const QByteArray key = m_redis.cli({u"--scan"_s, u"--pattern"_s, u"tk:{token:*"_s}).trimmed();
    const qint64 leftMs = m_redis.cli({u"PTTL"_s, QString::fromLatin1(key)}).toLongLong();
    QVERIFY2(leftMs > 890'000 && leftMs <= 900'000, qPrintable(QString::number(leftMs)));
    m_redis.cli({u"DEL"_s, QString::fromLatin1(key)});
    QCOMPARE(QCoro::waitFor(b->tokens.forAccount(account()))->token, u"ya29.2"_s);
}

/// onyx-dot-app/onyx#13143: the lease outlives the request, so that no second one starts while it is under way.
void TestSharedTokens::losersWaitForASlowWinner()
{
    const auto a = engine();
    const auto b = engine();
    m_server->setScript([](const LocalHttp::Request &) { return LocalHttp::Answer{}; }); // silent
    QElapsedTimer timer;
    timer.start();
    QString first;
    a->tokens.forAccount(account()).then([&](const TokenResult &got) { first = got.error().code; });
    QTRY_COMPARE(requests(), 1);
    const QByteArray lease = m_redis.cli({u"--scan"_s, u"--pattern"_s, u"tk:{lease:token:*"_s}).trimmed();
    QVERIFY(m_redis.cli({u"PTTL"_s, QString::fromLatin1(lease)}).toLongLong() > TokenEndpoint::deadlineMs);
    QString second;
    b->tokens.forAccount(account()).then(
        [&](const TokenResult &got) { second = got ? got->token : got.error().code; });
    QTRY_COMPARE_WITH_TIMEOUT(first, u"timeout"_s, 15'000);
    QCOMPARE(requests(), 1); // b did not ask while a was waiting, for the whole deadline
    QVERIFY(timer.elapsed() >= 1'400);
    m_server->setScript([](const LocalHttp::Request &) {
        return LocalHttp::answer(200, R"({"access_token":"ya29.late","expires_in":1000})");
    });
    QTRY_COMPARE_WITH_TIMEOUT(second, u"ya29.late"_s, 15'000);
    QCOMPARE(requests(), 2);
}

void TestSharedTokens::losersTakeTheirTurnAfterAFailure()
{
    const auto a = engine();
    const auto b = engine();
    m_server->setScript([this](const LocalHttp::Request &) {
        return ++m_issued == 1 ? LocalHttp::answer(503, "{}")
                               : LocalHttp::answer(200, R"({"access_token":"ya29.2","expires_in":1000})");
    });
    const QList<TokenResult> results = race({a.get(), b.get()});
    QCOMPARE(int(results[0].has_value()) + int(results[1].has_value()), 1);
    QCOMPARE(requests(), 2);
}

/// getsentry/sentry-mcp#823: two holders never look alike, and a late one does not free another's lease.
void TestSharedTokens::aLeaseIsFreedByItsOwnerOnly()
{
    const auto a = engine();
    const auto b = engine();
    const QString name = SharedTokens::nameOf(u"somebody"_s);
    SharedTokens::Turn first = QCoro::waitFor(a->shared.turn(name, {}));
    QVERIFY(first.hold);
    const QString key = u"tk:{lease:token:"_s + name + u'}';
    QCOMPARE(m_redis.cli({u"DEL"_s, key}), "1"); // a stalled past its lease
    SharedTokens::Turn second = QCoro::waitFor(b->shared.turn(name, {}));
    QVERIFY(second.hold);
    first.hold.reset();
    QTest::qWait(100);
    QCOMPARE(m_redis.cli({u"EXISTS"_s, key}), "1"); // still b's
    second.hold.reset();
    QTRY_COMPARE(m_redis.cli({u"EXISTS"_s, key}), "0");
}

void TestSharedTokens::aDeadHolderIsWaitedOut()
{
    const auto a = engine();
    const QString name = SharedTokens::nameOf(u"somebody"_s);
    const Result<queue::LeaseState> dead =
        QCoro::waitFor(a->leases.acquire(u"token:"_s + name, "an engine that was killed", 700));
    QVERIFY(dead->held);
    const SharedTokens::Turn turn = QCoro::waitFor(a->shared.turn(name, {}));
    QVERIFY(turn.hold && !turn.timedOut);
}

void TestSharedTokens::rejectedAndChangedAreAskedAnew()
{
    const auto a = engine();
    const auto b = engine();
    QCOMPARE(QCoro::waitFor(a->tokens.forAccount(account()))->token, u"ya29.1"_s);
    QCOMPARE(QCoro::waitFor(b->tokens.forAccount(account(), u"ya29.1"_s))->token, u"ya29.2"_s);
    QCOMPARE(QCoro::waitFor(a->tokens.forAccount(account(), u"ya29.1"_s))->token, u"ya29.2"_s); // b's
    QCOMPARE(requests(), 2);
    core::Account moved = account();
    ++moved.generation; // a PUT with another refresh token, mailbox or client
    QCOMPARE(QCoro::waitFor(a->tokens.forAccount(moved))->token, u"ya29.3"_s);
}

void TestSharedTokens::redisSeesNeitherTokenNorAddress()
{
    const auto a = engine();
    QVERIFY(QCoro::waitFor(a->tokens.forAccount(account())).has_value());
    QTRY_VERIFY(m_redis.cli({u"KEYS"_s, u"*"_s}).contains("tk:{token:")); // nobody waits for it
    const QByteArray keys = m_redis.cli({u"KEYS"_s, u"*"_s});
    QVERIFY(!keys.contains("example.com"));
    for (const QByteArray &key : keys.split('\n')) {
        if (key.startsWith("tk:{token:"))
            QVERIFY(!m_redis.cli({u"GET"_s, QString::fromLatin1(key.trimmed())}).contains("ya29"));
    }
}

void TestSharedTokens::anotherKeyAsksForItself()
{
    const auto a = engine();
    const auto b = engine('x');
    QVERIFY(QCoro::waitFor(a->tokens.forAccount(account())).has_value());
    QCOMPARE(QCoro::waitFor(b->tokens.forAccount(account()))->token, u"ya29.2"_s);
}

void TestSharedTokens::withoutRedisEachForItself()
{
    const auto a = engine();
    m_redis.stop();
    QCOMPARE(QCoro::waitFor(a->tokens.forAccount(account()))->token, u"ya29.1"_s);
    QCOMPARE(QCoro::waitFor(a->tokens.forAccount(account()))->token, u"ya29.1"_s);
    QCOMPARE(requests(), 1);
    QVERIFY(m_redis.start());
}

QTEST_GUILESS_MAIN(TestSharedTokens)
#include "tst_sharedtokens.moc"
