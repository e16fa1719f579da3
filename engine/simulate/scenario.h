// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/planner.h"

#include <QtCore/QList>

// What a simulation is about: whose watches, which settings, and what goes wrong when. Instants are epoch ms of a
// virtual clock.
namespace tidekeeper::simulate {

enum class Trouble : quint8 {
    Worker, ///< nobody scans and nobody works
    Google, ///< every call is answered 503
    Network, ///< no call is answered; each times out
    Secret, ///< the token endpoint refuses the client: 401 invalid_client
    Grants, ///< the token endpoint says invalid_grant of every grant, though all live
    Topic ///< Gmail may not publish to the topic: 403
};

struct Outage {
    Trouble trouble = Trouble::Worker;
    qint64 fromMs = 0; ///< since the start
    qint64 lengthMs = 0;

    qint64 toMs() const { return fromMs + lengthMs; }
    bool covers(qint64 sinceStartMs) const { return sinceStartMs >= fromMs && sinceStartMs < toMs(); }
};

struct Scenario {
    int accounts = 10'000;
    int days = 30;
    qint64 startMs = 1'800'000'000'000; ///< 2027-01-15 08:00 UTC
    quint64 seed = 1;

    qint64 lifetimeMs = 7 * core::dayMs; ///< that Google grants
    qint64 clusterMs =
        core::hourMs; ///< the first expiries lie in the last so many ms of a lifetime from the start
    QList<qint64> expiries; ///< instead: of each account; 0 = no watch yet

    qint64 windowMs = 6 * core::dayMs;
    int batchSize = 500;
    int consumers = 2;
    qint64 callMs = 200; ///< how long an answer of Google's takes

    QList<Outage> outages;
    double errors = 0; ///< share of calls that are answered 5xx
    double revoked = 0; ///< share of accounts whose user revokes, at some time
    double lostAnswers = 0; ///< share of successful watches whose answer never arrives

    qint64 endMs() const { return startMs + days * core::dayMs; }
    int count() const { return expiries.isEmpty() ? accounts : static_cast<int>(expiries.size()); }
    /// The end of the outage of this kind that covers the instant; 0 = none does.
    qint64 troubleUntil(Trouble trouble, qint64 nowMs) const;
    /// An outage or the day after it, in which what it held up is caught up on.
    bool isRecovery(qint64 nowMs) const;
};

/// The watches that stand at the start, by account.
QList<qint64> firstExpiries(const Scenario &scenario);

} // namespace tidekeeper::simulate
