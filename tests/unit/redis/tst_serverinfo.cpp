// SPDX-License-Identifier: Apache-2.0
#include "redis/serverinfo.h"
#include "support/testredis.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::redis;

using Verdict = ServerInfo::Verdict;

namespace {

std::optional<ServerInfo::Finding> finding(const ServerInfo &info, const QString &subject)
{
    for (const ServerInfo::Finding &found : info.findings) {
        if (found.subject == subject)
            return found;
    }
    return std::nullopt;
}

} // namespace

class ServerInfoTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void version_data()
    {
        QTest::addColumn<QByteArray>("info");
        QTest::addColumn<QString>("product");
        QTest::addColumn<bool>("supported");
        QTest::newRow("7.0") << QByteArray("redis_version:7.0.0\r\n") << u"Redis"_s << true;
        QTest::newRow("8") << QByteArray("redis_version:8.2.1\r\n") << u"Redis"_s << true;
        QTest::newRow("10") << QByteArray("redis_version:10.0.0\r\n") << u"Redis"_s << true;
        QTest::newRow("6.2") << QByteArray("redis_version:6.2.14\r\n") << u"Redis"_s << false;
        QTest::newRow("Valkey") << QByteArray(
            "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\n")
                                << u"Valkey"_s << true;
        QTest::newRow("not told") << QByteArray("# Server\r\n") << u"Redis"_s << true;
    }

    void version()
    {
        QFETCH(QByteArray, info);
        const ServerInfo parsed = ServerInfo::parse(info);
        QTEST(parsed.product, "product");
        const Result<> supported = parsed.supported();
        QTEST(supported.has_value(), "supported");
        if (!supported) {
            QCOMPARE(supported.error().code, u"redis_too_old"_s);
            QVERIFY(supported.error().text.contains(u"6.2.14"_s));
        }
    }

    void safety_data()
    {
        QTest::addColumn<QByteArray>("info");
        QTest::addColumn<QString>("subject");
        QTest::addColumn<Verdict>("verdict");
        const auto row = [](const char *name, const char *info, const char *subject, Verdict verdict) {
            QTest::newRow(name) << QByteArray(info).replace(' ', "\r\n") << QString::fromLatin1(subject)
                                << verdict;
        };
        row("no eviction", "maxmemory:1000 maxmemory_policy:noeviction", "eviction", Verdict::Safe);
        row("eviction", "maxmemory:1000 maxmemory_policy:allkeys-lru", "eviction", Verdict::Unsafe);
        row("eviction of keys with a time", "maxmemory:1000 maxmemory_policy:volatile-ttl", "eviction",
            Verdict::Unsafe);
        row("eviction without a limit", "maxmemory:0 maxmemory_policy:allkeys-lru", "eviction",
            Verdict::Safe);
        row("eviction not told", "maxmemory:0", "eviction", Verdict::Unknown);
        row("append-only", "aof_enabled:1 aof_last_write_status:ok", "persistence", Verdict::Safe);
        row("not append-only", "aof_enabled:0", "persistence", Verdict::Unsafe);
        row("append-only fails", "aof_enabled:1 aof_last_write_status:err", "persistence", Verdict::Unsafe);
        row("persistence not told", "", "persistence", Verdict::Unknown);
        row("room", "used_memory:899 maxmemory:1000", "memory", Verdict::Safe);
        row("nearly full", "used_memory:900 maxmemory:1000", "memory", Verdict::Unsafe);
        row("machine has room", "used_memory:10 maxmemory:0 total_system_memory:100", "memory",
            Verdict::Safe);
        row("machine is full", "used_memory:95 maxmemory:0 total_system_memory:100", "memory",
            Verdict::Unsafe);
        row("memory not told", "used_memory:95", "memory", Verdict::Unknown);
        row("replica", "role:slave", "role", Verdict::Unsafe);
        row("append-only rewrite fails",
            "aof_enabled:1 aof_last_write_status:ok aof_last_bgrewrite_status:err", "persistence",
            Verdict::Unsafe);
        row("version", "redis_version:7.0.15", "version", Verdict::Safe);
        row("version too old", "redis_version:6.2.14", "version", Verdict::Unsafe);
        row("version not told", "", "version", Verdict::Unknown);
        row("primary with a replica",
            "connected_slaves:2 slave0:ip=h,port=1,state=wait_bgsave,offset=0,lag=0 "
            "slave1:ip=h,port=2,state=online,offset=9,lag=1",
            "replicas", Verdict::Safe);
        row("replica that stands still", "connected_slaves:1 slave0:ip=h,port=1,state=online,offset=9,lag=11",
            "replicas", Verdict::Unsafe);
        row("replica that loads", "connected_slaves:1 slave0:ip=h,port=1,state=send_bulk,offset=9,lag=0",
            "replicas", Verdict::Unsafe);
        row("no replica", "connected_slaves:0", "replicas", Verdict::Unsafe);
        row("replicas not told", "", "replicas", Verdict::Unknown);
        row("snapshot fails", "rdb_last_bgsave_status:err", "snapshot", Verdict::Unsafe);
    }

    void safety()
    {
        QFETCH(QByteArray, info);
        QFETCH(QString, subject);
        QFETCH(Verdict, verdict);
        const ServerInfo parsed = ServerInfo::parse(info, true);
        const std::optional<ServerInfo::Finding> found = finding(parsed, subject);
        QVERIFY(found);
        QCOMPARE(found->verdict, verdict);
        QVERIFY(found->text.endsWith(u'.'));
        QVERIFY(parsed.verdict() >= verdict);
    }

    void fullIsNotSoon()
    {
        const auto textAt = [](const QByteArray &used) {
            const ServerInfo info = ServerInfo::parse("used_memory:" + used + "\nmaxmemory:1000\n");
            return finding(info, u"memory"_s).value_or(ServerInfo::Finding{}).text;
        };
        QVERIFY(textAt("999").contains(u": soon the server refuses writes"_s));
        QVERIFY(textAt("1000").contains(u": the server refuses writes"_s));
    }

    void changes()
    {
        const ServerInfo before = ServerInfo::parse("redis_version:7.0.0\naof_enabled:1\nrole:slave\n");
        QVERIFY(before.changesSince(before).isEmpty());
        const ServerInfo after = ServerInfo::parse("redis_version:7.0.0\naof_enabled:0\nrole:master\n");
        const QList<ServerInfo::Finding> changes = after.changesSince(before);
        QCOMPARE(changes.size(), 2);
        QCOMPARE(changes[0].subject, u"persistence"_s);
        QCOMPARE(changes[0].verdict, Verdict::Unsafe);
        QCOMPARE(changes[1].subject, u"role"_s); // what is no longer found is well again
        QCOMPARE(changes[1].verdict, Verdict::Safe);
    }

    void realServer_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("subject");
        QTest::addColumn<Verdict>("verdict");
        const auto row = [](const char *name, const QString &arguments, const QString &subject,
                            Verdict verdict) {
            QTest::newRow(name) << arguments.split(u' ', Qt::SkipEmptyParts) << subject << verdict;
        };
        const QString kept = u"--appendonly yes "_s;
        row("version", kept, u"version"_s, Verdict::Safe);
        row("append-only", kept, u"persistence"_s, Verdict::Safe);
        row("no persistence", {}, u"persistence"_s, Verdict::Unsafe);
        row("snapshots only", u"--save 60 1"_s, u"persistence"_s, Verdict::Unsafe);
        row("no eviction", kept + u"--maxmemory 100mb"_s, u"eviction"_s, Verdict::Safe);
        // taskforcesh/bullmq#1046, sidekiq/sidekiq#2883, rq/rq#1280: jobs, locks and buckets vanish.
        row("allkeys-lru", kept + u"--maxmemory 100mb --maxmemory-policy allkeys-lru"_s, u"eviction"_s,
            Verdict::Unsafe);
        // taskforcesh/bullmq#2215: locks have an expiry, so that volatile policies take them.
        row("volatile-lru", kept + u"--maxmemory 100mb --maxmemory-policy volatile-lru"_s, u"eviction"_s,
            Verdict::Unsafe);
        row("room", kept + u"--maxmemory 100mb"_s, u"memory"_s, Verdict::Safe);
        row("nearly full", kept + u"--maxmemory 1mb"_s, u"memory"_s, Verdict::Unsafe);
        row("no replica", kept, u"replicas"_s, Verdict::Unsafe);
    }

    void realServer()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, subject);
        test::TestRedis server(arguments);
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        const Result<ServerInfo> info = QCoro::waitFor(readServerInfo(connection, 5000, true));
        QVERIFY(info);
        QVERIFY(info->supported());
        QVERIFY(info->processId > 0);
        QTEST(finding(*info, subject)->verdict, "verdict");
    }

    void replicaAndItsPrimary()
    {
        test::TestRedis primary({}, true);
        QVERIFY(primary.start());
        test::TestRedis replica({u"--replicaof"_s, u"127.0.0.1"_s, QString::number(primary.port()),
                                 u"--repl-diskless-sync-delay"_s, u"0"_s});
        QVERIFY(replica.start());
        RedisConnection atReplica(Endpoint::fromUrl(replica.url()).value());
        atReplica.open();
        QVERIFY(QCoro::waitFor(atReplica.waitReady(5000)));
        const Result<ServerInfo> info = QCoro::waitFor(readServerInfo(atReplica, 5000));
        QVERIFY(info);
        QCOMPARE(finding(*info, u"role"_s)->verdict, Verdict::Unsafe);

        RedisConnection atPrimary(Endpoint::fromUrl(primary.url()).value());
        atPrimary.open();
        QVERIFY(QCoro::waitFor(atPrimary.waitReady(5000)));
        const auto replicas = [&] {
            const Result<ServerInfo> told = QCoro::waitFor(readServerInfo(atPrimary, 5000, true));
            return told ? finding(*told, u"replicas"_s)->verdict : Verdict::Unknown;
        };
        QTRY_COMPARE_WITH_TIMEOUT(replicas(), Verdict::Safe, 10'000);
        replica.kill();
        QTRY_COMPARE_WITH_TIMEOUT(replicas(), Verdict::Unsafe, 10'000);
    }

    /// As managed services have it: INFO does, CONFIG is not there.
    void withoutConfig()
    {
        test::TestRedis server({u"--appendonly"_s, u"yes"_s});
        QVERIFY(server.start());
        server.cli({u"acl"_s, u"setuser"_s, u"default"_s, u"-config"_s});
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        QVERIFY(QCoro::waitFor(connection.command({"CONFIG", "GET", "maxmemory"}))->isError());
        QCOMPARE(QCoro::waitFor(readServerInfo(connection, 5000))->verdict(), Verdict::Safe);
    }

    void refusedInfo()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        server.cli({u"acl"_s, u"setuser"_s, u"default"_s, u"-info"_s});
        const Result<ServerInfo> info = QCoro::waitFor(readServerInfo(connection, 5000));
        QVERIFY(!info);
        QCOMPARE(info.error().code, u"redis_refused"_s);
        const ServerInfo untold = ServerInfo::untold(info.error().text);
        QCOMPARE(untold.verdict(), Verdict::Unknown);
        QVERIFY(untold.findings.first().text.contains(u"Allow the command to this user."_s));
        QVERIFY(untold.supported());
    }
};

QTEST_GUILESS_MAIN(ServerInfoTest)
#include "tst_serverinfo.moc"
