// SPDX-License-Identifier: Apache-2.0
#include "core/band.h"
#include "core/planner.h"

#include <QtTest/QTest>

#include <limits>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

class BandTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ofExpiry_data();
    void ofExpiry();
    void rangesCoverEveryExpiryOnce();
    void namesRoundTrip();
};

namespace {
constexpr qint64 now = 1'800'000'000'000;
constexpr qint64 week = 6 * dayMs; // the default window
} // namespace

void BandTest::ofExpiry_data()
{
    QTest::addColumn<qint64>("expiresAt");
    QTest::addColumn<qint64>("windowMs");
    QTest::addColumn<QString>("band");

    // The default window: 5 days, 3.5 days, 24 hours.
    QTest::newRow("never had one") << qint64(0) << week << u"none"_s;
    QTest::newRow("-1") << qint64(-1) << week << u"none"_s;
    QTest::newRow("least number") << std::numeric_limits<qint64>::min() << week << u"none"_s;
    QTest::newRow("1970") << qint64(1) << week << u"expired"_s;
    QTest::newRow("now") << now << week << u"expired"_s;
    QTest::newRow("1 ms left") << now + 1 << week << u"critical"_s;
    QTest::newRow("24 h left") << now + 24 * hourMs << week << u"critical"_s;
    QTest::newRow("24 h and 1 ms left") << now + 24 * hourMs + 1 << week << u"late"_s;
    QTest::newRow("3.5 d left") << now + 84 * hourMs << week << u"late"_s;
    QTest::newRow("3.5 d and 1 ms left") << now + 84 * hourMs + 1 << week << u"delayed"_s;
    QTest::newRow("5 d left") << now + 5 * dayMs << week << u"delayed"_s;
    QTest::newRow("5 d and 1 ms left") << now + 5 * dayMs + 1 << week << u"healthy"_s;
    QTest::newRow("7 d left") << now + 7 * dayMs << week << u"healthy"_s;

    // A window of one day: 20 h, 14 h, 4 h.
    QTest::newRow("1 d window, 4 h") << now + 4 * hourMs << dayMs << u"critical"_s;
    QTest::newRow("1 d window, 14 h") << now + 14 * hourMs << dayMs << u"late"_s;
    QTest::newRow("1 d window, 20 h") << now + 20 * hourMs << dayMs << u"delayed"_s;
    QTest::newRow("1 d window, 21 h") << now + 21 * hourMs << dayMs << u"healthy"_s;
}

void BandTest::ofExpiry()
{
    QFETCH(qint64, expiresAt);
    QFETCH(qint64, windowMs);
    QFETCH(QString, band);
    QCOMPARE(toString(bandOf(expiresAt, now, windowMs)), band);
}

void BandTest::rangesCoverEveryExpiryOnce()
{
    for (qint64 expiresAt = -2 * hourMs; expiresAt < 3 * hourMs; expiresAt += hourMs / 2) {
        for (const qint64 at : {expiresAt, now + expiresAt, now + expiresAt + 4 * dayMs}) {
            int holding = 0;
            for (const Band band : allBands) {
                const ExpiryRange range = expiryRange(band, now, week);
                if (at > range.above && at <= range.upTo) {
                    ++holding;
                    QVERIFY(band == bandOf(at, now, week));
                }
            }
            QCOMPARE(holding, 1);
        }
    }
}

void BandTest::namesRoundTrip()
{
    for (const Band band : allBands)
        QVERIFY(bandFrom(toString(band)) == band);
    QCOMPARE(bandNames(),
             QStringList({u"healthy"_s, u"delayed"_s, u"late"_s, u"critical"_s, u"expired"_s, u"none"_s}));
    QVERIFY(!bandFrom(u"Healthy"_s));
    QVERIFY(!bandFrom(QString()));
}

QTEST_GUILESS_MAIN(BandTest)
#include "tst_band.moc"
