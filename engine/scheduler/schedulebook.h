// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler/schedule.h"

#include <map>
#include <memory>

namespace tidekeeper::scheduler {

/// A schedule, what is known of it and where it stands.
struct Entry {
    QString plugin; ///< that declared it; empty: the engine itself
    QJsonObject declared;
    QJsonObject stored = {}; ///< what is kept of operators' changes: the fields and "counts_from"
    QJsonObject change = {}; ///< the fields of it that are in force
    QString misfit = {}; ///< why what is kept is not in force; empty: it is
    Schedule schedule;
    queue::JobQueue *queue = nullptr;
    bool orphaned = false; ///< remembered, and not declared in this engine
    queue::ScheduleState state =
        {}; ///< as last known; its nominal time is what the next compare-and-set expects
    std::optional<qint64> firstNominalMs = {}; ///< of the first state that was read
    qint64 afterMs = 0; ///< ticks after this nominal time are due; 0 = not known yet
    bool firing = false;

    /// Ticks from before the last change of rhythm or the last pause were not missed.
    qint64 countsFromMs() const;
    void take(const queue::ScheduleState &read, qint64 nowMs);
    /// Of an orphan: another engine has fired it since this one looks, and its last tick came.
    bool runsElsewhere(qint64 nowMs) const;
};

/// The schedules of this engine: those that are declared, and orphans, which were declared once, by a plugin that this
/// engine does not run now. Engines that run other plugins remember each other's schedules: an orphan is one as far as
/// this engine knows, until it sees it fire. Main thread.
class ScheduleBook {
public:
    using EntryPointer = std::shared_ptr<Entry>; ///< coroutines hold it while its entry goes

    explicit ScheduleBook(QList<queue::JobQueue *> queues) : m_queues(std::move(queues)) { }

    /// Failures as Schedule::fromJson; already_declared. The engine's own schedule wins over a plugin's of its id.
    Result<> declare(QJsonObject schedule, const QString &plugin);
    /// What this plugin declared becomes orphaned: it failed.
    void withdraw(const QString &plugin);

    /// What plugins declared here: {id: {"plugin", "schedule"}}.
    QJsonObject declarations() const;
    /// Brings all to what is kept; answers the ids of which something else is in force now.
    QStringList restore(const QJsonObject &changes, const QJsonObject &declarations, qint64 nowMs);

    /// What is to be kept when this patch is laid over what is kept.
    static Result<QJsonObject> changed(const Entry &entry, const QJsonObject &patch, qint64 nowMs);

    void change(const QString &id, const QJsonObject &stored, qint64 nowMs);
    void forget(const QString &id);

    EntryPointer find(const QString &id) const;
    const std::map<QString, EntryPointer> &entries() const { return m_entries; }
    const QList<queue::JobQueue *> &queues() const { return m_queues; }

private:
    Result<EntryPointer> read(const QJsonObject &schedule, const QString &plugin) const;
    static bool apply(Entry &entry, const QJsonObject &stored, qint64 nowMs);

    const QList<queue::JobQueue *> m_queues;
    std::map<QString, EntryPointer> m_entries;
    QJsonObject m_changes;
};

} // namespace tidekeeper::scheduler
