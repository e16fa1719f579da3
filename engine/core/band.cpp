// SPDX-License-Identifier: Apache-2.0
#include "core/band.h"

#include <limits>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qint64 earliest = std::numeric_limits<qint64>::min();
constexpr qint64 latest = std::numeric_limits<qint64>::max();

} // namespace

QString toString(Band band)
{
    switch (band) {
    case Band::Healthy:
        return u"healthy"_s;
    case Band::Delayed:
        return u"delayed"_s;
    case Band::Late:
        return u"late"_s;
    case Band::Critical:
        return u"critical"_s;
    case Band::Expired:
        return u"expired"_s;
    case Band::None:
        return u"none"_s;
    }
    Q_UNREACHABLE();
}

std::optional<Band> bandFrom(const QString &text)
{
    for (const Band band : allBands) {
        if (toString(band) == text)
            return band;
    }
    return std::nullopt;
}

QStringList bandNames()
{
    QStringList names;
    for (const Band band : allBands)
        names.append(toString(band));
    return names;
}

ExpiryRange expiryRange(Band band, qint64 nowMs, qint64 windowMs)
{
    const qint64 criticalUpTo = nowMs + windowMs / 6;
    const qint64 lateUpTo = nowMs + windowMs * 7 / 12;
    const qint64 delayedUpTo = nowMs + windowMs * 5 / 6;
    switch (band) {
    case Band::Healthy:
        return {delayedUpTo, latest};
    case Band::Delayed:
        return {lateUpTo, delayedUpTo};
    case Band::Late:
        return {criticalUpTo, lateUpTo};
    case Band::Critical:
        return {nowMs, criticalUpTo};
    case Band::Expired:
        return {0, nowMs};
    case Band::None:
        return {earliest, 0};
    }
    Q_UNREACHABLE();
}

Band bandOf(qint64 expiresAt, qint64 nowMs, qint64 windowMs)
{
    for (const Band band : allBands) {
        if (expiresAt > expiryRange(band, nowMs, windowMs).above)
            return band;
    }
    return Band::None; // the earliest number there is, which no range is open to
}

} // namespace tidekeeper::core
