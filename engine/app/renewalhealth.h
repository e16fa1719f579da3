// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonArray>
#include <QtCore/QJsonObject>

// What operators should know of renewals, as parts of the engine's health with a remedy in words. Pure.
namespace tidekeeper::app {

/// A scan that has not succeeded for this many of its intervals is stale.
constexpr qint64 staleScanIntervals = 3;
/// Due for longer than this is no backlog that is being worked off.
constexpr qint64 overdueTooLongMs = 24 * 60 * 60'000;

/// overview: the keys "now", "started_at", "accounts", "scan", "renewal", "coverage", "clock_skew_ms", "pushes" and
/// "hints" of Overview::read(). Not ready: while a fault of configuration stops renewals.
QJsonArray renewalParts(const QJsonObject &overview);

} // namespace tidekeeper::app
