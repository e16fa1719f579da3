// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limits/limiterregistry.h"
#include "settings/limiterstate.h"
#include "store/settingsstore.h"

#include <QtCore/QTimer>

namespace tidekeeper::settings {

/// What operators change of limiters while they run. The database alone is the truth: every engine looks into it twice
/// a second, also while Redis is away, and brings its limiters to what stands there. A setting that no longer fits is
/// left out, logged once and shown; it stops nothing. Main thread.
class LimiterSettings final : public QObject {
    Q_OBJECT

public:
    LimiterSettings(store::SettingsStore &store, limits::LimiterRegistry &registry,
                    limits::AccountOverrides &overrides, const Clock &clock);

    /// Takes up a limiter, the first of its name, and brings it to what operators decided. To be awaited before it
    /// starts, so that nothing else than what is in force ever reaches Redis.
    QCoro::Task<> take(LimiterProfile profile);
    void start();
    QCoro::Task<> stop();

    Result<const LimiterState *> find(const QString &limiter) const; ///< unknown_limiter: it does not run
    const QString &readProblem() const
    {
        return m_readProblem;
    } ///< why the database is not read; empty: it is

    // Each is checked whole before anything changes, kept with its audit entry, and in force here when it ends.
    // Failures: unknown_limiter, invalid_settings, unknown_project, conflict, database_unavailable, timeout.

    /// patch: some settings, null returns one to the file: {"enforce": false, "projects": {"default": {"day_budget": null}}}.
    QCoro::Task<Result<>> change(QString limiter, QJsonObject patch, QString actor);
    /// limits: as AccountOverride::from; replaces what the account had.
    QCoro::Task<Result<>> putOverride(QString limiter, OverrideName name, QJsonObject limits, QString actor);
    QCoro::Task<Result<>> removeOverride(QString limiter, OverrideName name, QString actor); ///< not_found

Q_SIGNALS:
    void changed(const QString &limiter); ///< something else is in force now
    void looked();

private:
    using Stored = QMap<QString, QJsonObject>; ///< by name of the setting

    QCoro::Task<> look();
    QCoro::Task<> bring(QString limiter, Stored stored);
    void bringOverrides(const QString &limiter, LimiterState &state, const Stored &stored);
    void noteReading(const Result<Stored> &read);
    void noteTaking(const QString &limiter, LimiterState &state, const Result<> &taken);

    QCoro::Task<Result<>> keep(QString setting, QJsonObject before, QJsonObject after, QString actor);
    QCoro::Task<Result<>> replaceOverride(QString limiter, OverrideName name, QJsonObject after,
                                          QString actor);

    store::SettingsStore &m_store;
    limits::LimiterRegistry &m_registry;
    limits::AccountOverrides &m_overrides;
    const Clock &m_clock;
    std::map<QString, LimiterState> m_states; ///< never removed: coroutines point into it
    QString m_readProblem;
    QTimer m_timer;
    bool m_isLooking = false;
};

} // namespace tidekeeper::settings
