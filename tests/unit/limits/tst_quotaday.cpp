// SPDX-License-Identifier: Apache-2.0
#include "limits/quotaday.h"

#include <QtCore/QDateTime>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::limits;

namespace {

qint64 ms(const QString &iso)
{
    return QDateTime::fromString(iso, Qt::ISODateWithMs).toMSecsSinceEpoch();
}

} // namespace

class TestQuotaDay : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bounds_data()
    {
        QTest::addColumn<QByteArray>("zone");
        QTest::addColumn<QString>("now");
        QTest::addColumn<QString>("start");
        QTest::addColumn<int>("hours");
        QTest::addColumn<int>("hoursAfter");

        const QByteArray google = "America/Los_Angeles"; // Google counts days of Pacific time
        QTest::newRow("winter") << google << u"2026-01-15T12:00:00Z"_s << u"2026-01-15T08:00:00Z"_s << 24
                                << 24;
        QTest::newRow("before midnight there")
            << google << u"2026-01-15T07:59:59.999Z"_s << u"2026-01-14T08:00:00Z"_s << 24 << 24;
        QTest::newRow("midnight there")
            << google << u"2026-01-15T08:00:00Z"_s << u"2026-01-15T08:00:00Z"_s << 24 << 24;
        QTest::newRow("day before spring")
            << google << u"2026-03-07T20:00:00Z"_s << u"2026-03-07T08:00:00Z"_s << 24 << 23;
        QTest::newRow("spring, 23 hours")
            << google << u"2026-03-08T20:00:00Z"_s << u"2026-03-08T08:00:00Z"_s << 23 << 24;
        QTest::newRow("autumn, 25 hours")
            << google << u"2026-11-01T20:00:00Z"_s << u"2026-11-01T07:00:00Z"_s << 25 << 24;
        QTest::newRow("UTC") << QByteArray("UTC") << u"2026-06-01T00:00:00Z"_s << u"2026-06-01T00:00:00Z"_s
                             << 24 << 24;
        // Its midnight does not exist on this day: the day begins at 01:00.
        QTest::newRow("no midnight") << QByteArray("America/Sao_Paulo") << u"2018-11-04T12:00:00Z"_s
                                     << u"2018-11-04T03:00:00Z"_s << 23 << 24;
    }

    void bounds()
    {
        QFETCH(QByteArray, zone);
        QFETCH(QString, now);
        QFETCH(QString, start);
        QFETCH(int, hours);
        QFETCH(int, hoursAfter);

        const QuotaDay day = QuotaDay::at(ms(now), *core::Zone::find(zone));
        QCOMPARE(day.startMs, ms(start));
        QCOMPARE(day.endMs - day.startMs, hours * 3'600'000);
        QCOMPARE(day.afterMs - day.endMs, hoursAfter * 3'600'000);
    }
};

QTEST_APPLESS_MAIN(TestQuotaDay)
#include "tst_quotaday.moc"
