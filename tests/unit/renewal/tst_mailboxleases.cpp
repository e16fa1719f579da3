// SPDX-License-Identifier: Apache-2.0
#include "queue/leases.h"
#include "queueredis.h"
#include "renewal/mailboxleases.h"

#include <QCoro/QCoroTimer>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::renewal;

namespace {

const QString mailbox = mailboxKey(u"a@example.com"_s);

} // namespace

class TestMailboxLeases : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init() { m_redis.clear(); }

    void keyTellsNoAddress();
    void oneHolderAtATime();
    void waitsForTheHolder();
    void keptAliveWhileHeld();
    void deadHolderLapses();
    void redisAway();

private:
    Result<MailboxHold> take(const QString &key = mailbox) { return QCoro::waitFor(m_mailboxes->take(key)); }
    qint64 waitedMs() const { return m_waitedMs; }

    test::QueueRedis m_redis;
    std::unique_ptr<queue::Leases> m_leases;
    std::unique_ptr<RedisMailboxLeases> m_mailboxes;
    qint64 m_waitedMs = 0;
    std::function<void()> m_onSleep;
};

void TestMailboxLeases::initTestCase()
{
    QVERIFY(m_redis.start());
    m_leases = std::make_unique<queue::Leases>(m_redis.leaseLibrary());
    m_mailboxes = std::make_unique<RedisMailboxLeases>(*m_leases, [this](qint64 ms) -> QCoro::Task<> {
        m_waitedMs += ms;
        if (m_onSleep)
            m_onSleep();
        co_return;
    });
}

void TestMailboxLeases::keyTellsNoAddress()
{
    QCOMPARE(mailboxKey(u" A@Example.com "_s), mailbox); // as the limiter normalizes
    QVERIFY(mailboxKey(u"b@example.com"_s) != mailbox);
    QVERIFY(!mailbox.contains(u'@') && mailbox.size() == 24);
}

void TestMailboxLeases::oneHolderAtATime()
{
    const Result<MailboxHold> first = take();
    QVERIFY(first && *first);
    const Result<MailboxHold> other = take(mailboxKey(u"b@example.com"_s));
    QVERIFY(other && *other);
    m_waitedMs = 0;
    const Result<MailboxHold> second = take();
    QVERIFY(second.has_value());
    QVERIFY(!*second);
    QVERIFY(waitedMs() >= 10'000 && waitedMs() < 11'000);
}

void TestMailboxLeases::waitsForTheHolder()
{
    Result<MailboxHold> first = take();
    m_waitedMs = 0;
    m_onSleep = [&] {
        if (m_waitedMs >= 2'000)
            first = MailboxHold();
    };
    const Result<MailboxHold> second = take();
    m_onSleep = {};
    QVERIFY(second && *second);
    QVERIFY(waitedMs() < 10'000);
}

void TestMailboxLeases::keptAliveWhileHeld()
{
    const Result<MailboxHold> hold = take();
    QVERIFY(hold && *hold);
    const QByteArray pattern = "*mailbox:" + mailbox.toLatin1() + '*';
    const redis::Value keys = m_redis.command({"KEYS", pattern});
    QCOMPARE(keys.items.size(), 1);
    const QByteArray key = keys.items.first().text;
    QVERIFY(m_redis.integer({"PTTL", key}) <= 8'000);
    QTest::qWait(3'000); // one renewal of the real timer
    QVERIFY(m_redis.integer({"PTTL", key}) > 7'000);
}

void TestMailboxLeases::deadHolderLapses()
{
    // An engine that was killed: its lease is there, nobody renews it.
    QVERIFY(QCoro::waitFor(m_leases->acquire(u"mailbox:"_s + mailbox, "dead", 300)).has_value());
    m_onSleep = [] { QTest::qWait(50); };
    const Result<MailboxHold> hold = take();
    m_onSleep = {};
    QVERIFY(hold && *hold);
}

void TestMailboxLeases::redisAway()
{
    m_redis.server().stop();
    QVERIFY(!take().has_value());
}

QTEST_GUILESS_MAIN(TestMailboxLeases)
#include "tst_mailboxleases.moc"
