// SPDX-License-Identifier: Apache-2.0
#include "redis/privateredis.h"
#include "redis/redisconnection.h"
#include "scriptedserver.h"

#include <QtCore/QProcess>
#include <QtTest/QSignalSpy>
#include <QtTest/QTest>

#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::redis;

namespace {

constexpr int patienceMs = 20'000;

/// A process that ended and that nobody has waited for (an orphan, where process 1 does not) lives no more.
bool lives(qint64 processId)
{
    QFile stat(u"/proc/%1/stat"_s.arg(processId));
    return stat.open(QIODevice::ReadOnly) && !stat.readAll().contains(") Z ");
}

/// This program again, as one of the two roles of main().
void startRole(QProcess &process, const QStringList &arguments)
{
    process.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); });
    process.start(QCoreApplication::applicationFilePath(), arguments);
}

/// Role: an engine that keeps a private server and says its process id, until it is killed.
int runEngine(const QString &stateDir)
{
    PrivateRedis redis({.stateDir = stateDir, .startTimeoutMs = patienceMs});
    const auto started = QCoro::waitFor(redis.start());
    printf("%lld\n", started ? redis.processId() : 0);
    fflush(stdout);
    return QCoreApplication::exec();
}

/// Role: a "redis-server" that is too old, and deaf to SHUTDOWN.
int runOldServer(const QStringList &arguments)
{
    const QString path = arguments.value(arguments.indexOf(u"--unixsocket"_s) + 1);
    const test::ScriptedServer server(
        [](const QList<QByteArray> &command) {
            return command.first() == "INFO" ? QByteArray("$22\r\nredis_version:6.2.14\r\n\r\n")
                                             : test::ScriptedServer::greet(command);
        },
        path);
    return QCoreApplication::exec();
}

QByteArray ask(const QString &socketPath, const QList<QByteArray> &command)
{
    RedisConnection connection({.transport = Endpoint::Transport::Unix, .path = socketPath},
                               {.commandTimeoutMs = 5000});
    connection.open();
    if (!QCoro::waitFor(connection.waitReady(patienceMs)))
        return "not ready";
    const Result<Value> reply = QCoro::waitFor(connection.command(command));
    if (!reply)
        return reply.error().code.toLatin1();
    return reply->type == Value::Type::Array ? reply->items.value(1).text : reply->text;
}

} // namespace

class PrivateRedisTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        m_state = std::make_unique<QTemporaryDir>();
        m_redis = make();
    }

    void cleanup() { m_redis.reset(); }

    void startsForItsOwnerAlone()
    {
        const Result<Endpoint> endpoint = QCoro::waitFor(m_redis->start());
        QVERIFY2(endpoint, qPrintable(endpoint ? QString() : endpoint.error().text));
        QCOMPARE(endpoint->path, m_state->filePath(u"redis/redis.sock"_s));
        QCOMPARE(ask(endpoint->path, {"CONFIG", "GET", "port"}), "0");
        QCOMPARE(ask(endpoint->path, {"CONFIG", "GET", "appendonly"}), "yes");
        QCOMPARE(ask(endpoint->path, {"CONFIG", "GET", "appendfsync"}), "everysec");
        QCOMPARE(ask(endpoint->path, {"CONFIG", "GET", "save"}), "");
        const auto owner = QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner | QFile::ReadUser
            | QFile::WriteUser | QFile::ExeUser;
        QCOMPARE(QFile::permissions(m_state->filePath(u"redis"_s)), owner);
        QCOMPARE(QFile::permissions(endpoint->path) & ~owner, QFile::Permissions());
    }

    void stopLeavesNothingAndDataStays()
    {
        QVERIFY(QCoro::waitFor(m_redis->start()));
        QCOMPARE(ask(m_redis->socketPath(), {"SET", "k", "v"}), "OK");
        const qint64 first = m_redis->processId();
        QVERIFY(lives(first));
        QCoro::waitFor(m_redis->stop());
        QVERIFY(!lives(first));
        QVERIFY(!QFile::exists(m_redis->socketPath()));
        QCOMPARE(m_redis->processId(), 0);

        QVERIFY(QCoro::waitFor(m_redis->start()));
        QVERIFY(m_redis->processId() != first);
        QCOMPARE(ask(m_redis->socketPath(), {"GET", "k"}), "v");
    }

    void destructorLeavesNothing()
    {
        QVERIFY(QCoro::waitFor(m_redis->start()));
        const qint64 processId = m_redis->processId();
        m_redis.reset();
        QVERIFY(!lives(processId));
    }

    void killedServerIsRestartedWithItsData()
    {
        QVERIFY(QCoro::waitFor(m_redis->start()));
        const QSignalSpy restarted(m_redis.get(), &PrivateRedis::restarted);
        for (int round = 1; round <= 2; ++round) {
            QCOMPARE(ask(m_redis->socketPath(), {"SET", "k", QByteArray::number(round)}), "OK");
            const qint64 before = m_redis->processId();
            ::kill(static_cast<pid_t>(before), SIGKILL);
            QTRY_COMPARE_WITH_TIMEOUT(restarted.size(), round, patienceMs);
            QVERIFY(m_redis->processId() != before);
            QCOMPARE(ask(m_redis->socketPath(), {"GET", "k"}), QByteArray::number(round));
        }
    }

    void silentServerIsWaitedFor()
    {
        QVERIFY(QCoro::waitFor(m_redis->start()));
        const QSignalSpy restarted(m_redis.get(), &PrivateRedis::restarted);
        const qint64 processId = m_redis->processId();
        ::kill(static_cast<pid_t>(processId), SIGSTOP);
        QTest::qWait(1500);
        QCOMPARE(restarted.size(), 0);
        QCOMPARE(m_redis->processId(), processId);
        ::kill(static_cast<pid_t>(processId), SIGCONT);
        QCOMPARE(ask(m_redis->socketPath(), {"PING"}), "PONG");
    }

    void silentServerIsStoppedAllTheSame()
    {
        m_redis = make({.stopTimeoutMs = 1000});
        QVERIFY(QCoro::waitFor(m_redis->start()));
        const qint64 processId = m_redis->processId();
        ::kill(static_cast<pid_t>(processId), SIGSTOP);
        QElapsedTimer timer;
        timer.start();
        QCoro::waitFor(m_redis->stop());
        QVERIFY(!lives(processId));
        QVERIFY2(timer.elapsed() < 2000, qPrintable(QString::number(timer.elapsed())));
    }

    void engineKilledAndServerAdopted()
    {
        const qint64 left = leaveBehind();
        QVERIFY(left > 0);
        QCOMPARE(ask(m_redis->socketPath(), {"SET", "k", "v"}), "OK");
        QVERIFY(QCoro::waitFor(m_redis->start()));
        QCOMPARE(m_redis->processId(), left);

        const QSignalSpy restarted(m_redis.get(), &PrivateRedis::restarted);
        ::kill(static_cast<pid_t>(left), SIGKILL);
        QTRY_COMPARE_WITH_TIMEOUT(restarted.size(), 1, patienceMs);
        QCOMPARE(ask(m_redis->socketPath(), {"GET", "k"}), "v");
    }

    void adoptedServerIsStopped()
    {
        const qint64 left = leaveBehind();
        QVERIFY(QCoro::waitFor(m_redis->start()));
        QCOMPARE(m_redis->processId(), left);
        QCoro::waitFor(m_redis->stop());
        QVERIFY(!lives(left));
    }

    void adoptedServerEndsWithTheObject()
    {
        const qint64 left = leaveBehind();
        QVERIFY(QCoro::waitFor(m_redis->start()));
        m_redis.reset();
        QVERIFY(!lives(left));
    }

    void silentServerLeftBehindIsNotKilled()
    {
        m_redis = make({.startTimeoutMs = 500});
        const qint64 left = leaveBehind();
        ::kill(static_cast<pid_t>(left), SIGSTOP);
        const auto started = QCoro::waitFor(m_redis->start());
        QVERIFY(!started);
        QCOMPARE(started.error().code, u"redis_start_failed"_s);
        QVERIFY(started.error().text.contains(QString::number(left)));
        QVERIFY(lives(left));
        ::kill(static_cast<pid_t>(left), SIGCONT);
        m_redis = make();
        QVERIFY(QCoro::waitFor(m_redis->start()));
        QCOMPARE(m_redis->processId(), left);
    }

    void serverOfAnotherFolderIsReplaced()
    {
        const QTemporaryDir elsewhere;
        QVERIFY(QDir(m_state->path()).mkpath(u"redis"_s));
        QProcess other;
        other.start(u"redis-server"_s,
                    {u"--port"_s, u"0"_s, u"--unixsocket"_s, m_redis->socketPath(), u"--dir"_s,
                     elsewhere.path(), u"--save"_s, u""_s});
        QCOMPARE(ask(m_redis->socketPath(), {"PING"}), "PONG");
        QVERIFY(QCoro::waitFor(m_redis->start()));
        QVERIFY(m_redis->processId() != other.processId());
        QTRY_COMPARE(other.state(), QProcess::NotRunning);
        QCOMPARE(ask(m_redis->socketPath(), {"CONFIG", "GET", "dir"}),
                 m_state->filePath(u"redis"_s).toLocal8Bit());
    }

    void tooOldServerLeftBehindIsReplaced()
    {
        m_redis = make({.stopTimeoutMs = 2000});
        QVERIFY(QDir(m_state->path()).mkpath(u"redis"_s));
        QProcess old;
        startRole(old, {u"--unixsocket"_s, m_redis->socketPath()});
        QCOMPARE(ask(m_redis->socketPath(), {"PING"}), "PONG");
        QVERIFY(QCoro::waitFor(m_redis->start()));
        QTRY_COMPARE(old.state(), QProcess::NotRunning);
        QVERIFY(m_redis->processId() > 0);
    }

    void tooOldProgram()
    {
        m_redis = make({.program = QCoreApplication::applicationFilePath(), .stopTimeoutMs = 1000});
        const auto started = QCoro::waitFor(m_redis->start());
        QVERIFY(!started);
        QCOMPARE(started.error().code, u"redis_too_old"_s);
        QVERIFY(started.error().text.contains(u"7.0"_s));
        QCOMPARE(m_redis->processId(), 0);
    }

    void missingProgram()
    {
        m_redis = make({.program = u"/nowhere/redis-server"_s});
        const auto started = QCoro::waitFor(m_redis->start());
        QVERIFY(!started);
        QCOMPARE(started.error().code, u"redis_missing"_s);
        QVERIFY(started.error().text.contains(u"/nowhere/redis-server"_s));
        QVERIFY(started.error().text.contains(u"apt install redis-server"_s));
    }

    void programThatRefusesItsSettings()
    {
        m_redis = make({.extraArguments = {u"--nosuch-setting"_s, u"1"_s}});
        const auto started = QCoro::waitFor(m_redis->start());
        QVERIFY(!started);
        QCOMPARE(started.error().code, u"redis_start_failed"_s);
        QVERIFY2(started.error().text.contains(u"Bad directive"_s), qPrintable(started.error().text));
    }

    void folderThatCannotBeMade()
    {
        QFile file(m_state->filePath(u"redis"_s));
        QVERIFY(file.open(QIODevice::WriteOnly));
        const auto started = QCoro::waitFor(m_redis->start());
        QVERIFY(!started);
        QCOMPARE(started.error().code, u"redis_start_failed"_s);
        QVERIFY(started.error().text.contains(file.fileName()));
    }

    void longPathMovesTheSocketToTheRuntimeFolder()
    {
        const QTemporaryDir runtime;
        qputenv("XDG_RUNTIME_DIR", runtime.path().toLocal8Bit());
        const QString longState = m_state->filePath(QString(120, u'x'));
        PrivateRedis redis({.stateDir = longState, .startTimeoutMs = patienceMs});
        QVERIFY(redis.socketPath().startsWith(runtime.path()));
        QVERIFY(QCoro::waitFor(redis.start()));
        QCOMPARE(ask(redis.socketPath(), {"CONFIG", "GET", "dir"}), (longState + u"/redis"_s).toLocal8Bit());
        struct stat status = {};
        QCOMPARE(::stat(qPrintable(QFileInfo(redis.socketPath()).path()), &status), 0);
        QCOMPARE(status.st_mode & 0777, 0700U);
        QCoro::waitFor(redis.stop());
        qunsetenv("XDG_RUNTIME_DIR");
    }

    void longPathWithoutRuntimeFolderUsesTmpAndTrustsNoLinkThere()
    {
        qunsetenv("XDG_RUNTIME_DIR");
        PrivateRedis redis({.stateDir = m_state->filePath(QString(120, u'x')), .startTimeoutMs = patienceMs});
        QVERIFY(redis.socketPath().startsWith(u"/tmp/tidekeeper-"_s));
        const QString folder = QFileInfo(redis.socketPath()).path();
        QVERIFY(QFile::link(m_state->path(), folder)); // as somebody else might have laid it there
        const auto refused = QCoro::waitFor(redis.start());
        QVERIFY(!refused);
        QVERIFY(refused.error().text.contains(folder));
        QVERIFY(QFile::remove(folder));
        QVERIFY(QCoro::waitFor(redis.start()));
        QCoro::waitFor(redis.stop());
        QVERIFY(QDir().rmdir(folder));
    }

    // A server that outlives the engine must not hold the engine's port or files.
    void serverInheritsNoFiles()
    {
        const int fd =
            ::open(qPrintable(m_state->filePath(u"engine-file"_s)), O_CREAT | O_RDWR, 0600); // not CLOEXEC
        QVERIFY(fd > 2);
        QVERIFY(QCoro::waitFor(m_redis->start()));
        QDir files(u"/proc/%1/fd"_s.arg(m_redis->processId()));
        for (const QFileInfo &info :
             files.entryInfoList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot))
            QVERIFY2(!info.symLinkTarget().contains(u"engine-file"_s), qPrintable(info.symLinkTarget()));
        ::close(fd);
    }

    void goneWhileStarting()
    {
        std::optional<QString> code;
        m_redis->start().then([&code](const Result<Endpoint> &r) { code = r ? u"ok"_s : r.error().code; });
        QTRY_VERIFY(m_redis->processId() > 0);
        const qint64 processId = m_redis->processId();
        m_redis.reset();
        QVERIFY(!lives(processId));
        QTRY_COMPARE(code.value_or(QString()), u"redis_start_failed"_s);
    }

private:
    std::unique_ptr<PrivateRedis> make(PrivateRedis::Options options = {})
    {
        options.stateDir = m_state->path();
        if (options.startTimeoutMs == PrivateRedis::Options().startTimeoutMs)
            options.startTimeoutMs = patienceMs;
        return std::make_unique<PrivateRedis>(options);
    }

    /// Runs an engine on the state folder and kills it; the process id of the server that is left.
    qint64 leaveBehind()
    {
        QProcess engine;
        startRole(engine, {u"engine"_s, m_state->path()});
        if (!engine.waitForReadyRead(patienceMs))
            return 0;
        const qint64 left = engine.readLine().trimmed().toLongLong();
        engine.kill();
        engine.waitForFinished();
        return left;
    }

    std::unique_ptr<QTemporaryDir> m_state;
    std::unique_ptr<PrivateRedis> m_redis;
};

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.value(1) == u"engine"_s)
        return runEngine(arguments.value(2));
    if (arguments.contains(u"--unixsocket"_s))
        return runOldServer(arguments);
    PrivateRedisTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_privateredis.moc"
