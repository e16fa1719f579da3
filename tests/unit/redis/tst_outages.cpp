// SPDX-License-Identifier: Apache-2.0
#include "redis/redisconnection.h"
#include "scriptedserver.h"
#include "support/testredis.h"

#include <QtCore/QAbstractEventDispatcher>
#include <QtCore/QTemporaryDir>
#include <QtNetwork/QTcpServer>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::redis;

namespace {

/// Short enough for a test, long enough for a sanitizer build on a busy machine.
ConnectionOptions quick()
{
    ConnectionOptions options;
    options.connectTimeoutMs = 500;
    options.commandTimeoutMs = 100;
    options.breakerProbeIntervalMs = 300;
    return options;
}

/// A Unix socket whose server has stopped for good and whose queue is full: it turns everybody away.
class FullListener {
public:
    explicit FullListener(const QByteArray &path)
    {
        m_address.sun_family = AF_UNIX;
        std::memcpy(m_address.sun_path, path.constData(), size_t(path.size()));
        m_sockets.append(::socket(AF_UNIX, SOCK_STREAM, 0));
        ::bind(m_sockets.first(), address(), sizeof m_address);
        ::listen(m_sockets.first(), 0);
        do
            m_sockets.append(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
        while (::connect(m_sockets.last(), address(), sizeof m_address) == 0);
    }
    ~FullListener()
    {
        for (const int socket : m_sockets)
            ::close(socket);
    }

private:
    const sockaddr *address() const { return reinterpret_cast<const sockaddr *>(&m_address); }

    sockaddr_un m_address{};
    QList<int> m_sockets;
};

QString codeOf(const Result<Value> &reply)
{
    return reply ? u"ok"_s : reply.error().code;
}

} // namespace

class OutagesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // api7/aisix#1147, IBM/cpex-plugins#78: a peer that accepts and never speaks.
    void silentListener()
    {
        QTcpServer listener;
        QVERIFY(listener.listen(QHostAddress::LocalHost));
        RedisConnection connection(
            Endpoint::fromUrl(u"redis://127.0.0.1:%1"_s.arg(listener.serverPort())).value(), quick());
        const QSignalSpy breaker(&connection, &RedisConnection::breakerChanged);
        connection.open();
        QElapsedTimer timer;
        timer.start();
        QVERIFY(!QCoro::waitFor(connection.waitReady(200)));
        QCOMPARE(codeOf(QCoro::waitFor(connection.command({"PING"}))), u"redis_unavailable"_s);
        QTRY_COMPARE_WITH_TIMEOUT(breaker.size(), 1, 5000);
        QVERIFY2(timer.elapsed() >= 3 * 500, "three attempts of 500 ms each come first");
        QVERIFY(connection.isBreakerOpen());
        QVERIFY(connection.lastError().contains(u"500 ms"_s));
    }

    void nothingListens()
    {
        RedisConnection connection(Endpoint::fromUrl(u"unix:/nonexistent/redis.sock"_s).value(), quick());
        connection.open();
        QTRY_VERIFY(connection.isBreakerOpen());
        const Result<Value> reply = QCoro::waitFor(connection.command({"PING"}));
        QCOMPARE(codeOf(reply), u"redis_unavailable"_s);
        QVERIFY(reply.error().text.contains(u"/nonexistent/redis.sock"_s));
    }

