// SPDX-License-Identifier: Apache-2.0
#include "decide/retryafter.h"

#include <QtCore/QDateTime>
#include <QtCore/QLocale>
#include <QtCore/QRegularExpression>

using namespace Qt::StringLiterals;

namespace watchrenewal {

namespace {

/// "Fri, 12 Jun 2026 19:01:46 GMT" as epoch ms; 0 when it is none. Date and time are read apart, because together
/// they would be taken for local time, in which some hours do not exist.
qint64 httpDate(const QString &text)
{
    static const QRegularExpression form(u"^\\w{3}, (\\d{2} \\w{3} \\d{4}) (\\d{2}:\\d{2}:\\d{2}) GMT$"_s);
    const QRegularExpressionMatch match = form.match(text);
    const QDate date = QLocale::c().toDate(match.captured(1), u"dd MMM yyyy"_s);
    const QTime time = QTime::fromString(match.captured(2), u"HH:mm:ss"_s);
    return date.isValid() && time.isValid() ? QDateTime(date, time, Qt::UTC).toMSecsSinceEpoch() : 0;
}

qint64 timeInMessage(const QString &message)
{
    static const QRegularExpression pattern(
        u"Retry after (\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z)"_s);
    const QRegularExpressionMatch match = pattern.match(message);
    const QDateTime date = QDateTime::fromString(match.captured(1), Qt::ISODateWithMs);
    return date.isValid() ? date.toMSecsSinceEpoch() : 0;
}

} // namespace

qint64 retryUntil(const ApiAnswer &answer, const QString &message, qint64 nowMs)
{
    const qint64 theirNowMs = httpDate(answer.date);
    const qint64 skewMs = theirNowMs > 0 ? nowMs - theirNowMs : 0;
    if (const qint64 told = timeInMessage(message); told > 0)
        return told + skewMs;
    bool isSeconds = false;
    const qint64 seconds = answer.retryAfter.trimmed().toLongLong(&isSeconds);
    if (isSeconds && seconds > 0)
        return nowMs + seconds * 1000;
    if (const qint64 told = httpDate(answer.retryAfter.trimmed()); told > 0)
        return told + skewMs;
    return 0;
}

} // namespace watchrenewal
