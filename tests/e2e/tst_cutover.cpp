// SPDX-License-Identifier: Apache-2.0
#include "product.h"
#include "support/testpostgres.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>
#include <QtCore/QProcess>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using test::Product;

namespace {

constexpr int patienceMs = 60'000;
constexpr int mailboxes = 40;
const QByteArray observing = "[plugins.watch-renewal]\nmode = \"observe\"\n";

/// The commands of the document, a text for each block.
QStringList commandBlocks()
{
    QFile file(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/resources/doc/cut-over.md"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("The document is missing.");
    QStringList blocks;
    const QStringList parts = QString::fromUtf8(file.readAll()).split(u"```sh\n"_s);
    for (qsizetype i = 1; i < parts.size(); ++i)
        blocks.append(parts[i].section(u"```"_s, 0, 0));
    return blocks;
}

} // namespace

/// The commands of resources/doc/cut-over.md, in their order, against real processes: another system's PostgreSQL, the
/// engine, and a simulated Google that tells who was called.
class TestCutOver : public QObject {
    Q_OBJECT

private:
    /// What it prints; ends the test when the block fails.
    QString run(const QString &block)
    {
        QProcess shell;
        shell.setWorkingDirectory(m_product.folder.path());
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(u"PATH"_s,
                           QStringLiteral(TIDEKEEPER_BINARY_DIR "/bin:") + environment.value(u"PATH"_s));
        environment.insert(u"TIDEKEEPER_URL"_s, m_product.engineUrl);
        environment.insert(u"TIDEKEEPER_TOKEN_FILE"_s, m_product.stateDir() + u"/admin.token"_s);
        environment.insert(u"OTHER_DATABASE"_s, m_other.url());
        shell.setProcessEnvironment(environment);
        shell.setProcessChannelMode(QProcess::MergedChannels);
        shell.start(u"sh"_s, {u"-eu"_s, u"-c"_s, block});
        shell.waitForFinished(patienceMs);
        const QString printed = QString::fromUtf8(shell.readAll());
        if (shell.exitStatus() != QProcess::NormalExit || shell.exitCode() != 0)
            qFatal("%s\nended with %d: %s", qPrintable(block), shell.exitCode(), qPrintable(printed));
        return printed;
    }

    int accountsIn(const QString &state)
    {
        const QJsonObject list = m_product.engineGet(u"/api/v1/accounts?limit=1"_s).body;
        return list["facets"_L1]["state"_L1][state].toInt();
    }
    int watches() { return m_product.googleTotals()["watches"_L1].toInt(); }

    /// The other system: a table of mailboxes whose watches lapse within the hour.
    void makeOtherSystem()
    {
        QVERIFY(m_other.start());
        const demo::JsonAnswer made = m_product.googlePost(
            u"/sim/accounts"_s, {{u"count"_s, mailboxes}, {u"watch_expires_in_ms"_s, 1'800'000}});
        m_other.sql(u"create table gmail_watches (user_id text, mail text, token text, watch_expiration text,"
                    " last_history_id bigint)"_s);
        const QString expires = QDateTime::currentDateTimeUtc().addSecs(1'800).toString(Qt::ISODate);
        for (const QJsonValue &account : made.body["accounts"_L1].toArray())
            m_other.sql(u"insert into gmail_watches values ('%1', '%2', '%3', '%4', 12345)"_s.arg(
                account["id"_L1].toString(), account["email"_L1].toString(),
                account["refresh_token"_L1].toString(), expires));
    }

    void restart(const QByteArray &config)
    {
        m_product.engine->terminate();
        QCOMPARE(m_product.engine->waitFinished(15'000), 0);
        QVERIFY2(m_product.startEngine(config), m_product.engine->log().constData());
    }

    Product m_product;
    test::TestPostgres m_other;

private Q_SLOTS:
    void walk()
    {
        if (const auto missing = test::TestPostgres::missing())
            QSKIP(qPrintable(*missing));
        const QStringList blocks = commandBlocks();
        QCOMPARE(blocks.size(), 6);
        QVERIFY(m_product.startGoogle());
        QVERIFY2(m_product.startEngine(observing), m_product.engine->log().constData());
        makeOtherSystem();

        const QString imported = run(blocks[0]);
        QVERIFY2(imported.contains(u"40 created"_s), qPrintable(imported));
        QCOMPARE(accountsIn(u"paused"_s), mailboxes);
        QVERIFY(!QFile::exists(m_product.folder.filePath(u"mailboxes.csv"_s)));

        const QString seen = run(blocks[1]);
        QVERIFY2(seen.contains(u"20 of 40"_s), qPrintable(seen));
        QCOMPARE(accountsIn(u"paused"_s), mailboxes);
        QCOMPARE(watches(), 0); // it observed

        restart({});
        QTest::qWait(1'500); // a scan at least
        QCOMPARE(watches(), 0); // all are paused

        run(blocks[2]);
        const int share = accountsIn(u"active"_s);
        QVERIFY2(share > 0 && share < mailboxes / 2, qPrintable(QString::number(share)));
        QVERIFY(Product::eventually(patienceMs, [&] { return watches() == share; }));
        run(blocks[3]);
        QCOMPARE(accountsIn(u"parked"_s), 0);

        run(blocks[4]);
        QCOMPARE(accountsIn(u"active"_s), mailboxes);
        QVERIFY(Product::eventually(patienceMs, [&] { return watches() == mailboxes; })); // once each
        QCOMPARE(m_product.googleTotals()["stops"_L1].toInt(), 0);

        run(blocks[5]);
        QCOMPARE(accountsIn(u"paused"_s), mailboxes);
        QFile back(m_product.folder.filePath(u"back.csv"_s));
        QVERIFY(back.open(QIODevice::ReadOnly));
        const QByteArrayList lines = back.readAll().trimmed().split('\n');
        QCOMPARE(lines.size(), mailboxes + 1);
        QVERIFY(lines.first().contains("watch_expires_at"));
        QVERIFY(!lines.join().contains("1//sim")); // no token
        QCOMPARE(m_product.googleTotals()["stops"_L1].toInt(), 0);
        QCOMPARE(m_product.googleTotals()["lapses"_L1].toInt(), 0);
    }
};

QTEST_GUILESS_MAIN(TestCutOver)
#include "tst_cutover.moc"
