// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "renewal/backlog.h"
#include "renewal/incidents.h"
#include "renewal/ports.h"
#include "renewal/providers.h"
#include "renewal/removalflow.h"
#include "renewal/renewalflow.h"

#include <QtCore/QObject>
#include <QtCore/QTimer>

namespace tidekeeper::renewal {

/// What one scan saw and did.
struct ScanResult {
    qint64 at = 0; ///< epoch ms
    int due = 0; ///< rows, at most the batch size
    int enqueued = 0; ///< new or promoted jobs; the others were live already
    int held = 0; ///< due rows that are not urgent and wait, since a backlog is worked at a pace
    int leaving = 0;
    qint64 tookMs = 0;
    bool observed = false; ///< nothing was enqueued because every provider only observes
    QString errorText; ///< why the scan failed; empty = it did not
};

/// The engine side of every SubscriptionProvider: finds who is due, enqueues, and does the jobs. Selecting calls no
/// outside API. Main thread.
class RenewalEngine : public QObject {
    Q_OBJECT

public:
    static const QString scanJob; ///< "scan-renewals"
    static const QString renewJob; ///< "renew"
    static const QString removeJob; ///< "remove"

    RenewalEngine(Ports ports, Providers &providers, QObject *parent = nullptr);

    /// Begins to look at what stops many accounts; until then every attempt looks for itself.
    void start() { m_incidents.start(); }
    QCoro::Task<> stop() { return m_incidents.stop(); }
    Incidents &incidents() { return m_incidents; }

    /// Asks the store who is due and enqueues them, earliest expiry first.
    QCoro::Task<ScanResult> scan();
    /// A scan within a second: accounts changed. Many requests make one scan.
    void requestScan();

    /// The handler of the three job types.
    QCoro::Task<queue::JobOutcome> run(queue::Job job);

    /// An operator's "renew now": ahead of all others and without regard to target and back-off. Failures: not_found,
    /// conflict (the account is not active, or the provider only observes; the text says what to do), redis_*.
    /// takeOver: a watch of another environment is ended once, and an account that was parked for it is active again.
    QCoro::Task<Result<queue::EnqueueResult>> renewNow(QString account, bool takeOver = false);
    /// The same for the active ones of many; those whose renewal was not under way already.
    QCoro::Task<Result<QStringList>> renewNow(QList<store::AccountRow> rows);

    /// A renewal that ends the watch first, for one that delivers nothing. Failures: conflict (the provider only
    /// observes, or a renewal is under way already), redis_*.
    QCoro::Task<Result<>> repair(QString account, QString subscription);

    /// All active ones of these become due within spreadMs, each at its own moment; how many moved. Also while only
    /// observing: then it is what would be renewed.
    QCoro::Task<Result<int>> pullForward(QList<store::AccountRow> rows, qint64 spreadMs);
    qint64 estimateMs(qint64 renewals) const { return m_backlog.estimateMs(renewals); }
    core::BulkPlan planOf(const QMap<QString, qint64> &renewals) const { return m_backlog.planOf(renewals); }

    /// Only observes, for this reason, until it is empty.
    void hold(const QString &reason);

    QCoro::Task<Result<QJsonObject>> explain(QString account);

    /// {"mode", "mode_reason", "last_scan": {…}, "capacity": {…}, "breakers", "waves", "pauses": […]}.
    QJsonObject status() const;
    const ScanResult &lastScan() const { return m_lastScan; }
    QJsonArray openBreakers() const { return m_incidents.openBreakers(); }

private:
    bool everyProviderObserves() const;
    Error observing() const;
    QCoro::Task<Result<>> makeActive(store::AccountRow row, bool takeOver);
    int batchSize() const;
    queue::JobSpec renewSpec(const store::DueRow &row) const;
    QCoro::Task<> enqueue(QList<queue::JobSpec> specs, int *enqueued, QString *errorText);
    void countFinished();
    void wakeForProbe();

    Ports m_ports;
    Providers &m_providers;
    Backlog m_backlog;
    Incidents m_incidents;
    RenewalFlow m_renewals;
    RemovalFlow m_removals;
    QTimer m_soon;
    QTimer m_probe{this}; ///< a scan when a breaker lets its next probe through
    ScanResult m_lastScan;
    int m_liveOfLastScan = 0;
};

} // namespace tidekeeper::renewal
