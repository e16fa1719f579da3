// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "renewal/breakerscope.h"
#include "renewal/incidentstore.h"

#include <tidekeeper/services.h>

#include <QtCore/QJsonArray>
#include <QtCore/QMap>

#include <optional>

namespace tidekeeper::renewal {

/// The breakers: one per project, per project and client, per client and Workspace domain, one for the pause of a project
/// and one for each wave. The open ones are rows that all engines share; here is what was read of them last, so that an
/// account that nothing stops costs no question to the database. Main thread.
class Breakers {
public:
    Breakers(IncidentStore &store, const Clock &clock) : m_store(store), m_clock(clock) { }

    /// What the database says now. Those that were open before and are not any more.
    QList<store::BreakerRow> take(const QList<store::BreakerRow> &rows);

    /// Leave to work on one account; goes back with report().
    struct Part {
        QString scope;
        core::Breaker::Admission admission = core::Breaker::Admission::Pass;
        qint64 generation = 0; ///< of the probe
    };
    struct Ticket {
        bool admitted = false;
        qint64 waitMs = 0; ///< when not: until it is worth to ask again
        QString text; ///< when not: what is wrong
        QList<Part> probes = {};
    };
    /// metCode: the failure for which a wave holds the account, or empty: it waits for itself, not for the wave's breaker.
    /// forced: an operator asked, so the probe does not wait for its time.
    QCoro::Task<Ticket> admit(core::Account account, QString metCode, bool forced);

    struct Changes {
        QList<store::BreakerRow> opened; ///< by this attempt of this engine and nobody else
        QList<store::BreakerRow> closed;
    };
    QCoro::Task<Changes> report(core::Account account, Ticket ticket, Attempted attempted);

    /// Opens one; true when this engine did it. It may be open already, or the database be away: false.
    QCoro::Task<bool> open(QString scope, QJsonObject fault);
    bool isOpen(const QString &scope) const { return m_entries.contains(scope); }

    /// Until it is worth to ask again, for whatever stops this account; nothing when nothing does.
    struct Stop {
        qint64 waitMs = 0;
        QString text;
        BreakerKind kind = BreakerKind::Configuration;
    };
    std::optional<Stop> stopOf(const core::Account &account, const QString &metCode = {}) const;

    /// Until somebody who waits may go on, > 0: the next probe, or the end of the last wait that was handed out.
    std::optional<qint64> nextWakeMs() const;

    /// The open ones of this kind: what shown() shows and {"since", "probe_at", "next_probe_in_ms"}.
    QJsonArray open(BreakerKind kind) const;

private:
    QList<store::BreakerRow> stopping(const core::Account &account, const QString &metCode) const;
    QCoro::Task<bool> takeProbe(store::BreakerRow row, bool forced, Ticket *ticket);
    QCoro::Task<> endProbe(Part part, core::Account account, Attempted attempted, Changes *changes);
    QCoro::Task<bool> replace(store::BreakerRow row, core::Breaker breaker);
    void waitUntil(qint64 untilMs);

    IncidentStore &m_store;
    const Clock &m_clock;
    QMap<QString, store::BreakerRow> m_entries; ///< by scope
    qint64 m_waitersUntilMs = 0; ///< epoch; a breaker that closes early leaves rows that wait until then
};

} // namespace tidekeeper::renewal
