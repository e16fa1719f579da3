// SPDX-License-Identifier: Apache-2.0
#include "redis/functionlibrary.h"
#include "scriptedserver.h"
#include "support/testredis.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::redis;

namespace {

QByteArray codeOfBuild(int build, const QByteArray &library = "tk_test")
{
    const QByteArray number = QByteArray::number(build);
    return "#!lua name=" + library + "\n-- build: " + number
        + "\n"
          "redis.register_function{function_name='"
        + library + "_build', callback=function() return " + number
        + " end, flags={'no-writes'}}\n"
          "redis.register_function('"
        + library + "_add', function(keys, args) return redis.call('incrby', keys[1], args[1]) end)\n";
}

} // namespace

class FunctionLibraryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_server.start());
        m_endpoint = Endpoint::fromUrl(m_server.url()).value();
    }

    void init()
    {
        m_server.cli({u"flushall"_s});
        m_server.cli({u"function"_s, u"flush"_s});
        m_server.cli({u"config"_s, u"resetstat"_s});
        ConnectionOptions options;
        options.commandTimeoutMs = 5000;
        m_connection = std::make_unique<RedisConnection>(m_endpoint, options);
        m_connection->open();
        QVERIFY(QCoro::waitFor(m_connection->waitReady(5000)));
    }

    void everyLibraryOfTheProgramIsEmbedded()
    {
        QVERIFY(FunctionLibrary::embedded(u"quota.lua"_s).startsWith("#!lua name=tidekeeper_quota"));
        QVERIFY(FunctionLibrary::embedded(u"nosuch.lua"_s).isEmpty());
    }

    void loadsWhatIsAbsent()
    {
        FunctionLibrary library(*m_connection, "tk_test", codeOfBuild(7));
        QCOMPARE(library.build(), 7);
        QVERIFY(QCoro::waitFor(library.ensureLoaded()));
        QCOMPARE(loadedBuild(), 7);
        QVERIFY(QCoro::waitFor(library.ensureLoaded()));
        QCOMPARE(loads(), 1);
    }

    void build_data()
    {
        QTest::addColumn<int>("there");
        QTest::addColumn<int>("ours");
        QTest::addColumn<int>("after");
        QTest::newRow("older is replaced") << 6 << 7 << 7;
        QTest::newRow("same is kept") << 7 << 7 << 7;
        QTest::newRow("newer is kept") << 8 << 7 << 8;
    }

    void build()
    {
        QFETCH(int, there);
        QFETCH(int, ours);
        FunctionLibrary first(*m_connection, "tk_test", codeOfBuild(there));
        QVERIFY(QCoro::waitFor(first.ensureLoaded()));
        FunctionLibrary second(*m_connection, "tk_test", codeOfBuild(ours));
        QVERIFY(QCoro::waitFor(second.ensureLoaded()));
        QTEST(loadedBuild(), "after");
    }

    void libraryWithoutBuildFunctionIsReplaced()
    {
        m_server.cli({u"function"_s, u"load"_s,
                      u"#!lua name=tk_test\nredis.register_function('other', function() return 1 end)"_s});
        FunctionLibrary library(*m_connection, "tk_test", codeOfBuild(1));
        QVERIFY(QCoro::waitFor(library.ensureLoaded()));
        QCOMPARE(loadedBuild(), 1);
    }

    void refusalCarriesTheWordsOfTheServer()
    {
        FunctionLibrary library(*m_connection, "tk_test", "#!lua name=tk_test\n-- build: 1\nnonsense here\n");
        const Result<> loaded = QCoro::waitFor(library.ensureLoaded());
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code, u"functions_refused"_s);
        QVERIFY2(loaded.error().text.contains(u"Error compiling function"_s),
                 qPrintable(loaded.error().text));
    }

    // vutran1710/PyrateLimiter#182: functions gone while clients live on.
    void flushBetweenTwoCalls()
    {
        FunctionLibrary library(*m_connection, "tk_test", codeOfBuild(1));
        QCOMPARE(QCoro::waitFor(library.call("tk_test_add", {"k"}, {"2"}))->integer, 2);
        m_server.cli({u"function"_s, u"flush"_s});
        QCOMPARE(QCoro::waitFor(library.call("tk_test_add", {"k"}, {"3"}))->integer, 5);
    }

    void flushWithinAPipelineCausesOneReload()
    {
        FunctionLibrary library(*m_connection, "tk_test", codeOfBuild(1));
        QVERIFY(QCoro::waitFor(library.ensureLoaded()));
        const int loadsBefore = loads();
        int answered = 0;
        int failed = 0;
        const auto count = [&](const Result<Value> &reply) {
            ++answered;
            failed += !reply || reply->type != Value::Type::Integer;
        };
        for (int i = 0; i < 200; ++i) {
            library.call("tk_test_add", {"k"}, {"1"}, count);
            if (i == 99)
                m_connection->send({"FUNCTION", "FLUSH"}, [](const Result<Value> &) {});
        }
        QTRY_COMPARE(answered, 200);
        QCOMPARE(failed, 0);
        QCOMPARE(m_server.cli({u"get"_s, u"k"_s}), "200"); // each executed once
        QCOMPARE(loads(), loadsBefore + 1);
    }

    void aCallEndsInTimeAlthoughTheReloadHangs_data()
    {
        QTest::addColumn<bool>("silentToLoad");
        QTest::newRow("the load") << true;
        QTest::newRow("the second call") << false;
    }

    // upstash/ratelimit-js#122, vutran1710/PyrateLimiter#182: the way back must keep the caller's deadline too.
    void aCallEndsInTimeAlthoughTheReloadHangs()
    {
        QFETCH(bool, silentToLoad);
        int calls = 0;
        test::ScriptedServer server([&](const QList<QByteArray> &command) -> QByteArray {
            if (command.first() == "FUNCTION")
                return silentToLoad ? "" : "$7\r\ntk_test\r\n";
            if (command.first() == "FCALL")
                return command[1] == "tk_test_add" && ++calls > 1 ? "" : "-ERR Function not found\r\n";
            return test::ScriptedServer::greet(command);
        });
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        FunctionLibrary library(connection, "tk_test", codeOfBuild(1));
        QElapsedTimer timer;
        timer.start();
        const Result<Value> reply = QCoro::waitFor(library.call("tk_test_add", {"k"}, {"1"}, 300));
        QVERIFY2(timer.elapsed() >= 290 && timer.elapsed() < 1500,
                 qPrintable(QString::number(timer.elapsed())));
        QVERIFY(!reply);
        QCOMPARE(reply.error().code, u"functions_missing"_s);
        QTest::qWait(50); // the load's end finds nobody waiting
    }

    void functionThatTheLibraryLacksIsAnErrorReply()
    {
        FunctionLibrary library(*m_connection, "tk_test", codeOfBuild(1));
        const Result<Value> reply = QCoro::waitFor(library.call("tk_test_nosuch", {}, {}));
        QVERIFY(reply);
        QVERIFY(reply->isError());
        QCOMPARE(reply->text, "ERR Function not found");
    }

    void errorOfTheFunctionIsAReply()
    {
        FunctionLibrary library(*m_connection, "tk_test", codeOfBuild(1));
        const Result<Value> reply = QCoro::waitFor(library.call("tk_test_add", {"k"}, {"word"}));
        QVERIFY(reply && reply->isError());
        QVERIFY(reply->text.contains("not an integer"));
    }

    void libraryAndConnectionMayGoWithCallsUnderWay()
    {
        int answered = 0;
        {
            FunctionLibrary library(*m_connection, "tk_test", codeOfBuild(1));
            for (int i = 0; i < 10; ++i)
                library.call("tk_test_add", {"k"}, {"1"}, [&](const Result<Value> &) { ++answered; });
        }
        QCoreApplication::processEvents();
        m_connection.reset();
        QTRY_COMPARE(answered, 10);
    }

private:
    int loadedBuild()
    {
        return static_cast<int>(
            QCoro::waitFor(m_connection->command({"FCALL", "tk_test_build", "0"}))->toInteger(-1));
    }
    int loads()
    {
        const QByteArray stats = m_server.cli({u"info"_s, u"commandstats"_s});
        const qsizetype at = stats.indexOf("cmdstat_function|load:calls=");
        return at < 0 ? 0 : stats.mid(at + 28, stats.indexOf(',', at) - at - 28).toInt();
    }

    test::TestRedis m_server;
    Endpoint m_endpoint;
    std::unique_ptr<RedisConnection> m_connection;
};

QTEST_GUILESS_MAIN(FunctionLibraryTest)
#include "tst_functionlibrary.moc"
