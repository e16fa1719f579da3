// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler/scheduler.h"
#include "store/settingsstore.h"

#include <QtCore/QSet>
#include <QtCore/QTimer>

namespace tidekeeper::settings {

/// What operators change of schedules, and the schedules that plugins declared once, so that one whose plugin is gone is
/// still shown. The database alone is the truth: every engine looks into it twice a second, so that a pause holds in
/// all of them within a second, whoever leads. Main thread.
class ScheduleSettings final : public QObject, public scheduler::ChangeKeeper {
    Q_OBJECT

public:
    ScheduleSettings(store::SettingsStore &store, scheduler::Scheduler &scheduler, const Clock &clock);
    ~ScheduleSettings() override;

    /// After the plugins have declared what they do. Ends after the first look.
    QCoro::Task<> start();
    QCoro::Task<> stop();

    QCoro::Task<Result<>> keepChange(QString scheduleId, QJsonObject before, QJsonObject after,
                                     QString actor) override;
    QCoro::Task<Result<>> forget(QString scheduleId, QString actor) override;

    /// Why the database is not read, so that all stays as it was read last; empty: it is.
    const QString &readProblem() const { return m_readProblem; }

    bool isKnown() const { return m_isKnown; }

Q_SIGNALS:
    void known(); ///< once, when the database was read for the first time: before that nothing should fire
    void looked();

private:
    using Stored = QMap<QString, QJsonObject>; ///< by name of the setting

    QCoro::Task<> look();
    QCoro::Task<> remember(Stored stored);
    void noteReading(const Result<Stored> &read);

    store::SettingsStore &m_store;
    scheduler::Scheduler &m_scheduler;
    const Clock &m_clock;
    QSet<QString> m_remembered; ///< by this engine since it started: it writes each declaration once
    QString m_readProblem;
    QTimer m_timer;
    bool m_isLooking = false;
    bool m_isKnown = false;
};

} // namespace tidekeeper::settings
