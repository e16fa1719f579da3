// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/accountcounts.h"
#include "app/clockskew.h"
#include "app/eventbus.h"
#include "app/renewalmetrics.h"
#include "app/scanmark.h"
#include "app/storeparts.h"
#include "net/httpclient.h"
#include "renewal/granthints.h"
#include "renewal/vigil.h"
#include "scheduler/redisclock.h"

namespace tidekeeper::app {

/// Gathers where it arises what health, metrics and status know of renewals: attempts, events, scans, the other sides'
/// clocks, lapses and coverage. Main thread.
class Lookout : public QObject {
    Q_OBJECT

public:
    /// googleHosts: as HttpClient::dated names them; the clocks of other hosts are none of ours.
    Lookout(StoreParts &store, redis::RedisConnection &redis, const scheduler::RedisClock &clock,
            EventBus &events, MetricsRegistry &metrics, const net::HttpClient &http, QStringList googleHosts);

    void start();
    void stop();

    void attempted(const renewal::AttemptMeasure &attempt) { m_metrics.attempted(attempt, m_clock.nowMs()); }
    void scanned() { m_scanMark.note(m_clock.nowMs()); } ///< a scan of this engine succeeded

    /// AccountStore::summary(), as AccountCounts; asks the database in any case.
    QCoro::Task<Result<QJsonObject>> accounts(qint64 windowMs);
    QCoro::Task<qint64> lastScanMs() { return m_scanMark.read(); }
    /// {"started_at", "coverage": as Vigil::coverage(), "clock_skew_ms": {"redis", "database", "google"}, as far as
    /// known, "hints": as GrantHints::status()}.
    QJsonObject facts() const;
    const renewal::GrantHints &grantHints() const { return m_grantHints; }
    void showMetrics(const QJsonObject &overview) { m_metrics.show(overview); }

private:
    void onEvent(const QJsonObject &event);

    StoreParts &m_store;
    const scheduler::RedisClock &m_clock;
    const QStringList m_googleHosts;
    AccountCounts m_counts;
    ScanMark m_scanMark;
    RenewalMetrics m_metrics;
    renewal::Vigil m_vigil;
    renewal::GrantHints m_grantHints;
    mutable ClockSkew m_skew; ///< that of Redis is read from the clock
    qint64 m_startedAt = 0;
};

} // namespace tidekeeper::app
