// SPDX-License-Identifier: Apache-2.0
#include "redis/redisconnection.h"
#include "scriptedserver.h"
#include "support/testredis.h"

#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::redis;

class ConnectionTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_server.start()); }

    void init()
    {
        ConnectionOptions options;
        options.commandTimeoutMs = 20'000;
        m_connection = std::make_unique<RedisConnection>(Endpoint::fromUrl(m_server.url()).value(), options);
        m_connection->open();
        QVERIFY(QCoro::waitFor(m_connection->waitReady(5000)));
        QCOMPARE(m_connection->lastLatencyUs(), -1);
    }

    void pipelineAnswersInOrder()
    {
        QList<qint64> answers;
        for (int i = 0; i < 10'000; ++i)
            m_connection->send({"INCR", "order"},
                               [&](const Result<Value> &r) { answers.append(r->integer); });
        QVERIFY(answers.isEmpty()); // never from inside send()
        QTRY_COMPARE(answers.size(), 10'000);
        for (int i = 0; i < answers.size(); ++i)
            QCOMPARE(answers.at(i), i + 1);
        QVERIFY(m_connection->lastLatencyUs() > 0);
    }

    void errorReplyIsAValue()
    {
        const Result<Value> reply = QCoro::waitFor(m_connection->command({"NOSUCH"}));
        QVERIFY(reply);
        QVERIFY(reply->isError());
        QVERIFY(reply->text.startsWith("ERR unknown command"));
        QVERIFY(m_connection->isReady());
    }

    void hugeAndBinaryPayloadComesBack()
    {
        QByteArray payload(32 * 1024 * 1024, Qt::Uninitialized);
        for (qsizetype i = 0; i < payload.size(); ++i)
            payload[i] = static_cast<char>(i * 31 + i / 251);
        QVERIFY(QCoro::waitFor(m_connection->command({"SET", "huge", payload})));
        const Result<Value> got = QCoro::waitFor(m_connection->command({"GET", "huge"}));
        QVERIFY(got);
        QVERIFY(got->text == payload);
        const QByteArray binaryKey("\0\r\n*1\xff", 6);
        QVERIFY(QCoro::waitFor(m_connection->command({"SET", binaryKey, ""})));
        QCOMPARE(QCoro::waitFor(m_connection->command({"GET", binaryKey}))->type, Value::Type::String);
    }

    void nameIsSetAndDatabaseSelected()
    {
        Endpoint endpoint = Endpoint::fromUrl(m_server.url()).value();
        endpoint.database = 5;
        RedisConnection connection(endpoint, {.clientName = "tide-test"});
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        const QByteArray clients = m_server.cli({u"client"_s, u"list"_s});
        QVERIFY(clients.contains("name=tide-test"));
        QVERIFY(clients.contains(" db=5 "));
    }

    void password_data()
    {
        QTest::addColumn<QString>("user");
        QTest::addColumn<QByteArray>("password");
        QTest::addColumn<bool>("accepted");
        QTest::newRow("password alone") << QString() << QByteArray("s3cret") << true;
        QTest::newRow("user of the ACL") << u"engine"_s << QByteArray("other") << true;
        QTest::newRow("wrong") << QString() << QByteArray("wr0ng") << false;
        QTest::newRow("missing") << QString() << QByteArray() << false;
    }

    void password()
    {
        QFETCH(QString, user);
        QFETCH(QByteArray, password);
        QFETCH(bool, accepted);
        test::TestRedis server;
        QVERIFY(server.start());
        server.cli({u"acl"_s, u"setuser"_s, u"engine"_s, u"on"_s, u">other"_s, u"~*"_s, u"+@all"_s,
                    u"-ping"_s, u"-client"_s});
        server.cli({u"config"_s, u"set"_s, u"requirepass"_s, u"s3cret"_s});

        Endpoint endpoint = Endpoint::fromUrl(server.url()).value();
        endpoint.username = user;
        endpoint.password = password;
        RedisConnection connection(endpoint);
        connection.open();
        if (accepted) {
            QVERIFY2(QCoro::waitFor(connection.waitReady(5000)), qPrintable(connection.lastError()));
            return;
        }
        QTRY_VERIFY(!connection.lastError().isEmpty());
        QVERIFY(!connection.isReady());
        QVERIFY(!connection.lastError().contains(u"wr0ng"_s));
    }

    void commandsOfOneTurnAreWrittenTogether()
    {
        QVERIFY(QCoro::waitFor(m_connection->command({"CONFIG", "RESETSTAT"})));
        int answered = 0;
        for (int i = 0; i < 500; ++i)
            m_connection->send({"PING"}, [&](const Result<Value> &) { ++answered; });
        QTRY_COMPARE(answered, 500);
        const QByteArray stats = QCoro::waitFor(m_connection->command({"INFO", "stats"}))->text;
        const QByteArray field = "total_reads_processed:";
        const qsizetype at = stats.indexOf(field) + field.size();
        const int reads = stats.mid(at, stats.indexOf('\r', at) - at).toInt();
        QVERIFY2(reads <= 3, qPrintable(QString::number(reads))); // one of them is INFO itself
    }

    // A reply cut in the middle and never ended must not be taken for a whole one.
    void replyCutByTheEndOfTheConnection()
    {
        test::ScriptedServer server([](const QList<QByteArray> &command) {
            return command.first() == "GET" ? QByteArray("$10\r\nhalf")
                                            : test::ScriptedServer::greet(command);
        });
        RedisConnection connection(Endpoint::fromUrl(server.url()).value(), {.commandTimeoutMs = 5000});
        const QSignalSpy lost(&connection, &RedisConnection::lost);
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        std::optional<Result<Value>> reply;
        connection.send({"GET", "k"}, [&](const Result<Value> &r) { reply = r; });
        QTRY_COMPARE(server.commands().last().first(), "GET");
        server.client()->disconnectFromServer();
        QTRY_VERIFY(reply);
        QCOMPARE(reply->error().code, u"redis_closed"_s);
        QCOMPARE(lost.size(), 1);
        QVERIFY(QCoro::waitFor(connection.waitReady(5000))); // and comes back by itself
        QCOMPARE(server.connections(), 2);
    }

    void garbageAndUnaskedRepliesResetTheConnection_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("other protocol") << QByteArray("HTTP/1.1 200 OK\r\n");
        QTest::newRow("unasked") << QByteArray("+OK\r\n");
    }

    void garbageAndUnaskedRepliesResetTheConnection()
    {
        QFETCH(QByteArray, bytes);
        test::ScriptedServer server(&test::ScriptedServer::greet);
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        const QSignalSpy lost(&connection, &RedisConnection::lost);
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        server.client()->write(bytes);
        QTRY_COMPARE(lost.size(), 1);
        QTRY_VERIFY(connection.isReady());
    }

    // A deadline in server time needs the server's clock before the first command.
    void theGreetingTellsTheServersTime()
    {
        bool refuses = false;
        test::ScriptedServer server([&](const QList<QByteArray> &command) {
            return refuses && command.first() == "TIME" ? QByteArray("-NOPERM no TIME for you\r\n")
                                                        : test::ScriptedServer::greet(command);
        });
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        std::optional<qint64> atReady;
        connect(&connection, &RedisConnection::ready, this, [&] { atReady = connection.greetedAtUs(); });
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        QCOMPARE(atReady, 1'800'000'000'123'456);
        connection.close();
        refuses = true;
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        QVERIFY(!atReady);
    }

    void serverThatLoadsItsDataIsNotReadyYet()
    {
        bool isLoading = true;
        test::ScriptedServer server([&](const QList<QByteArray> &command) {
            return isLoading && command.first() == "PING" ? QByteArray("-LOADING Redis is loading\r\n")
                                                          : test::ScriptedServer::greet(command);
        });
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        connection.open();
        QTRY_VERIFY(connection.lastError().contains(u"LOADING"_s));
        QVERIFY(!connection.isReady());
        isLoading = false;
        QTRY_VERIFY(connection.isReady());
    }

    void closeFailsWhatIsPending()
    {
        QStringList codes;
        const auto note = [&](const Result<Value> &r) { codes.append(r ? u"ok"_s : r.error().code); };
        m_connection->send({"DEBUG", "SLEEP", "0"}, note);
        m_connection->close();
        m_connection->send({"PING"}, note);
        QVERIFY(codes.isEmpty());
        QTRY_COMPARE(codes, (QStringList{u"redis_closed"_s, u"redis_unavailable"_s}));
        m_connection->open();
        QVERIFY(QCoro::waitFor(m_connection->waitReady(5000)));
    }

    void callbackMayCloseAndOpen()
    {
        int failed = 0;
        m_connection->send({"PING"}, [&](const Result<Value> &) {
            m_connection->close();
            m_connection->open();
        });
        for (int i = 0; i < 10; ++i)
            m_connection->send({"PING"}, [&](const Result<Value> &r) { failed += !r; });
        QTRY_COMPARE(failed, 10);
        QTRY_VERIFY(m_connection->isReady());
    }

    // redis/hiredis#1230, redis/hiredis#358: deleting a connection with commands under way.
    void callbackMayDeleteTheConnection()
    {
        int answered = 0;
        m_connection->send({"PING"}, [&](const Result<Value> &) {
            ++answered;
            m_connection.reset();
        });
        QStringList codes;
        for (int i = 0; i < 10; ++i)
            m_connection->send({"PING"},
                               [&](const Result<Value> &r) { codes.append(r ? u"ok"_s : r.error().code); });
        QTRY_COMPARE(answered, 1);
        QVERIFY(!m_connection);
        QCOMPARE(codes, QStringList(10, u"redis_closed"_s));
    }

    void refusedCallbackMayDeleteTheConnection()
    {
        m_connection->close();
        int answered = 0;
        for (int i = 0; i < 3; ++i) {
            m_connection->send({"PING"}, [&](const Result<Value> &) {
                ++answered;
                m_connection.reset();
            });
        }
        QTRY_COMPARE(answered, 3);
    }

    void slotsMayDeleteTheConnection()
    {
        auto *connection = new RedisConnection(Endpoint::fromUrl(m_server.url()).value());
        connect(connection, &RedisConnection::ready, this, [connection] { delete connection; });
        QSignalSpy gone(connection, &QObject::destroyed);
        connection->open();
        QTRY_COMPARE(gone.size(), 1);
    }

    void deletedWhileConnecting()
    {
        test::ScriptedServer silent([](const QList<QByteArray> &) { return QByteArray(); });
        auto connection = std::make_unique<RedisConnection>(Endpoint::fromUrl(silent.url()).value());
        connection->open();
        auto waiting = connection->waitReady(5000);
        QTRY_COMPARE(silent.connections(), 1);
        connection.reset();
        QVERIFY(!QCoro::waitFor(waiting));
    }

    void callbackOfTheDestructorMaySend()
    {
        QStringList codes;
        auto *connection = m_connection.get();
        connection->send({"PING"}, [&, connection](const Result<Value> &first) {
            codes.append(first.error().code);
            connection->send({"PING"},
                             [&](const Result<Value> &second) { codes.append(second.error().code); });
        });
        m_connection.reset();
        QCOMPARE(codes, QStringList{u"redis_closed"_s});
        QTRY_COMPARE(codes, (QStringList{u"redis_closed"_s, u"redis_unavailable"_s}));
    }

    void callbackMayRunAnEventLoop()
    {
        bool answered = false;
        m_connection->send({"PING"}, [&](const Result<Value> &) {
            answered = QCoro::waitFor(m_connection->command({"PING"})).has_value();
        });
        QTRY_VERIFY(answered);
    }

private:
    test::TestRedis m_server;
    std::unique_ptr<RedisConnection> m_connection;
};

QTEST_GUILESS_MAIN(ConnectionTest)
#include "tst_connection.moc"
