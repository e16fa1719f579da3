// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "queue/leases.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QObject>
#include <QtCore/QTimer>

namespace tidekeeper::queue {

/// Keeps trying to be the one holder of a lease among several engines, and renews it. Believes itself the holder
/// only as long as the last answer, counted from before it was asked for, still covers. Thread of the leases.
class LeaderLease : public QObject {
    Q_OBJECT

public:
    struct Options {
        QString name = QStringLiteral("scheduler");
        int ttlMs = 6'000; ///< a dead leader is replaced within this and one try
        int everyMs = 1'000; ///< tries and renewals
    };

    LeaderLease(Leases &leases, Options options, QObject *parent = nullptr);

    void start();
    /// Gives the lease back at once.
    QCoro::Task<> stop();

    bool isHeld() const { return m_term != 0 && !m_validUntil.hasExpired(); }
    qint64 term() const { return isHeld() ? m_term : 0; } ///< 0 = not the holder
    /// The last answer told of a holder, this one or another, whose lease may still last.
    bool isAnyoneHolding() const { return isHeld() || !m_otherUntil.hasExpired(); }
    const QString &name() const { return m_options.name; }
    int ttlMs() const { return m_options.ttlMs; }

    /// A resource refused our term because it has seen this one: lead again with a greater term, or not at all.
    void outbid(qint64 seenTerm);

Q_SIGNALS:
    void acquired(qint64 term);
    void lost();

private:
    QCoro::Task<> attempt();
    void setTerm(qint64 term);

    Leases &m_leases;
    Options m_options;
    QByteArray m_owner;
    QTimer m_timer;
    QDeadlineTimer m_validUntil;
    QDeadlineTimer m_otherUntil; ///< another holder's lease, and one try more
    qint64 m_term = 0;
    qint64 m_seenTerm = 0;
    bool m_asking = false;
};

} // namespace tidekeeper::queue
