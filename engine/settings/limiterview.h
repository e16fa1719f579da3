// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings/limiterstate.h"

namespace tidekeeper::settings {

/// The limiter as the API shows it: what it says of itself, and
///   "enabled" and every setting of its section, as they are in force, durations in milliseconds
///   "sources"       {setting: "default" | "preset" | "file" | "operator", "projects": {NAME: {limit: …}}}
///   "changed"       what operators changed, as it is stored
///   "consequences"  {switch: {"true": sentence, "false": sentence}}
///   "overrides"     [{"project", "account", the limits in force, "changed": [names], "warnings": […]}]
///   "warnings"      [sentence]: of the settings; those of a project's limits are with the project
/// readProblem: why the database is not read now, or empty.
QJsonObject limiterView(const LimiterState &state, const QString &readProblem);

} // namespace tidekeeper::settings
