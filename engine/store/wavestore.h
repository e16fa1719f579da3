// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/breakerstore.h"

#include <QtCore/QStringList>

namespace tidekeeper::store {

/// A suspicion that the grants of many accounts only seem lost.
struct Wave {
    qint64 id = 0;
    QString project;
    QString client;
    QString code; ///< the failure that they met
    QString text;
    QString state; ///< "open", "confirmed" or "recovered"
    qint64 sinceMs = 0; ///< epoch; the first failure that belongs to it
    qint64 openedAt = 0;
    qint64 endedAt = 0; ///< 0 while it is open
    QString endedBy; ///< who confirmed it
    qint64 members = 0; ///< accounts that it holds or held
};

/// Waves and the accounts that they hold. Any thread may call.
/// Failures: database_unavailable, and what is named.
class WaveStore {
public:
    explicit WaveStore(Database &database) : m_database(database) { }

    /// The open ones and those confirmed after this instant, without their members' number.
    QCoro::Task<Result<QList<Wave>>> current(qint64 confirmedAfterMs);
    /// Newest first.
    QCoro::Task<Result<QList<Wave>>> list(int limit);

    struct Opened {
        Wave wave; ///< with its id
        QStringList restored; ///< accounts
    };
    /// Opens it with its breaker, unless it is open already (conflict), and brings back those whom it had stopped before
    /// it was seen: retired tokens are used again, accounts are active, and all of them are members.
    QCoro::Task<Result<Opened>> open(Wave wave, BreakerRow breaker);
    /// Brings back those whose end was saved while the wave was opened; which they are.
    QCoro::Task<Result<QStringList>> restore(Wave wave, qint64 nowMs);

    /// The account met the wave's failure with this grant and waits. Nothing new when it is a member already.
    QCoro::Task<Result<>> hold(qint64 wave, QString account, QString fingerprint, qint64 nowMs);
    /// A member was renewed with the grant that it was held with: the wave is over and its members are due. False when
    /// the account proves nothing (another grant, no member) or the wave has ended.
    QCoro::Task<Result<bool>> recover(qint64 wave, QString account, QString fingerprint, qint64 nowMs);
    /// The failures were real: the members are due and meet their end. Audited. Failures: not_found, conflict (ended).
    QCoro::Task<Result<Wave>> confirm(qint64 wave, QString actor, qint64 nowMs);

private:
    Database &m_database;
};

/// The scope of the breaker that comes with a wave.
QString waveScope(qint64 wave);

} // namespace tidekeeper::store
