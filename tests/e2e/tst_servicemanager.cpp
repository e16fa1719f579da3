// SPDX-License-Identifier: Apache-2.0
#include "jobscene.h"

#include <QtCore/QElapsedTimer>
#include <QtTest/QTest>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::JobScene;
using test::Product;

namespace {

/// The service manager's side of sd_notify: a datagram socket.
class NotifySocket {
public:
    explicit NotifySocket(const QString &path) : m_fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        qstrncpy(address.sun_path, path.toUtf8().constData(), sizeof address.sun_path);
        m_bound = ::bind(m_fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
    }
    ~NotifySocket() { ::close(m_fd); }
    bool isBound() const { return m_bound; }

    /// Everything that was told so far, a line each.
    QList<QByteArray> told()
    {
        char buffer[4096];
        for (;;) {
            const ssize_t size = ::recv(m_fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (size <= 0)
                return m_told;
            m_told += QByteArray(buffer, size).split('\n');
        }
    }

private:
    int m_fd;
    bool m_bound = false;
    QList<QByteArray> m_told;
};

} // namespace

/// What the engine tells systemd.
class TestServiceManager : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tellsReadyAliveAndStopping()
    {
        JobScene scene;
        const QString path = scene.product.folder.filePath(u"notify"_s);
        NotifySocket systemd(path);
        QVERIFY(systemd.isBound());
        qputenv("NOTIFY_SOCKET", path.toUtf8());
        qputenv("WATCHDOG_USEC", "400000");
        const bool started = scene.start();
        qunsetenv("NOTIFY_SOCKET");
        qunsetenv("WATCHDOG_USEC");
        QVERIFY2(started, scene.product.engine->log().constData());

        QVERIFY(Product::eventually(2'000, [&] { return systemd.told().contains("READY=1"); }));
        QVERIFY(systemd.told().contains("STATUS=Listening on " + scene.product.engineUrl.toUtf8()));
        const auto before = systemd.told().count("WATCHDOG=1");
        QTest::qWait(1'000);
        const auto signs = systemd.told().count("WATCHDOG=1") - before;
        QVERIFY2(signs >= 3 && signs <= 6, qPrintable(QString::number(signs))); // every 200 ms

        // An engine whose main thread hangs gives none: that is what the watchdog is for.
        QVERIFY(scene.ask({JobScene::job(u"hang"_s, u"block"_s, 2'000)}));
        QVERIFY(scene.journalSays(u"began hang"_s));
        const auto beforeHang = systemd.told().count("WATCHDOG=1");
        QTest::qWait(1'000);
        QCOMPARE(systemd.told().count("WATCHDOG=1"), beforeHang);
        QVERIFY(scene.journalSays(u"done hang"_s));

        QVERIFY(!systemd.told().contains("STOPPING=1"));
        QVERIFY(scene.ask({JobScene::job(u"long"_s, u"wait"_s, 60'000)}));
        QVERIFY(scene.journalSays(u"began long"_s));
        scene.product.engine->terminate();
        QVERIFY(Product::eventually(1'000, [&] { return systemd.told().contains("STOPPING=1"); }));
        // It is alive while it drains, too.
        const auto beforeDrain = systemd.told().count("WATCHDOG=1");
        QTest::qWait(1'000);
        QVERIFY(systemd.told().count("WATCHDOG=1") > beforeDrain);
        // Read on: who does not holds up the one that tells.
        QVERIFY(Product::eventually(15'000, [&] {
            systemd.told();
            return scene.product.engine->waitFinished(0) == 0;
        }));
    }
};

QTEST_GUILESS_MAIN(TestServiceManager)
#include "tst_servicemanager.moc"
