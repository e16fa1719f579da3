// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>
#include <QtCore/QStringList>

#include <array>
#include <optional>

// How well a watch stands, by what is left of it against the renewal window w. Pure.
namespace tidekeeper::core {

/// From well to ill, which is also the order of expiry backwards: of two subscriptions the one that expires
/// first has the worse band, and one that never had an expiry the worst.
enum class Band : quint8 { Healthy, Delayed, Late, Critical, Expired, None };

constexpr std::array<Band, 6> allBands{Band::Healthy,  Band::Delayed, Band::Late,
                                       Band::Critical, Band::Expired, Band::None};

QString toString(Band band); ///< "healthy", "delayed", "late", "critical", "expired", "none"
std::optional<Band> bandFrom(const QString &text);
QStringList bandNames();

/// An expiry ≤ 0 (never had one, or unknown) is None.
Band bandOf(qint64 expiresAt, qint64 nowMs, qint64 windowMs);

/// The expiries of a band: above < expiresAt ≤ upTo, epoch ms. What SQL counts with, so that it cannot disagree
/// with bandOf().
struct ExpiryRange {
    qint64 above = 0;
    qint64 upTo = 0;
};
ExpiryRange expiryRange(Band band, qint64 nowMs, qint64 windowMs);

} // namespace tidekeeper::core
