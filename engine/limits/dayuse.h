// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>

#include <optional>
#include <vector>

namespace tidekeeper::limits {

/// What a project was granted in all, at one time. Units; µs since the epoch.
struct UsedAt {
    qint64 atUs = 0;
    qint64 units = 0;
};

/// "<µs>:<units> …", the marks of a project, oldest first; what cannot be read is left out.
std::vector<UsedAt> marksFrom(const QByteArray &text);

/// How much of a day's units a project has used, from its counter and the marks of it at the full hours. A mark is made
/// by the first grant after a full hour, before it is counted: between two marks use is taken to be even, and before the
/// first there was none for a day.
struct DayUse {
    qint64 today = 0; ///< since the day began
    qint64 last24h = 0;
    /// Of the whole day, when it goes on as in the last three hours; null until there are five minutes to judge by.
    std::optional<qint64> forecast;

    static DayUse from(const std::vector<UsedAt> &marks, UsedAt now, qint64 unitsWhenDayBegan,
                       qint64 dayEndUs);
};

} // namespace tidekeeper::limits
