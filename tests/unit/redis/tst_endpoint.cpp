// SPDX-License-Identifier: Apache-2.0
#include "redis/endpoint.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::redis;

class EndpointTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void url_data()
    {
        QTest::addColumn<QString>("url");
        QTest::addColumn<QString>("display"); // empty: refused
        QTest::addColumn<QString>("username");
        QTest::addColumn<QByteArray>("password");

        const auto row = [](const char *url, const char *display, const char *user = "",
                            const char *password = "") {
            QTest::newRow(url) << QString::fromLatin1(url) << QString::fromLatin1(display)
                               << QString::fromLatin1(user) << QByteArray(password);
        };
        row("redis://localhost", "redis://localhost:6379/0");
        row("redis://localhost:6380/3", "redis://localhost:6380/3");
        row("redis://[::1]:6380", "redis://[::1]:6380/0");
        row("rediss://redis.example", "rediss://redis.example:6379/0");
        row("redis://:pa%40ss@localhost", "redis://localhost:6379/0", "", "pa@ss");
        row("redis://engine:secret@localhost", "redis://localhost:6379/0", "engine", "secret");
        row("unix:/run/redis.sock", "unix:/run/redis.sock");
        row("unix:///run/redis.sock", "unix:/run/redis.sock");
        row("unix:/run/redis.sock?db=2", "unix:/run/redis.sock?db=2");
        row("unix:/run/with%20space.sock", "unix:/run/with space.sock");

        row("", "");
        row("localhost:6379", "");
        row("http://localhost", "");
        row("redis://", "");
        row("redis://localhost:99999", "");
        row("redis://localhost/first", "");
        row("redis://localhost/-1", "");
        row("unix:relative.sock", "");
        row("unix://host/path", "");
        row("unix:", "");
    }

    void url()
    {
        QFETCH(QString, url);
        QFETCH(QString, display);
        const Result<Endpoint> endpoint = Endpoint::fromUrl(url);
        if (display.isEmpty()) {
            QVERIFY(!endpoint);
            QCOMPARE(endpoint.error().code, u"invalid_redis_url"_s);
            QCOMPARE(endpoint.error().details.value(u"field"_s).toString(), u"redis.url"_s);
            return;
        }
        QVERIFY(endpoint);
        QCOMPARE(endpoint->display(), display);
        QTEST(endpoint->username, "username");
        QTEST(endpoint->password, "password");
    }

    void refusalNeverRepeatsThePassword()
    {
        const Result<Endpoint> endpoint = Endpoint::fromUrl(u"redis://:hunter2@localhost/first"_s);
        QVERIFY(!endpoint);
        QVERIFY(!endpoint.error().text.contains(u"hunter2"_s));
    }
};

QTEST_GUILESS_MAIN(EndpointTest)
#include "tst_endpoint.moc"
