// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "pluginhost/pendingreply.h"

#include <tidekeeper/plugin.h>

namespace tidekeeper::settings {

/// What a limiter is without its operators, and which of its settings they may change.
struct LimiterProfile {
    RateLimiter *limiter = nullptr;
    LiveSettings *live = nullptr; ///< null: nothing but `enabled` can be changed while it runs
    pluginhost::LateAnswers lateAnswers;
    QJsonObject schema; ///< of its section
    QJsonObject
        section; ///< as written in the file, durations in milliseconds, without the plugin's own `enabled`
    QJsonObject projects; ///< {NAME: the limits that the file gives}

    /// {NAME: limits, warnings and preset as they are now}.
    QJsonObject projectLimits() const
    {
        return limiter->describe()[QLatin1StringView("projects")].toObject();
    }

    /// Names of all settings of the section, the switch `enabled` first.
    QStringList names() const;
    /// Names of what a project's limits can be.
    static QStringList projectNames();

    /// The section that holds when operators changed this: file and defaults filled in.
    Result<QJsonObject> effective(const QJsonObject &changes) const;

    /// Names and values, as far as they can be judged without the limiter; durations ("2s") become milliseconds. In a
    /// patch null returns a value to the file and may also name what no longer exists in `stored`.
    /// Failures: invalid_settings with the field and near names, unknown_project.
    Result<QJsonObject> checked(const QJsonObject &changes, const QJsonObject &stored = {}) const;
};

/// `patch` laid over `stored` (RFC 7396): null removes a value, and groups that become empty vanish.
QJsonObject merged(QJsonObject stored, const QJsonObject &patch);

/// One setting alone, in the form of all of them: {"enforce": false} or {"projects": {"default": {"day_budget": 0}}}.
struct Leaf {
    QString field; ///< "projects.default.day_budget"
    QJsonObject change;
};
QList<Leaf> leavesOf(const QJsonObject &changes);

} // namespace tidekeeper::settings
