// SPDX-License-Identifier: Apache-2.0
// Random patterns in many zones, around the changes of their clocks. Each pattern is made as sets of values and as
// text; the sets and the wall clock tell every fire, the text goes through the parser.
#include "core/cron.h"

#include <QtCore/QDateTime>
#include <QtCore/QRandomGenerator>
#include <QtCore/QSet>
#include <QtTest/QTest>

#include <algorithm>

using namespace Qt::StringLiterals;
using namespace tidekeeper::core;

namespace {

constexpr qint64 hourMs = 3'600'000;
constexpr int patternsPerZone = 25;

struct Field {
    QString text;
    QSet<int> values;
    bool isStar = false; ///< its text begins with *
};

struct Pattern {
    Field second;
    Field minute;
    Field hour;
    Field day;
    Field month;
    Field weekday; ///< Sunday = 0
    bool sixFields = false;

    QString text() const
    {
        QStringList fields{minute.text, hour.text, day.text, month.text, weekday.text};
        if (sixFields)
            fields.prepend(second.text);
        return fields.join(u' ');
    }
    bool isRhythm() const { return hour.values.size() == 24; }
    bool matches(const QDateTime &wall) const
    {
        const bool onDay = day.values.contains(wall.date().day());
        const bool onWeekday = weekday.values.contains(wall.date().dayOfWeek() % 7);
        const bool dateFits = day.isStar || weekday.isStar ? onDay && onWeekday : onDay || onWeekday;
        return dateFits && month.values.contains(wall.date().month())
            && hour.values.contains(wall.time().hour()) && minute.values.contains(wall.time().minute())
            && second.values.contains(wall.time().second());
    }
};

class Maker {
public:
    explicit Maker(quint32 seed) : m_random(seed) { }

    Pattern pattern()
    {
        Pattern made;
        made.sixFields = m_random.bounded(4) == 0;
        made.second = made.sixFields ? wholeMinuteOrQuarter() : Field{u"0"_s, {0}};
        made.minute = field(0, 59);
        made.hour = field(0, 23);
        // Mostly every day, so that most windows have fires.
        made.day = m_random.bounded(3) == 0 ? field(1, 31) : every(1, 31);
        made.month = every(1, 12);
        made.weekday = m_random.bounded(3) == 0 ? field(0, 6) : every(0, 6);
        return made;
    }
    qint64 bounded(qint64 below) { return qint64(m_random.bounded(quint64(below))); }

private:
    static Field every(int min, int max)
    {
        Field made{u"*"_s, {}, true};
        for (int value = min; value <= max; ++value)
            made.values.insert(value);
        return made;
    }

    /// The enumeration looks each 15 s.
    Field wholeMinuteOrQuarter()
    {
        return m_random.bounded(2) == 0 ? Field{u"0"_s, {0}} : Field{u"*/15"_s, {0, 15, 30, 45}, true};
    }

    Field field(int min, int max)
    {
        if (m_random.bounded(4) == 0)
            return every(min, max);
        Field made;
        QStringList items;
        const int count = 1 + int(m_random.bounded(3));
        for (int i = 0; i < count; ++i) {
            const int first = int(m_random.bounded(min, max + 1));
            const int last = int(m_random.bounded(first, max + 1));
            const int step = 1 + int(m_random.bounded(7));
            const int kind = int(m_random.bounded(4));
            const int end = kind == 0 ? first : kind == 3 ? max : last;
            const int by = kind < 2 ? 1 : step;
            items.append(kind == 0       ? QString::number(first)
                             : kind == 1 ? u"%1-%2"_s.arg(first).arg(last)
                                         : u"%1-%2/%3"_s.arg(first).arg(end).arg(step));
            for (int value = first; value <= end; value += by)
                made.values.insert(value);
        }
        made.text = items.join(u',');
        return made;
    }

