// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QString>

#include <optional>

namespace tidekeeper::googlesim {

/// Google's published limits come with a cost table: projects that used Gmail before May 2026 keep the old pair.
enum class Preset : quint8 { Gmail2026, GmailLegacy };

std::optional<Preset> presetFrom(const QString &name); ///< "gmail-2026", "gmail-legacy"
QString toString(Preset preset);

struct PublishedLimits {
    qint64 userPerMinute;
    qint64 projectPerMinute;
};
PublishedLimits publishedLimits(Preset preset);

/// Units of one call of "gmail.users.threads.get"; nothing for a method that Gmail does not have.
///
/// This table is the referee's own, on purpose: one shared with the limiter under test would hide its mistakes.
std::optional<qint64> costOf(const QString &method, Preset preset);

} // namespace tidekeeper::googlesim
