// SPDX-License-Identifier: Apache-2.0
#include "app/clockskew.h"

#include <QtCore/QDateTime>
#include <QtCore/QLocale>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

void ClockSkew::learn(const QString &against, qint64 theirMs, qint64 resolutionMs, qint64 askedMs,
                      qint64 answeredMs)
{
    const qint64 theirLatestMs = theirMs + resolutionMs;
    if (askedMs > theirLatestMs)
        m_skewMs[against] = askedMs - theirLatestMs;
    else if (answeredMs < theirMs)
        m_skewMs[against] = answeredMs - theirMs;
    else
        m_skewMs[against] = 0;
}

void ClockSkew::learnHttpDate(const QString &against, const QByteArray &date, qint64 askedMs,
                              qint64 answeredMs)
{
    QDateTime their =
        QLocale::c().toDateTime(QString::fromLatin1(date), u"ddd, dd MMM yyyy hh:mm:ss 'GMT'"_s);
    if (!their.isValid())
        return;
    their.setTimeSpec(Qt::UTC);
    learn(against, their.toMSecsSinceEpoch(), 1'000, askedMs, answeredMs);
}

} // namespace tidekeeper::app
