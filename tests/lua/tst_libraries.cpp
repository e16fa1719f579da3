// SPDX-License-Identifier: Apache-2.0
#include "limits/quotalibrary.h"
#include "queue/jobqueue.h"
#include "support/testredis.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

/// Names of functions are global in Redis: all libraries of the product live on one server.
class TestLibraries : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void allLoadOnOneServer()
    {
        test::TestRedis server;
        QVERIFY(server.start());
        redis::RedisConnection connection(*redis::Endpoint::fromUrl(server.url()));
        connection.open();
        QVERIFY(QCoro::waitFor(connection.waitReady(10'000)));
        const auto embedded = [](const QString &file) { return redis::FunctionLibrary::embedded(file); };
        const QList<std::pair<QByteArray, QByteArray>> libraries{
            {"tidekeeper_quota", limits::libraryCode()},
            {"tidekeeper_queue", queue::libraryCode()},
            {"tidekeeper_lease", embedded(u"lease.lua"_s)},
        };
        for (const auto &[name, code] : libraries) {
            redis::FunctionLibrary library(connection, name, code);
            const Result<> loaded = QCoro::waitFor(library.ensureLoaded());
            QVERIFY2(loaded, qPrintable(loaded ? QString() : loaded.error().text));
        }
    }
};

QTEST_GUILESS_MAIN(TestLibraries)
#include "tst_libraries.moc"
