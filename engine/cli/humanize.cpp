// SPDX-License-Identifier: Apache-2.0
#include "cli/humanize.h"

#include <QtCore/QDateTime>
#include <QtCore/QLocale>

#include <array>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

QString number(qint64 value)
{
    return QLocale(QLocale::English, QLocale::UnitedStates).toString(value);
}

QString duration(qint64 ms)
{
    struct Unit {
        quint64 ms;
        const char *name;
    };
    static constexpr std::array<Unit, 4> units{
        {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "min"}, {1'000, "s"}}};
    const quint64 amount = ms < 0 ? 0 - quint64(ms) : quint64(ms);
    for (size_t i = 0; i < units.size(); ++i) {
        if (amount < units[i].ms)
            continue;
        const QString first = u"%1 %2"_s.arg(amount / units[i].ms).arg(QLatin1String(units[i].name));
        const quint64 rest = i + 1 < units.size() ? amount % units[i].ms / units[i + 1].ms : 0;
        return rest == 0 ? first : u"%1 %2 %3"_s.arg(first).arg(rest).arg(QLatin1String(units[i + 1].name));
    }
    return u"%1 ms"_s.arg(amount);
}

QString relative(qint64 atMs, qint64 nowMs)
{
    const qint64 left = atMs - nowMs;
    if (left > -1000 && left < 1000)
        return u"now"_s;
    return left > 0 ? u"in "_s + duration(left) : duration(left) + u" ago"_s;
}

QString instant(qint64 atMs)
{
    if (atMs == 0)
        return u"never"_s;
    const QDateTime local = QDateTime::fromMSecsSinceEpoch(atMs);
    const QString text = local.toString(u"yyyy-MM-dd HH:mm:ss "_s);
    if (local.offsetFromUtc() == 0)
        return text + u"UTC"_s;
    return text + local.toOffsetFromUtc(local.offsetFromUtc()).toString(Qt::ISODate).right(6);
}

QString printable(const QString &text)
{
    QString clean = text;
    for (QChar &c : clean) {
        if (c.category() == QChar::Other_Control)
            c = u'?';
    }
    return clean;
}

} // namespace tidekeeper::cli
