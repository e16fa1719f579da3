// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/applyoutcome.h"
#include "core/attemptwindow.h"
#include "renewal/breakers.h"
#include "renewal/ports.h"

#include <QtCore/QObject>
#include <QtCore/QTimer>

namespace tidekeeper::renewal {

/// What concerns many accounts at once: faults of configuration, a project whose other side is in trouble, waves of
/// grants that only seem lost. Looks into the database twice a second, so that all engines act alike; whoever opens one
/// publishes its one alert. Main thread.
class Incidents final : public QObject {
    Q_OBJECT

public:
    explicit Incidents(Ports &ports);

    void start();
    QCoro::Task<> stop();

    /// Leave to attempt, as Breakers::admit; goes back with judge().
    QCoro::Task<Breakers::Ticket> admit(core::Account account, QString metCode, bool forced);

    /// What the end of an attempt means for all, seen before it is saved.
    struct Verdict {
        core::Hold hold = core::Hold::None; ///< what keeps the outcome from being held against the account
        qint64 waitMs = 0; ///< when something stops the account now: until it is worth to ask again
    };
    /// metCode: as for admit(). Never fails: what could not be stored is met again by the next attempt.
    QCoro::Task<Verdict> judge(store::AccountRow row, QString metCode, Breakers::Ticket ticket,
                               Attempted attempted);
    /// What other engines attempted, or this one before its last start.
    QCoro::Task<> arrived(QList<core::EndedAttempt> attempts);

    std::optional<Breakers::Stop> stopOf(const core::Account &account, const QString &metCode) const
    {
        return m_breakers.stopOf(account, metCode);
    }
    /// What the open wave says that holds a row which met this failure; empty = none does.
    QString holdingWave(const core::Account &account, const QString &metCode) const;
    std::optional<qint64> nextWakeMs() const { return m_breakers.nextWakeMs(); }

    QJsonArray openBreakers() const; ///< of configuration and waves, as Breakers::open
    QJsonArray pauses() const { return m_breakers.open(BreakerKind::Transient); }
    QJsonArray openWaves() const; ///< [{"id", "project", "client", "code", "text", "opened_at"}]

    QCoro::Task<Result<QList<store::Wave>>> waves(int limit);
    /// The losses were real. Failures: not_found, conflict, database_unavailable.
    QCoro::Task<Result<store::Wave>> confirm(qint64 wave, QString actor);

Q_SIGNALS:
    void changed(); ///< who waits may have to wait for another time
    void ended(); ///< accounts may have become due
    void looked();

private:
    QCoro::Task<> look();
    QCoro::Task<> lookAtBreakers();
    QCoro::Task<> lookAtWaves();
    QCoro::Task<> restoreStragglers(store::Wave wave);
    void noteReading(const QString &problem);

    void note(const core::Account &account, const core::Outcome &outcome);
    QCoro::Task<core::Hold> judgeLoss(store::AccountRow row, Attempted attempted);
    QCoro::Task<core::Hold> judgeTrouble(core::Account account, Attempted attempted);
    QCoro::Task<> judgeSuccess(store::AccountRow row, QString metCode, bool freshToken);
    QCoro::Task<> openWave(core::Account account, Attempted attempted, core::SuspectedWave suspected);
    QCoro::Task<> openPause(core::Account account, Attempted attempted);
    void close(const QList<store::BreakerRow> &rows, bool here);

    const store::Wave *find(const QString &project, const QString &client, const QString &code) const;

    Ports &m_ports;
    Breakers m_breakers;
    core::AttemptWindow m_window;
    QList<store::Wave> m_waves; ///< the open ones and those confirmed within a day, as read last
    qint64 m_restoredAtMs = 0; ///< epoch; stragglers were looked for
    QString m_readProblem;
    QTimer m_timer;
    bool m_isLooking = false;
    bool m_isKnown = false;
};

/// The failure for which a wave holds the row, or empty; also that of a fault of configuration, which no wave has.
QString heldFor(const core::Subscription &row);

/// The account as attempts name it to other engines: no id, which may be an address, leaves the engine.
quint64 accountHash(const QString &account);

} // namespace tidekeeper::renewal
