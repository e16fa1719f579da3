// SPDX-License-Identifier: Apache-2.0
// The committed table of expected fires, cron/expected.tsv, which cron/expected.py makes without our code.
#include "core/cron.h"

#include <QtCore/QDateTime>
#include <QtCore/QFile>
#include <QtCore/QSet>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

qint64 ms(const QString &iso)
{
    return QDateTime::fromString(iso, Qt::ISODate).toMSecsSinceEpoch();
}

QString iso(qint64 atMs)
{
    return QDateTime::fromMSecsSinceEpoch(atMs, Qt::UTC).toString(Qt::ISODate);
}

/// "2025-01-01T05:30:00Z+86400*67 2025-03-09T05:30:00Z" → each instant.
QList<qint64> unrolled(const QString &runs)
{
    QList<qint64> fires;
    for (const QString &run : runs.split(u' ', Qt::SkipEmptyParts)) {
        const qint64 stepMs = run.section(u'+', 1).section(u'*', 0, 0).toLongLong() * 1000;
        const qint64 count = stepMs == 0 ? 1 : run.section(u'*', 1).toLongLong();
        for (qint64 i = 0; i < count; ++i)
            fires.append(ms(run.section(u'+', 0, 0)) + i * stepMs);
    }
    return fires;
}

} // namespace

class TestCronTable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void holdsWhatItMust();
    void fires_data();
    void fires();

private:
    static QList<QStringList> rows();
};

QList<QStringList> TestCronTable::rows()
{
    QFile file(u"" TIDEKEEPER_SOURCE_DIR "/tests/unit/core/cron/expected.tsv"_s);
    if (!file.open(QIODevice::ReadOnly))
        return {};
    QList<QStringList> rows;
    for (const QString &line : QString::fromUtf8(file.readAll()).split(u'\n', Qt::SkipEmptyParts))
        rows.append(line.split(u'\t'));
    return rows;
}

/// A table that lost its rows would find nothing wrong.
void TestCronTable::holdsWhatItMust()
{
    QSet<QString> zones;
    QSet<QString> patterns;
    qsizetype fires = 0;
    for (const QStringList &row : rows()) {
        QCOMPARE(row.size(), 5);
        zones.insert(row[0]);
        patterns.insert(row[1]);
        fires += unrolled(row[4]).size();
    }
    QCOMPARE(zones,
             QSet<QString>({u"America/New_York"_s, u"Europe/Zurich"_s, u"Africa/Cairo"_s,
                            u"America/Santiago"_s, u"Australia/Lord_Howe"_s, u"Asia/Seoul"_s, u"UTC"_s}));
    QCOMPARE(patterns.size(), 13);
    QVERIFY(fires > 300'000);
}

void TestCronTable::fires_data()
{
    QTest::addColumn<QStringList>("row");
    for (const QStringList &row : rows())
        QTest::newRow(qPrintable(row.mid(0, 3).join(u", "_s))) << row;
}

void TestCronTable::fires()
{
    QFETCH(QStringList, row);
    const auto cron = CronExpression::parse(row[1]);
    QVERIFY(cron);
    const auto zone = Zone::find(row[0].toLatin1());
    QVERIFY(zone);
    const qint64 toMs = ms(row[3]);
    qint64 at = ms(row[2]);
    for (const qint64 expected : unrolled(row[4])) {
        const auto next = cron->nextFire(*zone, at);
        QVERIFY(next);
        // When the zone data of the system is newer than the table, see the script for how to make it again.
        if (*next != expected)
            QFAIL(qPrintable(u"after %1: %2 instead of %3"_s.arg(iso(at), iso(*next), iso(expected))));
        at = *next;
    }
    QVERIFY(*cron->nextFire(*zone, at) > toMs);
}

QTEST_GUILESS_MAIN(TestCronTable)
#include "tst_crontable.moc"
