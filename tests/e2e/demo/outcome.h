// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

namespace tidekeeper::demo {

/// What the consumers met, all of them together.
struct Tally {
    qint64 granted = 0;
    qint64 refused = 0; ///< by the limiter: asked again after the told wait
    qint64 refunded = 0; ///< granted, but not sent in time
    qint64 gmailCalls = 0;
    qint64 gmailFailed = 0; ///< any status but 200
    qint64 longestRealtimeWaitMs = 0;
    QString lastProblem; ///< of the limiter or of Gmail, for people
};

/// How it stands, by the simulator's own books.
struct Outcome {
    qint64 accounts = 0;
    qint64 renewed = 0; ///< accounts with a watch that the engine set
    qint64 lapses = 0;
    qint64 refusedByGoogle = 0;
    qint64 worstMinute = 0; ///< units of the busiest account in any 60 s
    qint64 lastMinute = 0; ///< of the account that the consumers share
    qint64 limit = 0; ///< that Google enforces per account and minute
    Tally tally;

    bool good() const;
    QString progress(qint64 seconds) const; ///< one line
    QString summary() const; ///< several lines
};

/// From GET /sim/state. busyAccount is the one the consumers share, projectId that of all accounts.
Outcome outcomeOf(const QJsonObject &state, const QString &projectId, const QString &busyAccount,
                  const Tally &tally);

} // namespace tidekeeper::demo