    /// A Redis that is stopped takes no connection off its queue, which is full after some hundred attempts.
    void fullQueueIsNoReasonToSpin()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(u"redis.sock"_s);
        const FullListener listener(path.toLocal8Bit());
        RedisConnection connection(Endpoint::fromUrl(u"unix:"_s + path).value(), quick());
        const QSignalSpy turns(QAbstractEventDispatcher::instance(), &QAbstractEventDispatcher::awake);
        connection.open();
        QVERIFY(!QCoro::waitFor(connection.waitReady(400)));
        QVERIFY2(turns.size() < 100, qPrintable(u"%1 turns of the event loop"_s.arg(turns.size())));
        QCOMPARE(codeOf(QCoro::waitFor(connection.command({"PING"}))), u"redis_unavailable"_s);
    }

    // openlinker-project/openlinker#2019: commands must not wait in the client for a server to come.
    void noOfflineQueue()
    {
        test::TestRedis server;
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        connection.open();
        QStringList codes;
        connection.send({"SET", "k", "v"}, [&](const Result<Value> &r) { codes.append(codeOf(r)); });
        QVERIFY(codes.isEmpty());
        QTRY_COMPARE(codes, QStringList{u"redis_unavailable"_s});
        QVERIFY(server.start());
        QTRY_VERIFY(connection.isReady());
        QCOMPARE(server.cli({u"exists"_s, u"k"_s}), "0");
    }

    // SIGSTOP: callers pay 100 ms three times, then nothing; SIGCONT: normal in a moment, on the same server.
    void stoppedServer()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));

        server.pause();
        QElapsedTimer timer;
        timer.start();
        QHash<QString, int> codes;
        for (int i = 0; i < 100; ++i)
            ++codes[codeOf(QCoro::waitFor(connection.command({"INCR", "n"})))];
        QCOMPARE(codes.value(u"redis_timeout"_s), 3);
        QCOMPARE(codes.value(u"redis_unavailable"_s), 97);
        QVERIFY2(timer.elapsed() < 1000, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(connection.isBreakerOpen());
        QTest::qWait(1000); // through a probe, a reset and new connections that stay silent
        QVERIFY(connection.isBreakerOpen());

        server.resume();
        QTRY_VERIFY(connection.isReady() && !connection.isBreakerOpen());
        QCOMPARE(codeOf(QCoro::waitFor(connection.command({"GET", "n"}, 5000))), u"ok"_s);
        QVERIFY(connection.lastError().isEmpty());
    }

    void aMomentOfSilenceCostsNoConnection()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        const QSignalSpy lost(&connection, &RedisConnection::lost);
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        server.pause();
        QStringList codes;
        for (int i = 0; i < 5; ++i)
            connection.send({"PING"}, [&](const Result<Value> &r) { codes.append(codeOf(r)); });
        QTRY_COMPARE(codes, QStringList(5, u"redis_timeout"_s));
        server.resume();
        QTRY_VERIFY(!connection.isBreakerOpen());
        QCOMPARE(lost.size(), 0);
    }

    // A late reply belongs to the command that gave up on it, not to the next one.
    void lateReplyIsDropped()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        server.pause();
        QCOMPARE(codeOf(QCoro::waitFor(connection.command({"ECHO", "late"}))), u"redis_timeout"_s);
        server.resume();
        const Result<Value> next = QCoro::waitFor(connection.command({"ECHO", "next"}, 5000));
        QVERIFY(next);
        QCOMPARE(next->text, "next");
    }

    void deadlineOfEachCommandIsItsOwn()
    {
        test::ScriptedServer server(&test::ScriptedServer::greet); // silent to ECHO
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), {.breakerFailures = 100});
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        QList<int> order;
        QElapsedTimer timer;
        timer.start();
        QHash<int, qint64> after;
        for (const int timeoutMs : {300, 100, 200}) {
            connection.send(
                {"ECHO", "x"},
                [&, timeoutMs](const Result<Value> &r) {
                    QCOMPARE(codeOf(r), u"redis_timeout"_s);
                    order.append(timeoutMs);
                    after[timeoutMs] = timer.elapsed();
                },
                timeoutMs);
        }
        QTRY_COMPARE(order, (QList<int>{100, 200, 300}));
        for (const int timeoutMs : order)
            QVERIFY2(after.value(timeoutMs) >= timeoutMs,
                     qPrintable(QString::number(after.value(timeoutMs))));
    }

    void replyThatCameWhileThisThreadWasBusyIsNotLate()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        QString code;
        connection.send({"PING"}, [&](const Result<Value> &r) { code = codeOf(r); });
        QCoreApplication::sendPostedEvents(); // written
        QThread::msleep(300);
        QTRY_COMPARE(code, u"ok"_s);
    }

    // A server that takes everything and answers nothing must not make memory grow.
    void silentServerGetsNoMoreThanProbes()
    {
        bool isSilent = false;
        test::ScriptedServer server([&](const QList<QByteArray> &command) {
            return isSilent ? QByteArray() : test::ScriptedServer::greet(command);
        });
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        isSilent = true;
        for (int i = 0; i < 3; ++i)
            QCOMPARE(codeOf(QCoro::waitFor(connection.command({"ECHO", "x"}))), u"redis_timeout"_s);
        QVERIFY(connection.isBreakerOpen());
        const qsizetype before = server.commands().size();
        QElapsedTimer timer;
        timer.start();
        while (timer.elapsed() < 1500) {
            QCOMPARE(codeOf(QCoro::waitFor(connection.command({"ECHO", "x"}))), u"redis_unavailable"_s);
            QTest::qWait(5);
        }
        const auto echoes =
            std::count_if(server.commands().begin() + before, server.commands().end(),
                          [](const QList<QByteArray> &command) { return command.first() == "ECHO"; });
        QCOMPARE(echoes, 0);
        QVERIFY2(server.commands().size() - before <= 12,
                 qPrintable(QString::number(server.commands().size())));
        isSilent = false;
        QTRY_VERIFY(connection.isReady() && !connection.isBreakerOpen());
    }

    void killedServer()
    {
        test::TestRedis server({u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"always"_s});
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        const QSignalSpy lost(&connection, &RedisConnection::lost);
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        for (int round = 1; round <= 3; ++round) {
            QCOMPARE(QCoro::waitFor(connection.command({"INCR", "rounds"}, 5000))->integer, round);
            QStringList codes;
            server.pause(); // so that the commands are under way when it dies
            for (int i = 0; i < 20; ++i)
                connection.send(
                    {"PING"}, [&](const Result<Value> &r) { codes.append(codeOf(r)); }, 5000);
            QCoreApplication::sendPostedEvents();
            server.kill();
            QTRY_COMPARE(codes, QStringList(20, u"redis_closed"_s));
            QCOMPARE(lost.size(), round);
            QVERIFY(server.start());
            QTRY_VERIFY(connection.isReady());
        }
    }

    void breakerTellsWhenItOpensAndCloses()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), quick());
        const QSignalSpy breaker(&connection, &RedisConnection::breakerChanged);
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        server.kill();
        QTRY_VERIFY(connection.isBreakerOpen());
        QVERIFY(server.start());
        QTRY_VERIFY(!connection.isBreakerOpen());
        QCOMPARE(breaker.size(), 2);
        QCOMPARE(breaker.at(0).at(0).toBool(), true);
        QCOMPARE(breaker.at(1).at(0).toBool(), false);
    }

    void attemptsBackOff()
    {
        test::ScriptedServer server([](const QList<QByteArray> &) { return QByteArray("-LOADING\r\n"); });
        ConnectionOptions options;
        options.breakerFailures = 1000;
        options.reconnectMinMs = 20;
        options.reconnectMaxMs = 400;
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), options);
        connection.open();
        QTest::qWait(1500);
        // 20, 40, 80, 160, 320, 400, 400 … ± a quarter
        QVERIFY2(server.connections() >= 5 && server.connections() <= 10,
                 qPrintable(QString::number(server.connections())));
    }
};

QTEST_GUILESS_MAIN(OutagesTest)
#include "tst_outages.moc"
