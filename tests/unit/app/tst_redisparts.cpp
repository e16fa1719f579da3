// SPDX-License-Identifier: Apache-2.0
// The check of the server while the engine runs: what changes is logged and shown, and also that it is over.
#include "app/redisparts.h"
#include "log/log.h"
#include "queue/jobqueue.h"
#include "support/testredis.h"

#include <QtCore/QJsonArray>
#include <QtCore/QTemporaryFile>
#include <QtTest/QTest>

#include <unistd.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

constexpr int checkEveryMs = 50;

/// Standard error, where the log goes, for as long as it lives.
class LogCapture {
public:
    LogCapture() : m_stderr(::dup(STDERR_FILENO))
    {
        if (!m_file.open())
            qFatal("no temporary file");
        ::dup2(m_file.handle(), STDERR_FILENO);
    }
    ~LogCapture()
    {
        ::dup2(m_stderr, STDERR_FILENO);
        ::close(m_stderr);
    }
    qsizetype count(const QByteArray &text)
    {
        QFile file(m_file.fileName());
        return file.open(QIODevice::ReadOnly) ? file.readAll().count(text) : -1;
    }

private:
    QTemporaryFile m_file;
    int m_stderr;
};

/// The parts of one engine on a server of the test's own.
struct Scene {
    explicit Scene(bool needsReplica = false)
    {
        if (!server.start())
            qFatal("no redis-server");
        config::RedisConfig redis;
        redis.url = server.url();
        parts = std::make_unique<app::RedisParts>(redis, QString(),
                                                  app::RedisParts::Options{needsReplica, checkEveryMs});
        if (!QCoro::waitFor(parts->start()))
            qFatal("the parts do not start");
    }
    ~Scene() { QCoro::waitFor(parts->stop()); }

    QString verdict() const { return parts->status()["verdict"_L1].toString(); }
    QJsonArray sentences(const QString &kind) const { return parts->status()[kind].toArray(); }
    void set(const QString &key, const QString &value)
    {
        QCOMPARE(server.cli({u"config"_s, u"set"_s, key, value}), "OK");
    }
    void acl(const QString &rule) { server.cli({u"acl"_s, u"setuser"_s, u"default"_s, rule}); }
    bool enqueues()
    {
        queue::JobQueue jobs(u"test"_s, parts->queueFunctions());
        queue::JobSpec spec;
        spec.type = u"work"_s;
        return QCoro::waitFor(jobs.enqueue(spec)).has_value();
    }

    test::TestRedis server{{u"--appendonly"_s, u"yes"_s, u"--maxmemory"_s, u"200mb"_s}};
    std::unique_ptr<app::RedisParts> parts;
};

} // namespace

class TestRedisParts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { log::setUp(log::Level::Info, log::Format::Text); }
    void verdictFollowsTheServer();
    void untoldIsNoFailure();
    void fullServer();
    void replicaMissing();
};

void TestRedisParts::verdictFollowsTheServer()
{
    Scene scene;
    QCOMPARE(scene.verdict(), u"safe"_s);
    LogCapture captured;
    scene.set(u"maxmemory-policy"_s, u"volatile-lru"_s);
    QTRY_COMPARE(scene.verdict(), u"unsafe"_s);
    QCOMPARE(scene.sentences(u"findings"_s).size(), 1);
    QVERIFY(scene.sentences(u"findings"_s)[0].toString().contains(u"noeviction"_s));
    QTest::qWait(5 * checkEveryMs);
    QCOMPARE(captured.count("The eviction policy is volatile-lru"), 1); // once, not with each check

    scene.set(u"maxmemory-policy"_s, u"noeviction"_s);
    QTRY_COMPARE(scene.verdict(), u"safe"_s);
    QVERIFY(scene.sentences(u"findings"_s).isEmpty());
    QCOMPARE(captured.count("Nothing is evicted."), 1);
}

/// A managed service may block INFO: that is said, and the engine works.
void TestRedisParts::untoldIsNoFailure()
{
    Scene scene;
    scene.acl(u"-info"_s);
    QTRY_COMPARE(scene.verdict(), u"unknown"_s);
    QVERIFY(scene.sentences(u"findings"_s).isEmpty());
    QVERIFY(scene.sentences(u"unknown"_s)[0].toString().contains(u"Allow the command"_s));
    QVERIFY(scene.parts->status()["connected"_L1].toBool());
    QVERIFY(scene.enqueues());

    scene.acl(u"+info"_s);
    QTRY_COMPARE(scene.verdict(), u"safe"_s);
}

/// sidekiq/sidekiq#2883, taskforcesh/bullmq#1046: out of memory is an outage of Redis, and ends with it.
void TestRedisParts::fullServer()
{
    Scene scene;
    QVERIFY(scene.enqueues());
    scene.set(u"maxmemory"_s, u"1mb"_s);
    QTRY_COMPARE(scene.verdict(), u"unsafe"_s);
    QVERIFY(scene.sentences(u"findings"_s)[0].toString().contains(u"Raise maxmemory"_s));
    queue::JobQueue jobs(u"test"_s, scene.parts->queueFunctions());
    queue::JobSpec spec;
    spec.type = u"work"_s;
    QCOMPARE(QCoro::waitFor(jobs.enqueue(spec)).error().code, u"redis_unavailable"_s);

    scene.set(u"maxmemory"_s, u"200mb"_s);
    QTRY_COMPARE(scene.verdict(), u"safe"_s);
    QVERIFY(scene.enqueues());
}

void TestRedisParts::replicaMissing()
{
    Scene scene(true);
    QCOMPARE(scene.verdict(), u"unsafe"_s);
    QVERIFY(scene.sentences(u"findings"_s)[0].toString().contains(u"Connect a replica"_s));
}

QTEST_GUILESS_MAIN(TestRedisParts)
#include "tst_redisparts.moc"
