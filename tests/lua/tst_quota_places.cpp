// SPDX-License-Identifier: Apache-2.0
// Ten calls in flight for one account, never eleven: places that are held, given back and lost with a dead client.
#include "quotaredis.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs;
constexpr qint64 msUs = 1'000;
constexpr qint64 secondUs = QuotaRedis::secondUs;
constexpr qint64 leaseUs = 60 * secondUs;

/// Callers on connections of their own that hold a place, use it and give it back, until each had one.
class Crowd {
public:
    Crowd(QuotaRedis &redis, int connections, int callers) : m_callers(callers)
    {
        redis::Endpoint endpoint;
        endpoint.path = redis.server().socketPath();
        for (int i = 0; i < connections; ++i) {
            m_connections.push_back(std::make_unique<redis::RedisConnection>(
                endpoint, redis::ConnectionOptions{.commandTimeoutMs = 10'000}));
            m_connections.back()->open();
        }
    }
    bool isReady()
    {
        return std::all_of(m_connections.begin(), m_connections.end(), [](const auto &connection) {
            return QCoro::waitFor(connection->waitReady(10'000));
        });
    }
    void start()
    {
        for (int caller = 0; caller < m_callers; ++caller)
            ask(*m_connections[size_t(caller) % m_connections.size()]);
    }

    int served = 0;
    int refused = 0;
    int inFlight = 0;
    int mostInFlight = 0;
    QByteArrayList wrong; ///< answers that nobody expected

private:
    void ask(redis::RedisConnection &connection)
    {
        connection.send(QuotaRedis::words(-1, QuotaAsk(1).withPlace()),
                        [this, &connection](const Result<redis::Value> &answer) {
                            if (answer)
                                decided(connection, QuotaRedis::decision(*answer));
                        });
    }
    void decided(redis::RedisConnection &connection, const QuotaDecision &decision)
    {
        if (decision.granted) {
            mostInFlight = std::max(mostInFlight, ++inFlight);
            use(connection, decision.slot);
        } else if (decision.refusedBy == "concurrency" && ++refused < 100'000) {
            ask(connection);
        } else {
            wrong.append(decision.refusedBy + decision.error);
        }
    }
    /// The call to the API takes a round trip here.
    void use(redis::RedisConnection &connection, const QByteArray &slot)
    {
        connection.send({"PING"}, [this, &connection, slot](const Result<redis::Value> &answer) {
            --inFlight;
            if (answer)
                giveBack(connection, slot);
        });
    }
    void giveBack(redis::RedisConnection &connection, const QByteArray &slot)
    {
        connection.send({"FCALL", "tidekeeper_release_v1", "1", QuotaRedis::slotsKey(), slot},
                        [this](const Result<redis::Value> &released) {
                            if (released && released->integer != 1)
                                wrong.append("not held");
                            ++served;
                        });
    }

    int m_callers;
    std::vector<std::unique_ptr<redis::RedisConnection>> m_connections;
};

} // namespace

class TestQuotaPlaces : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_redis.start()); }
    void init() { m_redis.restart(); }

    void neverMoreThanTen();
    void tenOfFiftyAtOnce();
    void everyAccountHasItsOwn();
    void endOfLeaseGivesBack();
    void waitProlongsTheLease();
    void toldWaitIsEnough();
    void releaseGivesBackOnce();
    void releaseMayBeTheFirstCall();
    void sameIdSamePlace();
    void idBelongsToItsKindOfRequest();
    void noPlaceNoCharge();
    void refusedForElseTakesNoPlace_data();
    void refusedForElseTakesNoPlace();
    void longestWaitNamesTheRefuser();
    void asManyAsThePolicySays();
    void asManyAsTheAccountsOwnLimitsSay();
    void stepBackKeepsTheLease();
    void shadowModeNeedsNoPlace();
    void listOfPlacesExpires();

private:
    QList<QuotaDecision> holdAt(qint64 nowUs, int places)
    {
        QList<QuotaDecision> held;
        for (int i = 0; i < places; ++i)
            held.append(m_redis.at(nowUs, QuotaAsk(1).withPlace()));
        return held;
    }
    qint64 release(const QByteArray &slot, const QByteArray &account = "alice")
    {
        return m_redis.integer({"FCALL", "tidekeeper_release_v1", "1", QuotaRedis::slotsKey(account), slot});
    }
    qint64 listed() { return m_redis.integer({"ZCARD", QuotaRedis::slotsKey()}); }
    void overridePlaces(qint64 nowUs, qint64 places)
    {
        const redis::Value done =
            m_redis.callAt(nowUs, "tidekeeper_override",
                           {QuotaRedis::accountKey(), QuotaRedis::projectKey(), QuotaRedis::policyKey()},
                           {"360000", "5450", "180000", QByteArray::number(places)});
        QVERIFY2(!done.isError(), done.text);
    }

    QuotaRedis m_redis{{u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"no"_s}};
};

// googleapis/google-api-dotnet-client#1982: "Too many concurrent requests for user" while units are far from used up.
void TestQuotaPlaces::neverMoreThanTen()
{
    Crowd crowd(m_redis, 5, 50);
    QVERIFY(crowd.isReady());
    crowd.start();
    QTRY_VERIFY_WITH_TIMEOUT(crowd.served == 50 || !crowd.wrong.isEmpty(), 20'000);
    QVERIFY2(crowd.wrong.isEmpty(), crowd.wrong.join(' '));
    QCOMPARE(crowd.mostInFlight, 10);
    QVERIFY(crowd.refused > 0);
    QCOMPARE(listed(), 0);
}

void TestQuotaPlaces::tenOfFiftyAtOnce()
{
    QSet<QByteArray> slots;
    for (const QuotaDecision &decision : holdAt(t0, 50)) { // of one microsecond
        QCOMPARE(decision.granted, slots.size() < 10 || slots.contains(decision.slot));
        if (decision.granted) {
            QVERIFY(!slots.contains(decision.slot));
            slots.insert(decision.slot);
            QCOMPARE(decision.slotExpiresUs, t0 + leaseUs);
        } else {
            QCOMPARE(decision.refusedBy, QByteArray("concurrency"));
            QCOMPARE(decision.retryAfterMs, 60'000);
            QCOMPARE(decision.slot, QByteArray());
            QCOMPARE(decision.slotExpiresUs, 0);
        }
    }
    QCOMPARE(slots.size(), 10);
    QVERIFY(m_redis.at(t0, QuotaAsk(1)).granted); // who does not ask for a place is not limited by them
}

void TestQuotaPlaces::everyAccountHasItsOwn()
{
    holdAt(t0, 10);
    const QuotaDecision bob = m_redis.at(t0, QuotaAsk(1).of("bob").withPlace());
    QVERIFY(bob.granted);
    QVERIFY(!m_redis.at(t0, QuotaAsk(1).withPlace()).granted);
    QCOMPARE(release(bob.slot, "bob"), 1);
    QVERIFY(!m_redis.at(t0, QuotaAsk(1).withPlace()).granted); // it was none of Alice's
}

/// Ten clients died with their places.
void TestQuotaPlaces::endOfLeaseGivesBack()
{
    holdAt(t0, 10);
    const QuotaDecision refused = m_redis.at(t0 + leaseUs - 1, QuotaAsk(1).withPlace());
    QVERIFY(!refused.granted);
    QCOMPARE(refused.retryAfterMs, 1);
    for (const QuotaDecision &decision : holdAt(t0 + leaseUs, 10))
        QVERIFY(decision.granted);
    QVERIFY(!m_redis.at(t0 + leaseUs, QuotaAsk(1).withPlace()).granted);
    QCOMPARE(listed(), 10); // the dead ones are not kept
}

void TestQuotaPlaces::waitProlongsTheLease()
{
    m_redis.setLimits({.accountCapacity = 100, .accountRefill = 600}); // 10 units a second
    m_redis.at(t0, QuotaAsk(100));
    const QuotaDecision booked = m_redis.at(t0, QuotaAsk(20).waiting(5'000).withPlace());
    QCOMPARE(booked.waitMs, 2'000);
    QCOMPARE(booked.slotExpiresUs, t0 + 2 * secondUs + leaseUs);
    QCOMPARE(release(booked.slot), 1);

    // The longest wait: the place is there to its very end.
    const QuotaDecision longest = m_redis.at(t0, QuotaAsk(100).waiting(30'000).withPlace());
    QCOMPARE(longest.waitMs, 12'000);
    const qint64 endUs = t0 + 12 * secondUs + leaseUs;
    m_redis.setLimits({.slots = 1});
    QCOMPARE(m_redis.at(endUs - 1, QuotaAsk(1).withPlace()).refusedBy, QByteArray("concurrency"));
    QVERIFY(m_redis.at(endUs, QuotaAsk(1).withPlace()).granted);
}

void TestQuotaPlaces::toldWaitIsEnough()
{
    for (int i = 0; i < 10; ++i)
        holdAt(t0 + i * 7'123'457 / 10, 1);
    qint64 nowUs = t0 + 10 * secondUs;
    for (int i = 0; i < 10; ++i) {
        const QuotaDecision refused = m_redis.at(nowUs, QuotaAsk(1).withPlace());
        QCOMPARE(refused.refusedBy, QByteArray("concurrency"));
        QCOMPARE(m_redis.at(nowUs + (refused.retryAfterMs - 1) * msUs, QuotaAsk(1).withPlace()).refusedBy,
                 QByteArray("concurrency"));
        nowUs += refused.retryAfterMs * msUs;
        QVERIFY(m_redis.at(nowUs, QuotaAsk(1).withPlace()).granted);
    }
}

void TestQuotaPlaces::releaseGivesBackOnce()
{
    const auto held = holdAt(t0, 10);
    QCOMPARE(release(held[4].slot), 1);
    QVERIFY(m_redis.at(t0 + 1, QuotaAsk(1).withPlace()).granted);
    QCOMPARE(release(held[4].slot), 0); // late: the place is another's by now
    QCOMPARE(release("nobody's"), 0);
    QCOMPARE(release(""), 0);
    QVERIFY(!m_redis.at(t0 + 1, QuotaAsk(1).withPlace()).granted);
    QCOMPARE(listed(), 10);
}

/// A restarted server loads the library anew, and the first that asks it may be a client that gives back.
void TestQuotaPlaces::releaseMayBeTheFirstCall()
{
    const QuotaDecision held = m_redis.at(t0, QuotaAsk(1).withPlace());
    const QByteArray library = m_redis.command({"FUNCTION", "DUMP"}).text;
    m_redis.command({"FUNCTION", "RESTORE", library, "FLUSH"});
    QCOMPARE(release(held.slot), 1);
}

void TestQuotaPlaces::sameIdSamePlace()
{
    const QuotaDecision first = m_redis.at(t0, QuotaAsk(5).withPlace().withId("x"));
    QVERIFY(first.granted);
    const QuotaDecision again = m_redis.at(t0 + secondUs, QuotaAsk(5).withPlace().withId("x"));
    QVERIFY(again.granted);
    QCOMPARE(again.slot, first.slot);
    QCOMPARE(again.slotExpiresUs, first.slotExpiresUs);
    QCOMPARE(again.accountLevel, 355'000);
    QCOMPARE(again.nowUs, first.nowUs);
    QCOMPARE(listed(), 1);
    // Also when no place is left for anyone else.
    holdAt(t0 + secondUs, 9);
    QVERIFY(!m_redis.at(t0 + secondUs, QuotaAsk(5).withPlace().withId("y")).granted);
    QCOMPARE(m_redis.at(t0 + secondUs, QuotaAsk(5).withPlace().withId("x")).slot, first.slot);
    // A refusal is not kept: with a place free, the same id gets it.
    QCOMPARE(release(first.slot), 1);
    QVERIFY(m_redis.at(t0 + secondUs, QuotaAsk(5).withPlace().withId("y")).granted);
}

void TestQuotaPlaces::idBelongsToItsKindOfRequest()
{
    QVERIFY(m_redis.at(t0, QuotaAsk(5).withId("x")).granted);
    QVERIFY(m_redis.at(t0, QuotaAsk(5).withPlace().withId("x")).error.startsWith("TKARG id "));
    QVERIFY(m_redis.at(t0, QuotaAsk(5).withPlace().withId("y")).granted);
    QVERIFY(m_redis.at(t0, QuotaAsk(6).withPlace().withId("y")).error.startsWith("TKARG id "));
    QVERIFY(m_redis.at(t0, QuotaAsk(5).bulk().withPlace().withId("y")).error.startsWith("TKARG id "));
    QCOMPARE(listed(), 1);
}

void TestQuotaPlaces::noPlaceNoCharge()
{
    const QuotaDecision last = holdAt(t0, 10).last();
    const qint64 written = m_redis.appendedBytes();
    for (int i = 0; i < 20; ++i) {
        const QuotaDecision refused = m_redis.at(t0, QuotaAsk(40).waiting(30'000).withPlace().withId("x"));
        QCOMPARE(refused.refusedBy, QByteArray("concurrency"));
        QCOMPARE(refused.accountLevel, last.accountLevel);
        QCOMPARE(refused.projectLevel, last.projectLevel);
    }
    QCOMPARE(m_redis.appendedBytes(), written);
}

void TestQuotaPlaces::refusedForElseTakesNoPlace_data()
{
    QTest::addColumn<QByteArray>("refusedBy");
    QTest::addColumn<qint64>("cost");
    QTest::addColumn<bool>("late");
    QTest::newRow("account") << QByteArray("account") << qint64(200) << false;
    QTest::newRow("project") << QByteArray("project") << qint64(60) << false;
    QTest::newRow("never") << QByteArray("never") << qint64(361) << false;
    QTest::newRow("late") << QByteArray("late") << qint64(1) << true;
    QTest::newRow("frozen") << QByteArray("account_frozen") << qint64(1) << false;
}

void TestQuotaPlaces::refusedForElseTakesNoPlace()
{
    QFETCH(QByteArray, refusedBy);
    QFETCH(qint64, cost);
    QFETCH(bool, late);
    m_redis.setLimits({.projectCapacity = 400});
    m_redis.at(t0, QuotaAsk(200));
    m_redis.at(t0, QuotaAsk(150).of("bob"));
    if (refusedBy == "account_frozen")
        m_redis.report(t0, {.retryAfterMs = 5'000});
    QuotaAsk ask = QuotaAsk(cost).withPlace();
    if (late)
        ask.before(t0 - 1);
    const QuotaDecision refused = m_redis.at(t0, ask);
    QVERIFY(!refused.granted);
    QCOMPARE(refused.refusedBy, refusedBy);
    QCOMPARE(refused.slot, QByteArray());
    QCOMPARE(listed(), 0);
}

void TestQuotaPlaces::longestWaitNamesTheRefuser()
{
    m_redis.setLimits({.accountCapacity = 100, .accountRefill = 60, .slots = 1}); // a unit a second
    QVERIFY(m_redis.at(t0, QuotaAsk(100).withPlace()).granted);
    QuotaDecision refused = m_redis.at(t0, QuotaAsk(10).withPlace());
    QCOMPARE(refused.refusedBy, QByteArray("concurrency"));
    QCOMPARE(refused.retryAfterMs, 60'000);
    refused = m_redis.at(t0, QuotaAsk(90).withPlace());
    QCOMPARE(refused.refusedBy, QByteArray("account"));
    QCOMPARE(refused.retryAfterMs, 90'000);
    QVERIFY(m_redis.at(t0 + 90 * secondUs, QuotaAsk(90).withPlace()).granted);
}

void TestQuotaPlaces::asManyAsThePolicySays()
{
    m_redis.setLimits({.slots = 3});
    holdAt(t0, 3);
    QVERIFY(!m_redis.at(t0, QuotaAsk(1).withPlace()).granted);
    // Fewer by a live change: those who hold one keep it, and the told wait is until enough have ended.
    holdAt(t0 + 60 * secondUs, 1);
    for (int i = 1; i < 3; ++i)
        holdAt(t0 + (60 + i) * secondUs, 1);
    m_redis.publish({.slots = 1});
    const QuotaDecision refused = m_redis.at(t0 + 63 * secondUs, QuotaAsk(1).withPlace());
    QCOMPARE(refused.retryAfterMs, 59'000);
    QVERIFY(!m_redis.at(t0 + 122 * secondUs - 1, QuotaAsk(1).withPlace()).granted);
    QVERIFY(m_redis.at(t0 + 122 * secondUs, QuotaAsk(1).withPlace()).granted);
}

void TestQuotaPlaces::asManyAsTheAccountsOwnLimitsSay()
{
    overridePlaces(t0, 2);
    holdAt(t0, 2);
    QCOMPARE(m_redis.at(t0, QuotaAsk(1).withPlace()).refusedBy, QByteArray("concurrency"));
    overridePlaces(t0, 12);
    for (const QuotaDecision &decision : holdAt(t0, 10))
        QVERIFY(decision.granted);
    QCOMPARE(m_redis.at(t0, QuotaAsk(1).withPlace()).refusedBy, QByteArray("concurrency"));
}

/// A place is leased by a time that goes on: what the server's clock does neither frees nor blocks it.
void TestQuotaPlaces::stepBackKeepsTheLease()
{
    holdAt(t0, 10);
    const qint64 hourUs = 3'600 * secondUs;
    QVERIFY(!m_redis.at(t0 - hourUs, QuotaAsk(1).withPlace()).granted);
    QVERIFY(!m_redis.at(t0 - hourUs + leaseUs - 1, QuotaAsk(1).withPlace()).granted);
    const QuotaDecision next = m_redis.at(t0 - hourUs + leaseUs, QuotaAsk(1).withPlace());
    QVERIFY(next.granted);
    QCOMPARE(next.slotExpiresUs, t0 - hourUs + 2 * leaseUs); // by the server's clock of now
}

void TestQuotaPlaces::shadowModeNeedsNoPlace()
{
    m_redis.setLimits({.enforce = false, .slots = 1});
    QVERIFY(!m_redis.at(t0, QuotaAsk(10).withPlace()).slot.isEmpty());
    const QuotaDecision shadow = m_redis.at(t0, QuotaAsk(10).withPlace());
    QVERIFY(shadow.granted);
    QCOMPARE(shadow.refusedBy, QByteArray("concurrency"));
    QCOMPARE(shadow.slot, QByteArray());
    QCOMPARE(shadow.accountLevel, 350'000);
}

void TestQuotaPlaces::listOfPlacesExpires()
{
    m_redis.setLimits({.accountCapacity = 1'000, .accountRefill = 2'000});
    m_redis.at(t0, QuotaAsk(1'000));
    const QuotaDecision booked = m_redis.at(t0, QuotaAsk(1'000).waiting(30'000).withPlace());
    QCOMPARE(booked.waitMs, 30'000);
    const qint64 ttl = m_redis.integer({"PTTL", QuotaRedis::slotsKey()});
    QVERIFY2(ttl >= 90'000 && ttl <= 180'000, QByteArray::number(ttl)); // no earlier than the last lease
}

QTEST_GUILESS_MAIN(TestQuotaPlaces)
#include "tst_quota_places.moc"