    QRandomGenerator m_random;
};

/// Every fire in (from, to], by looking at the wall clock all the time.
QList<qint64> enumerate(const Pattern &pattern, const QTimeZone &zone, qint64 fromMs, qint64 toMs)
{
    const qint64 stepS = pattern.sixFields ? 15 : 60;
    QSet<qint64> shown; // local times that were there before: only the first pass counts
    QList<qint64> fires;
    qint64 previous = 0;
    for (qint64 at = fromMs / 1000 - 26 * 3600; at <= toMs / 1000; at += stepS) {
        const qint64 local = at + zone.offsetFromUtc(QDateTime::fromSecsSinceEpoch(at, Qt::UTC));
        const auto matches = [&](qint64 localS) {
            return pattern.matches(QDateTime::fromSecsSinceEpoch(localS, Qt::UTC));
        };
        bool fire = (pattern.isRhythm() || !shown.contains(local)) && matches(local);
        if (!pattern.isRhythm() && previous != 0) {
            for (qint64 skipped = previous + stepS; skipped < local && !fire; skipped += stepS)
                fire = matches(skipped);
        }
        shown.insert(local);
        previous = local;
        if (fire && at * 1000 > fromMs)
            fires.append(at * 1000);
    }
    return fires;
}

/// Some instants at which this zone's clock jumps, and one at which it does not.
QList<qint64> centres(const QTimeZone &zone, Maker &maker)
{
    const qint64 firstMs = QDateTime(QDate(1985, 1, 1), QTime(0, 0), Qt::UTC).toMSecsSinceEpoch();
    const qint64 lastMs = QDateTime(QDate(2036, 1, 1), QTime(0, 0), Qt::UTC).toMSecsSinceEpoch();
    QList<qint64> found{firstMs + maker.bounded((lastMs - firstMs) / 60'000) * 60'000};
    const auto changes = zone.transitions(QDateTime::fromMSecsSinceEpoch(firstMs, Qt::UTC),
                                          QDateTime::fromMSecsSinceEpoch(lastMs, Qt::UTC));
    for (int i = 0; i < 3 && !changes.isEmpty(); ++i)
        found.append(changes[maker.bounded(changes.size())].atUtc.toMSecsSinceEpoch());
    return found;
}

} // namespace

class TestCronProperty : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void holds_data();
    void holds();
};

void TestCronProperty::holds_data()
{
    QTest::addColumn<QByteArray>("zone");
    // Beside the usual ones: a quarter-hour offset, two hours of change, four changes a year (Ramadan), changes at one
    // minute past midnight (St. John's until 2011), and a whole day that was left out (Apia, 30 December 2011).
    for (const char *zone :
         {"America/New_York", "Europe/Zurich", "Africa/Cairo", "America/Santiago", "Australia/Lord_Howe",
          "Asia/Seoul", "UTC", "Asia/Kathmandu", "Antarctica/Troll", "Africa/Casablanca", "America/St_Johns",
          "Pacific/Apia", "Asia/Tehran", "Pacific/Chatham", "America/Sao_Paulo", "Europe/Dublin"})
        QTest::addRow("%s", zone) << QByteArray(zone);
}

void TestCronProperty::holds()
{
    QFETCH(QByteArray, zone);
    const QTimeZone qtZone(zone);
    const quint32 seed = qEnvironmentVariableIntValue("TIDEKEEPER_TEST_SEED") + 20'260'308;
    Maker maker(seed + qHash(zone, 0) % 1'000);
    qsizetype fires = 0;
    for (int i = 0; i < patternsPerZone; ++i) {
        const Pattern pattern = maker.pattern();
        const QString text = pattern.text();
        const auto cron = CronExpression::parse(text);
        QVERIFY2(cron, qPrintable(text));
        QCOMPARE(cron->isRhythm(), pattern.isRhythm());
        const QList<qint64> all = centres(qtZone, maker);
        const qint64 centre = all[i % all.size()];
        const qint64 from = centre - 8 * hourMs;
        const qint64 to = centre + 28 * hourMs;
        const QList<qint64> expected = enumerate(pattern, qtZone, from, to);
        fires += expected.size();
        const QByteArray where =
            u"seed %1, \"%2\" around %3"_s.arg(seed)
                .arg(text, QDateTime::fromMSecsSinceEpoch(centre, Qt::UTC).toString(Qt::ISODate))
                .toUtf8();

        const auto at = Zone::find(zone);
        QVERIFY(at);
        QList<qint64> stepped;
        qint64 last = from;
        for (auto next = cron->nextFire(*at, from); next && *next <= to; next = cron->nextFire(*at, last)) {
            QVERIFY2(*next > last, where); // strictly
            stepped.append(*next);
            last = *next;
        }
        QVERIFY2(stepped == expected, where);
        if (!expected.isEmpty())
            QCOMPARE(*nextFires(text, zone, from, int(std::min<qsizetype>(expected.size(), 1000))),
                     expected.mid(0, 1000));

        // From anywhere, and with a zone that was not asked before, the next one is the first that lies after.
        for (int probe = 0; probe < 60 && !expected.isEmpty(); ++probe) {
            const qint64 after = from + maker.bounded(expected.last() - from);
            const qint64 first = *std::upper_bound(expected.begin(), expected.end(), after);
            QVERIFY2(cron->nextFire(*at, after) == first, where);
            QVERIFY2(cron->nextFire(*Zone::find(zone), after) == first, where);
        }
    }
    QVERIFY(fires > 100);
}

QTEST_GUILESS_MAIN(TestCronProperty)
#include "tst_cronproperty.moc"
