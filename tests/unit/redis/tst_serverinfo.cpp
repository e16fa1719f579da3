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
        row("snapshot fails", "rdb_last_bgsave_status:err", "snapshot", Verdict::Unsafe);
    }

    void safety()
    {
        QFETCH(QByteArray, info);
        QFETCH(QString, subject);
        QFETCH(Verdict, verdict);
        const ServerInfo parsed = ServerInfo::parse(info);
        const std::optional<ServerInfo::Finding> found = finding(parsed, subject);
        QVERIFY(found);
        QCOMPARE(found->verdict, verdict);
        QVERIFY(found->text.endsWith(u'.'));
        QVERIFY(parsed.verdict() >= verdict);
    }

    void realServer()
    {
        test::TestRedis server({u"--appendonly"_s, u"yes"_s});
        QVERIFY(server.start());
        RedisConnection connection(Endpoint::fromUrl(server.url()).value());
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(5000)));
        const Result<ServerInfo> info = QCoro::waitFor(readServerInfo(connection, 5000));
        QVERIFY(info);
        QVERIFY(info->supported());
        QVERIFY(info->processId > 0);
        QCOMPARE(finding(*info, u"persistence"_s)->verdict, Verdict::Safe);
        QCOMPARE(finding(*info, u"eviction"_s)->verdict, Verdict::Safe);

        server.cli(
            {u"config"_s, u"set"_s, u"maxmemory"_s, u"100mb"_s, u"maxmemory-policy"_s, u"allkeys-lru"_s});
        QCOMPARE(QCoro::waitFor(readServerInfo(connection, 5000))->verdict(), Verdict::Unsafe);
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
    }
};

QTEST_GUILESS_MAIN(ServerInfoTest)
#include "tst_serverinfo.moc"
