// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <QtCore/QFile>
#include <QtCore/QSemaphore>
#include <QtCore/QThread>
#include <QtNetwork/QTcpServer>
#include <QtNetwork/QTcpSocket>
#include <QtTest/QTest>

#include <atomic>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::Program;

namespace {

/// Answers as a Redis without functions: INFO with an old version, everything else is unknown to it.
class OldRedis {
public:
    OldRedis()
    {
        QSemaphore listening;
        m_thread.reset(QThread::create([this, &listening] { serve(listening); }));
        m_thread->start();
        listening.acquire();
    }
    ~OldRedis()
    {
        m_stop = true;
        m_thread->wait();
    }
    quint16 port() const { return m_port; }

private:
    static QByteArray answer(const QByteArray &command)
    {
        if (command.contains("INFO"))
            return "$21\r\nredis_version:6.2.5\r\n\r\n";
        return command.contains("CLIENT") ? "+OK\r\n" : "-ERR unknown command\r\n";
    }

    void serve(QSemaphore &listening)
    {
        QTcpServer server;
        server.listen(QHostAddress::LocalHost);
        m_port = server.serverPort();
        listening.release();
        QTcpSocket *socket = nullptr;
        while (!m_stop) {
            if (server.waitForNewConnection(socket ? 0 : 50))
                socket = server.nextPendingConnection();
            if (!socket || !socket->waitForReadyRead(20))
                continue;
            // Each command begins with its number of words.
            for (const QByteArray &command : socket->readAll().split('*').mid(1))
                socket->write(answer(command));
            socket->flush();
        }
    }

    std::unique_ptr<QThread> m_thread;
    std::atomic<quint16> m_port = 0;
    std::atomic<bool> m_stop = false;
};

} // namespace

/// What an engine says that cannot start: the exit codes of tidekeeperd --help, and a sentence with the remedy.
class TestBadStart : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    QString path(const QString &name) const { return m_folder.filePath(name); }

    void write(const QString &name, const QByteArray &text)
    {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("cannot write the test's file");
    }

    void expect(const QStringList &arguments, int exitCode, const QByteArray &says)
    {
        Program engine(u"tidekeeperd"_s, arguments, path(u"log"_s));
        QCOMPARE(engine.waitFinished(20'000), exitCode);
        QVERIFY2(engine.log().contains(says), engine.log().constData());
        QVERIFY(!engine.log().contains("listening on"));
    }

private Q_SLOTS:
    void commandLine()
    {
        expect({u"surplus"_s}, 2, "unexpected argument \"surplus\"");
        expect({u"--bogus"_s}, 2, "bogus");
        expect({u"--listen"_s}, 2, "listen");
    }

    void configuration()
    {
        write(u"bad.toml"_s, "[http]\nlissen = \"127.0.0.1:0\"\n");
        expect({u"--config"_s, path(u"bad.toml"_s), u"--state-dir"_s, path(u"a"_s)}, 3,
               "http.lissen (line 2) is not a key that exists here. Did you mean \"listen\"?");
        QVERIFY(!QFile::exists(path(u"a"_s))); // nothing half done
        expect({u"--listen"_s, u"nowhere"_s, u"--state-dir"_s, path(u"a"_s)}, 3, "HOST:PORT");
        expect({u"--config"_s, path(u"none.toml"_s), u"--state-dir"_s, path(u"a"_s)}, 3, "cannot be read");
    }

    void stateFolder()
    {
        write(u"file"_s, "");
        expect({u"--state-dir"_s, path(u"file"_s)}, 4, "--state-dir");
        Program first(u"tidekeeperd"_s, {u"--state-dir"_s, path(u"one"_s), u"--listen"_s, u"127.0.0.1:0"_s},
                      path(u"first.log"_s));
        QVERIFY(!first.waitListening().isEmpty());
        expect({u"--state-dir"_s, path(u"one"_s), u"--listen"_s, u"127.0.0.1:0"_s}, 4,
               "in use by another engine (process " + QByteArray::number(first.processId()));
    }

    void address()
    {
        QTcpServer taken;
        QVERIFY(taken.listen(QHostAddress::LocalHost));
        const QString address = u"127.0.0.1:%1"_s.arg(taken.serverPort());
        expect({u"--state-dir"_s, path(u"b"_s), u"--listen"_s, address}, 5, address.toUtf8());
        expect({u"--state-dir"_s, path(u"b"_s), u"--listen"_s, u"0.0.0.0:0"_s}, 5, "TLS");
        // Nothing half done: neither keys nor a database nor a Redis.
        const QStringList left = QDir(path(u"b"_s)).entryList(QDir::AllEntries | QDir::NoDotAndDotDot);
        QCOMPARE(left, QStringList{u"lock"_s});
    }

    void sealingKey()
    {
        {
            Program engine(u"tidekeeperd"_s,
                           {u"--state-dir"_s, path(u"k"_s), u"--listen"_s, u"127.0.0.1:0"_s},
                           path(u"k.log"_s));
            QVERIFY(!engine.waitListening().isEmpty());
        }
        QFile key(path(u"k/sealing.key"_s));
        QVERIFY(key.remove());
        write(u"k/sealing.key"_s, QByteArray(64, 'a') + '\n');
        QVERIFY(key.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner));
        expect({u"--state-dir"_s, path(u"k"_s), u"--listen"_s, u"127.0.0.1:0"_s}, 8, "key");
    }

    void redisTooOld()
    {
        OldRedis old;
        write(u"old.toml"_s, "[redis]\nurl = \"redis://127.0.0.1:" + QByteArray::number(old.port()) + "\"\n");
        expect({u"--config"_s, path(u"old.toml"_s), u"--state-dir"_s, path(u"o"_s), u"--listen"_s,
                u"127.0.0.1:0"_s},
               6, "Redis 6.2.5 is too old");
    }

    void redisMissing()
    {
        const QByteArray before = qgetenv("PATH");
        qputenv("PATH", path(u"empty"_s).toUtf8());
        expect({u"--state-dir"_s, path(u"r"_s), u"--listen"_s, u"127.0.0.1:0"_s}, 6,
               "apt install redis-server");
        qputenv("PATH", before);
    }
};

QTEST_GUILESS_MAIN(TestBadStart)
#include "tst_badstart.moc"
