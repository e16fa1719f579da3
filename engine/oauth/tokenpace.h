// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/slowstart.h"
#include "oauth/tokenendpoint.h"

#include <tidekeeper/services.h>

#include <QtCore/QFuture>
#include <QtCore/QHash>
#include <QtCore/QPromise>
#include <QtCore/QTimer>

#include <deque>
#include <functional>

namespace tidekeeper::oauth {

/// Lets few token requests go at a time, so that a backlog after an outage is no second one for the token endpoint:
/// core::SlowStart per lane (one OAuth client, service account key or token service), first come, first served.
/// Main thread.
class TokenPace {
public:
    struct Options {
        int most = 16; ///< in flight per lane
        qint64 longestWaitMs = 10'000; ///< for a turn
    };
    using Ask = std::function<QCoro::Task<GrantResult>()>;

    TokenPace(const Clock &clock, Options options);
    explicit TokenPace(const Clock &clock) : TokenPace(clock, Options()) { }

    /// Asks when it is its turn; transient `token_queue`, and nothing asked, when that does not come in time.
    QCoro::Task<GrantResult> ask(QString lane, Ask ask);

    int inFlight(const QString &lane) const;
    int waiting(const QString &lane) const;

private:
    struct Waiter {
        QPromise<qint64> ticket; ///< 0 = its time is over
        qint64 untilMs = 0; ///< monotonic
    };
    struct Lane {
        explicit Lane(int most) : requests(most) { }
        core::SlowStart requests;
        std::deque<Waiter> waiters;
    };
    using LanePointer = std::shared_ptr<Lane>;

    LanePointer laneOf(const QString &name);
    QFuture<qint64> turnIn(Lane &lane);
    void next(Lane &lane);
    void giveUpLate();

    const Clock &m_clock;
    const Options m_options;
    QHash<QString, LanePointer> m_lanes;
    QTimer m_lateTimer;
};

} // namespace tidekeeper::oauth
