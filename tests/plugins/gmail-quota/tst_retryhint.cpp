// SPDX-License-Identifier: Apache-2.0
#include "decide/methodfamily.h"
#include "decide/retryhint.h"

#include <QtCore/QDateTime>
#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace gmailquota;

namespace {

qint64 at(const QString &utc)
{
    return QDateTime::fromString(utc, Qt::ISODateWithMs).toMSecsSinceEpoch();
}

} // namespace

class TestRetryHint : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void waits_data();
    void waits();
    void dayEnds_data();
    void dayEnds();
    void datesDoNotDependOnOurZone();
    void families();
};

void TestRetryHint::waits_data()
{
    QTest::addColumn<QString>("message");
    QTest::addColumn<QString>("date"); // header
    QTest::addColumn<QString>("retryAfter"); // header
    QTest::addColumn<qint64>("waitMs");
    const auto row = [](const char *name, const QString &message, const QString &date, const QString &header,
                        qint64 waitMs) { QTest::newRow(name) << message << date << header << waitMs; };
    const QString quarter = u"User-rate limit exceeded.  Retry after 2026-06-12T19:16:46.648Z"_s;
    const QString none;
    const QString date = u"Fri, 12 Jun 2026 19:01:46 GMT"_s;
    row("nothing", u"Slow down"_s, none, none, 0);
    // twentyhq/twenty#17850: about a quarter of an hour ahead. The engine's clock says 19:01:00.
    row("time, our clock", quarter, none, none, 946'648);
    row("time, its own clock", quarter, date, none, 900'648);
    row("its clock an hour off", quarter, u"Fri, 12 Jun 2026 18:16:46 GMT"_s, none, 3'600'648);
    row("time before header", quarter, date, u"30"_s, 900'648);
    row("offset of zone", u"retry  after"_s, none, none, 0);
    row("with an offset", u"Retry after 2026-06-12T21:02:00+02:00"_s, none, none, 60'000);
    row("six digits", u"Retry after 2026-06-12T19:02:00.250999Z"_s, none, none, 60'251);
    row("at the end of a day", u"Retry after 2026-06-13T00:00:00Z"_s, none, none, 17'940'000);
    // Past, now, unreadable: unknown, never "at once".
    row("past", u"Retry after 2026-06-12T19:00:00Z"_s, none, none, 0);
    row("now", u"Retry after 2026-06-12T19:01:00Z"_s, none, none, 0);
    row("past, but a header", u"Retry after 2026-06-12T19:00:00Z"_s, none, u"30"_s, 30'000);
    row("no such time", u"Retry after 2026-13-45T99:00:00Z"_s, none, none, 0);
    row("no zone", u"Retry after 2026-06-12T19:16:46"_s, none, none, 0);
    row("no date", u"Retry after tea"_s, none, u"30"_s, 30'000);
    // Bounds.
    row("shorter than a second", u"Retry after 2026-06-12T19:01:00.020Z"_s, none, none, 1'000);
    row("a year", u"Retry after 2027-06-12T19:01:00Z"_s, none, none, 86'400'000);
    // The header, RFC 9110 section 10.2.3.
    row("seconds", none, none, u"120"_s, 120'000);
    row("seconds, with spaces", none, none, u" 120 "_s, 120'000);
    row("part of a second", none, none, u"0.2"_s, 1'000);
    row("rounded up", none, none, u"1.2341"_s, 1'235);
    row("zero", none, none, u"0"_s, 0);
    row("negative", none, none, u"-5"_s, 0);
    row("many", none, none, u"99999999999999999999999"_s, 86'400'000);
    row("no number", none, none, u"soon"_s, 0);
    row("not a number", none, none, u"nan"_s, 0);
    row("infinity", none, none, u"inf"_s, 0);
    row("two of them", none, none, u"1, 2"_s, 0);
    row("as a date", none, none, u"Fri, 12 Jun 2026 19:02:46 GMT"_s, 106'000);
    row("as a date, its own clock", none, date, u"Fri, 12 Jun 2026 19:02:46 GMT"_s, 60'000);
    row("as a date, past", none, date, u"Fri, 12 Jun 2026 19:01:46 GMT"_s, 0);
    row("Date unreadable", quarter, u"yesterday"_s, none, 946'648);
}

void TestRetryHint::waits()
{
    QFETCH(QString, message);
    QFETCH(QString, date);
    QFETCH(QString, retryAfter);
    QFETCH(qint64, waitMs);

    for (const bool upper : {false, true}) {
        const QString dateName = upper ? u"DATE"_s : u"date"_s;
        const QString retryName = upper ? u"Retry-After"_s : u"retry-after"_s;
        QJsonObject headers{{u"content-type"_s, u"text/html"_s}};
        if (!date.isEmpty())
            headers[dateName] = date;
        if (!retryAfter.isEmpty())
            headers[retryName] = retryAfter;
        QCOMPARE(toldWaitMs(message, headers, at(u"2026-06-12T19:01:00Z"_s)), waitMs);
    }
}

void TestRetryHint::dayEnds_data()
{
    QTest::addColumn<QString>("now");
    QTest::addColumn<qint64>("waitMs");
    constexpr qint64 hour = 3'600'000;
    QTest::newRow("summer: midnight is 07:00") << u"2026-06-12T19:00:00Z"_s << 12 * hour;
    QTest::newRow("winter: midnight is 08:00") << u"2026-01-12T19:00:00Z"_s << 13 * hour;
    QTest::newRow("a second before") << u"2026-06-13T06:59:59Z"_s << qint64(1'000);
    QTest::newRow("a moment before") << u"2026-06-13T06:59:59.990Z"_s << qint64(1'000);
    QTest::newRow("midnight itself") << u"2026-06-13T07:00:00Z"_s << 24 * hour;
    // 8 March 2026 has 23 hours there, 1 November 25.
    QTest::newRow("short day") << u"2026-03-08T08:00:00Z"_s << 23 * hour;
    QTest::newRow("short day, after the step") << u"2026-03-08T10:00:00Z"_s << 21 * hour;
    QTest::newRow("long day, cut") << u"2026-11-01T07:00:00Z"_s << 24 * hour;
    QTest::newRow("long day, after the step") << u"2026-11-01T09:00:00Z"_s << 23 * hour;
}

void TestRetryHint::dayEnds()
{
    QFETCH(QString, now);
    QFETCH(qint64, waitMs);
    QCOMPARE(msToDayEnd(at(now)), waitMs);
}

/// 02:30 on 8 March does not exist in Los Angeles, but in Greenwich it does.
void TestRetryHint::datesDoNotDependOnOurZone()
{
    const QByteArray before = qgetenv("TZ");
    qputenv("TZ", "America/Los_Angeles");
    const qint64 date = gmailNowMs({{u"Date"_s, u"Sun, 08 Mar 2026 02:30:00 GMT"_s}}, 0);
    before.isEmpty() ? qunsetenv("TZ") : qputenv("TZ", before);
    QCOMPARE(date, at(u"2026-03-08T02:30:00Z"_s));
}

void TestRetryHint::families()
{
    QCOMPARE(familyNamed(u"Mail sending"_s), u"mail_sending"_s);
    QCOMPARE(familyNamed(u" forwarding  RULES "_s), u"forwarding_rules"_s);
    QCOMPARE(familyNamed(u"Something else"_s), QString());
    QCOMPARE(familyNamed(QString()), QString());
    const QJsonObject families = methodFamilies();
    QCOMPARE(families["gmail.users.messages.send"_L1].toString(), u"mail_sending"_s);
    QCOMPARE(families["gmail.users.drafts.send"_L1].toString(), u"mail_sending"_s);
    QCOMPARE(families["gmail.users.settings.filters.create"_L1].toString(), u"forwarding_rules"_s);
    QCOMPARE(families["gmail.users.settings.updateAutoForwarding"_L1].toString(), u"forwarding_rules"_s);
    // Reading and renewing go on while sending is frozen.
    for (const auto method :
         {"gmail.users.watch"_L1, "gmail.users.messages.get"_L1, "gmail.users.drafts.get"_L1})
        QVERIFY(!families.contains(method));
}

QTEST_APPLESS_MAIN(TestRetryHint)
#include "tst_retryhint.moc"
