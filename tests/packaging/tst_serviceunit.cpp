// SPDX-License-Identifier: Apache-2.0
#include <QtCore/QFile>
#include <QtCore/QProcess>
#include <QtCore/QRegularExpression>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;

/// The unit of systemd: what a queue that survives its jobs, and a machine that does not trust it, need.
class TestServiceUnit : public QObject {
    Q_OBJECT

private:
    using Values = QMultiMap<QString, QString>; ///< "Service/Restart" → value

    static QByteArray read(const QString &path)
    {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    static Values valuesOf(const QByteArray &unit)
    {
        Values values;
        QString section;
        for (const QByteArray &line : unit.split('\n')) {
            const QString text = QString::fromUtf8(line).trimmed();
            if (text.startsWith(u'['))
                section = text.mid(1).chopped(1);
            else if (!text.isEmpty() && !text.startsWith(u'#'))
                values.insert(section + u'/' + text.section(u'=', 0, 0), text.section(u'=', 1));
        }
        return values;
    }

    const Values m_unit =
        valuesOf(read(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/packaging/systemd/tidekeeper.service")));

private Q_SLOTS:
    void says_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        const auto row = [](const char *key, const QString &value) {
            QTest::newRow(key) << QString::fromLatin1(key) << value;
        };
        // A poison job needs three starts: the unit has to live through all of them (pipeshub-ai/pipeshub-ai#3037).
        row("Unit/StartLimitIntervalSec", u"0"_s);
        row("Service/Restart", u"always"_s);
        row("Service/RestartSec", u"2"_s);
        row("Service/Type", u"notify"_s);
        row("Service/NotifyAccess", u"main"_s);
        // A signal to all would take the private Redis away before the drain (langfuse/langfuse#16966).
        row("Service/KillMode", u"mixed"_s);
        row("Service/User", u"tidekeeper"_s);
        row("Service/Group", u"tidekeeper"_s);
        row("Service/StateDirectory", u"tidekeeper"_s);
        row("Service/StateDirectoryMode", u"0700"_s);
        row("Service/UMask", u"0077"_s);
        row("Service/LimitNOFILE", u"65536"_s);
        row("Service/NoNewPrivileges", u"yes"_s);
        row("Service/CapabilityBoundingSet", QString());
        row("Service/ProtectSystem", u"strict"_s);
        row("Service/ProtectHome", u"yes"_s);
        row("Service/PrivateTmp", u"yes"_s);
        row("Service/PrivateDevices", u"yes"_s);
        row("Install/WantedBy", u"multi-user.target"_s);
    }

    void says()
    {
        QFETCH(const QString, key);
        QCOMPARE(m_unit.count(key), 1);
        QTEST(m_unit.value(key), "value");
    }

    /// The engine's own bounds are in tidekeeperd --help and below those of systemd.
    void leavesTheEngineItsTime()
    {
        QVERIFY(m_unit.value(u"Service/TimeoutStopSec"_s).toInt() > 15);
        const int watchdog = m_unit.value(u"Service/WatchdogSec"_s).toInt();
        QVERIFY(watchdog >= 10 && watchdog <= 60); // a sign of life at half of it
    }

    void startsTheEngineWithoutSecrets()
    {
        const QStringList words = m_unit.value(u"Service/ExecStart"_s).split(u' ');
        QCOMPARE(words.first(), u"/usr/bin/tidekeeperd"_s);
        QProcess engine;
        engine.start(QStringLiteral(TIDEKEEPER_BINARY_DIR "/bin/tidekeeperd"), {u"--help"_s});
        QVERIFY(engine.waitForFinished());
        const QString help = QString::fromUtf8(engine.readAllStandardOutput());
        for (const QString &word : words.mid(1))
            QVERIFY2(word.startsWith(u'/') || help.contains(word), qPrintable(word));
        for (auto entry = m_unit.begin(); entry != m_unit.end(); ++entry) {
            static const QRegularExpression secret(u"(secret|token|password)\\s*="_s,
                                                   QRegularExpression::CaseInsensitiveOption);
            QVERIFY2(!entry.value().contains(secret), qPrintable(entry.value()));
        }
        QVERIFY(words.contains(u"/var/lib/"_s + m_unit.value(u"Service/StateDirectory"_s)));
    }

    void makesItsUser()
    {
        const QByteArray users =
            read(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/packaging/systemd/tidekeeper.sysusers"));
        const QString user = m_unit.value(u"Service/User"_s);
        const QRegularExpression line(u"^u %1 - .* /var/lib/%1$"_s.arg(user),
                                      QRegularExpression::MultilineOption);
        QVERIFY(line.match(QString::fromUtf8(users)).hasMatch());
    }

    /// Installed elsewhere, the unit starts what was installed there.
    void followsThePrefix()
    {
        const Values built =
            valuesOf(read(QStringLiteral(TIDEKEEPER_BINARY_DIR "/packaging/tidekeeper.service")));
        QCOMPARE(built.size(), m_unit.size());
        QVERIFY(built.value(u"Service/ExecStart"_s)
                    .startsWith(QStringLiteral(TIDEKEEPER_BINDIR) + u"/tidekeeperd --config "_s));
    }
};

QTEST_GUILESS_MAIN(TestServiceUnit)
#include "tst_serviceunit.moc"
