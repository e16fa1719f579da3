// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"
#include "log/redact.h"

#include <QtCore/QFile>
#include <QtCore/QJsonDocument>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

#include <cstdio>
#include <unistd.h>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

class TestLog : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    /// What function writes to standard error.
    template<typename Function>
    QByteArray captured(Function function)
    {
        const QString path = m_folder.filePath(u"stderr"_s);
        std::fflush(stderr);
        const int saved = ::dup(STDERR_FILENO);
        FILE *file = std::fopen(QFile::encodeName(path).constData(), "w");
        ::dup2(::fileno(file), STDERR_FILENO);
        function();
        std::fflush(stderr);
        ::dup2(saved, STDERR_FILENO);
        ::close(saved);
        std::fclose(file);
        QFile result(path);
        return result.open(QIODevice::ReadOnly) ? result.readAll() : QByteArray();
    }

private Q_SLOTS:
    void cleanup() { qInstallMessageHandler(nullptr); }

    void redaction_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        QTest::newRow("nothing") << u"3 accounts renewed in 12 ms"_s << u"3 accounts renewed in 12 ms"_s;
        QTest::newRow("address") << u"to ann.lee+x@mail.example.com."_s << u"to [address]"_s;
        QTest::newRow("in brackets") << u"<ann@example.com>"_s << u"<[address]>"_s;
        QTest::newRow("encoded") << u"GET /users/ann%40example.com/history"_s
                                 << u"GET /users/[address]/history"_s;
        QTest::newRow("non-ascii") << u"für jörg@bücher.example da"_s << u"für [address] da"_s;
        QTest::newRow("bearer") << u"Authorization: Bearer abc.DEF-1_2"_s
                                << u"Authorization: Bearer [redacted]"_s;
        QTest::newRow("form") << u"refresh_token=1%2F%2Fxyz&client_id=c"_s
                              << u"refresh_token=[redacted]&client_id=c"_s;
        QTest::newRow("json") << u"{\"client_secret\": \"s3cret\", \"n\": 1}"_s
                              << u"{\"client_secret\": \"[redacted]\", \"n\": 1}"_s;
        QTest::newRow("google access token") << u"got ya29.A0-x_y done"_s << u"got [token] done"_s;
        QTest::newRow("google refresh token") << u"got 1//0gAb-c done"_s << u"got [token] done"_s;
        QTest::newRow("url password")
            << u"redis://tk:hush@r.example:6379/0"_s << u"redis://[redacted]@r.example:6379/0"_s;
    }

    void redaction()
    {
        QFETCH(QString, text);
        QTEST(log::redact(text), "expected");
    }

    void textLine()
    {
        const QByteArray out = captured([] {
            log::setUp(log::Level::Info, log::Format::Text);
            log::debug(u"redis"_s, u"not shown"_s);
            log::warning(u"redis"_s, u"lost ann@example.com\nagain"_s,
                         {{u"tries"_s, 3}, {u"what"_s, u"x"_s}});
        });
        QVERIFY2(out.endsWith("Z warning redis: lost [address] again  tries=3  what=x\n"), out.constData());
        QCOMPARE(out.count('\n'), 1);
    }

    void jsonLine()
    {
        const QByteArray out = captured([] {
            log::setUp(log::Level::Debug, log::Format::Json);
            log::error(u"oauth"_s, u"token refused"_s, {{u"token"_s, u"ya29.secret"_s}, {u"status"_s, 400}});
        });
        const QJsonObject line = QJsonDocument::fromJson(out).object();
        QCOMPARE(line["level"_L1].toString(), u"error"_s);
        QCOMPARE(line["component"_L1].toString(), u"oauth"_s);
        QCOMPARE(line["token"_L1].toString(), u"[token]"_s);
        QCOMPARE(line["status"_L1].toInt(), 400);
        QVERIFY(line["ts"_L1].toString().endsWith(u'Z'));
    }

    void messagesOfQt()
    {
        const QByteArray out = captured([] {
            log::setUp(log::Level::Info, log::Format::Text);
            qWarning("from Qt");
        });
        QVERIFY2(out.contains("warning default: from Qt"), out.constData());
    }
};

QTEST_GUILESS_MAIN(TestLog)
#include "tst_log.moc"
