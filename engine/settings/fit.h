// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings/limiterprofile.h"

#include <QCoro/QCoroTask>

// Whether a limiter takes settings, and as many of them as it takes.
namespace tidekeeper::settings {

/// A setting in the database that no longer fits, for example because the file was changed: it has no effect.
struct Misfit {
    QString field; ///< "projects.default.day_budget"
    QString text; ///< why
};

struct Fit {
    QJsonObject settings; ///< durations in milliseconds
    QList<Misfit> misfits;
};

enum class Adjust : quint8 { DryRun, Now };

/// Hands all settings to the limiter. Failures: its own, invalid_settings, timeout.
QCoro::Task<Result<>> adjust(LimiterProfile profile, QJsonObject settings, Adjust how);

/// The settings made sound, when the limiter would take them over together.
QCoro::Task<Result<QJsonObject>> whole(LimiterProfile profile, QJsonObject settings);

/// As much of what is stored as fits together. Failure: the limiter does not answer.
QCoro::Task<Result<Fit>> fitting(LimiterProfile profile, QJsonObject stored);

} // namespace tidekeeper::settings
