// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fleet.h"

namespace tidekeeper::faults {

/// The two queues of an engine; a schedule's job is of the type that the schedule is called.
extern const QStringList queueNames;
QByteArray queuePrefix(const QString &queue);

/// Every second, each tick on its own: no job stands in the way of the next one's.
QJsonObject secondly(const QString &id, const QString &queue);

/// How many jobs lie in this queue for each nominal time of a schedule.
QMap<qint64, int> jobsByNominalMs(Fleet &fleet, const QString &queue, const QString &schedule);

/// What is wrong with these jobs: none missing from the first tick on, none twice, ticks of whole seconds between
/// fromMs and untilMs of real time.
QStringList judgeTicks(const QMap<qint64, int> &jobs, int ticks, qint64 fromMs, qint64 untilMs);

/// A fire that Redis let through although it had seen a newer term, or whose nominal time it had passed already.
QStringList judgeCommands(const CommandLog &commands);

/// Fires and enqueues by hand, with each of these terms but the newest, on both queues: all must be refused.
QStringList replayOldTerms(Fleet &fleet, const QList<qint64> &terms);

/// What engines said beside what a run of faults makes them say, and terms with which more than one of them led.
QStringList judgeEvents(Fleet &fleet);

} // namespace tidekeeper::faults
