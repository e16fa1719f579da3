// SPDX-License-Identifier: Apache-2.0
#include "app/statedir.h"

#include <QtCore/QFile>
#include <QtCore/QFileInfo>
#include <QtCore/QTemporaryDir>
#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using app::StateDir;

class TestStateDir : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

private Q_SLOTS:
    void madePrivate()
    {
        const QString path = m_folder.filePath(u"a/b"_s);
        const Result<StateDir> dir = StateDir::open(path);
        QVERIFY2(dir, dir ? "" : qPrintable(dir.error().text));
        const auto groupAndOthers = QFileDevice::ReadGroup | QFileDevice::WriteGroup | QFileDevice::ExeGroup
            | QFileDevice::ReadOther | QFileDevice::WriteOther | QFileDevice::ExeOther;
        QVERIFY(!(QFileInfo(path).permissions() & groupAndOthers));
    }

    void oneEngineAtATime()
    {
        const QString path = m_folder.filePath(u"locked"_s);
        std::optional<Result<StateDir>> first = StateDir::open(path);
        QVERIFY(*first);
        const Result<StateDir> second = StateDir::open(path);
        QVERIFY(!second);
        QCOMPARE(second.error().code, u"state_dir_locked"_s);
        QVERIFY(second.error().text.contains(QString::number(QCoreApplication::applicationPid())));
        first.reset();
        QVERIFY(StateDir::open(path));
    }

    void notAFolder()
    {
        QFile file(m_folder.filePath(u"file"_s));
        QVERIFY(file.open(QIODevice::WriteOnly));
        const Result<StateDir> dir = StateDir::open(file.fileName());
        QVERIFY(!dir);
        QCOMPARE(dir.error().code, u"state_dir_unwritable"_s);
        QVERIFY(dir.error().text.contains(u"--state-dir"_s));
    }

    void filesAreWholeAndPrivate()
    {
        const Result<StateDir> dir = StateDir::open(m_folder.filePath(u"files"_s));
        QVERIFY(dir);
        QVERIFY(dir->writeFile(u"endpoint"_s, "one\n"));
        QVERIFY(dir->writeFile(u"endpoint"_s, "two\n"));
        QFile file(dir->file(u"endpoint"_s));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("two\n"));
        QVERIFY(!(file.permissions() & (QFileDevice::ReadGroup | QFileDevice::ReadOther)));
        dir->removeFile(u"endpoint"_s);
        QVERIFY(!QFile::exists(dir->file(u"endpoint"_s)));
    }

    void defaultPath()
    {
        qputenv("TIDEKEEPER_STATE_DIR", "/a");
        qputenv("STATE_DIRECTORY", "/b");
        qputenv("XDG_STATE_HOME", "/c");
        QCOMPARE(StateDir::defaultPath(), u"/a"_s);
        qunsetenv("TIDEKEEPER_STATE_DIR");
        QCOMPARE(StateDir::defaultPath(), u"/b"_s);
        qunsetenv("STATE_DIRECTORY");
        QCOMPARE(StateDir::defaultPath(), u"/c/tidekeeper"_s);
        qunsetenv("XDG_STATE_HOME");
        QVERIFY(StateDir::defaultPath().endsWith(u"/.local/state/tidekeeper"_s));
    }
};

QTEST_GUILESS_MAIN(TestStateDir)
#include "tst_statedir.moc"
