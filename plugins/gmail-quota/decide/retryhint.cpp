// SPDX-License-Identifier: Apache-2.0
#include "retryhint.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>
#include <QtCore/QLocale>
#include <QtCore/QRegularExpression>
#include <QtCore/QTimeZone>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace gmailquota {

namespace {

constexpr qint64 shortestMs = 1'000;
constexpr qint64 longestMs = 86'400'000;

/// 0 for what is not in the future.
qint64 usable(double waitMs)
{
    return waitMs > 0 ? qint64(std::clamp<double>(std::ceil(waitMs), shortestMs, longestMs)) : 0;
}

/// "Fri, 12 Jun 2026 19:01:46 GMT" as epoch ms; 0 when it is none. Date and time are read apart, because together
/// they would be taken for local time, in which some hours do not exist.
qint64 httpDate(const QString &text)
{
    static const QRegularExpression form(
        u"^\\w{3}, (\\d{2} \\w{3} \\d{4}) (\\d{2}:\\d{2}:\\d{2}) (?:GMT|UTC)$"_s);
    const QRegularExpressionMatch match = form.match(text);
    const QDate date = QLocale::c().toDate(match.captured(1), u"dd MMM yyyy"_s);
    const QTime time = QTime::fromString(match.captured(2), u"HH:mm:ss"_s);
    return date.isValid() && time.isValid() ? QDateTime(date, time, Qt::UTC).toMSecsSinceEpoch() : 0;
}

/// Epoch ms; 0 when there is none.
qint64 timeInMessage(const QString &message)
{
    static const QRegularExpression form(
        u"Retry after\\s+(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d))"_s,
        QRegularExpression::CaseInsensitiveOption);
    const QDateTime time = QDateTime::fromString(form.match(message).captured(1), Qt::ISODateWithMs);
    return time.isValid() ? time.toMSecsSinceEpoch() : 0;
}

double secondsIn(const QString &header)
{
    static const QRegularExpression form(u"^\\d+(\\.\\d+)?$"_s);
    return form.match(header).hasMatch() ? header.toDouble() : 0;
}

} // namespace

QString headerOf(const QJsonObject &headers, QLatin1StringView name)
{
    for (auto header = headers.begin(); header != headers.end(); ++header) {
        if (header.key().compare(name, Qt::CaseInsensitive) == 0)
            return (header->isArray() ? header->toArray().first() : *header).toString().trimmed();
    }
    return {};
}

qint64 gmailNowMs(const QJsonObject &headers, qint64 nowMs)
{
    const qint64 date = httpDate(headerOf(headers, "date"_L1));
    return date > 0 ? date : nowMs;
}

qint64 toldWaitMs(const QString &message, const QJsonObject &headers, qint64 nowMs)
{
    const qint64 theirNowMs = gmailNowMs(headers, nowMs);
    if (const qint64 waitMs = usable(double(timeInMessage(message) - theirNowMs)); waitMs > 0)
        return waitMs;
    const QString header = headerOf(headers, "retry-after"_L1);
    if (const qint64 waitMs = usable(secondsIn(header) * 1000); waitMs > 0)
        return waitMs;
    return usable(double(httpDate(header) - theirNowMs));
}

qint64 msToDayEnd(qint64 nowMs)
{
    const QTimeZone losAngeles("America/Los_Angeles");
    // Without time zone data: Pacific standard time, in summer an hour late.
    const QTimeZone zone = losAngeles.isValid() ? losAngeles : QTimeZone(-8 * 3600);
    const QDate today = QDateTime::fromMSecsSinceEpoch(nowMs, zone).date();
    return usable(double(today.addDays(1).startOfDay(zone).toMSecsSinceEpoch() - nowMs));
}

} // namespace gmailquota
