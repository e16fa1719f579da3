// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/coveragestore.h"
#include "store/lapsestore.h"

#include <tidekeeper/services.h>

#include <QtCore/QJsonObject>
#include <QtCore/QTimer>

#include <functional>

namespace tidekeeper::renewal {

/// Looks once a minute, whatever of schedules, plugins and Redis is switched off or away: measures the coverage and
/// tells each lapse of an active account's watch once, as `account.lapsed`. Every engine looks; what is in the
/// database lets one of them count and tell. Main thread.
class Vigil : public QObject {
    Q_OBJECT

public:
    using Publish = std::function<void(const QString &type, const QJsonObject &event)>;

    static constexpr int everyMs = 60'000;
    static constexpr qint64 lapseGraceMs = 60'000; ///< time for one scan to renew what has just lapsed
    static constexpr int mostLapsesAtOnce = 500;
    static constexpr qint64 shownDays = 30;
    static constexpr qint64 keptDays = 400;

    Vigil(store::CoverageStore &coverage, store::LapseStore &lapses, const Clock &clock, Publish publish,
          QObject *parent = nullptr);

    void start(); ///< looks now, then every minute
    void stop() { m_timer.stop(); }
    QCoro::Task<> look();
    /// A renewal ended a lapse: the event `watch.gap`.
    QCoro::Task<> noteGap(qint64 fromMs, qint64 toMs);

    /// Of the last 30 days, as of the last look: {"share": 0 … 1 or null without account-time, "share_24h": …,
    /// "active_ms", "lapsed_ms", "days": [{"day": "2026-11-30", "share"}]}; days are UTC.
    const QJsonObject &coverage() const { return m_coverageView; }

private:
    QCoro::Task<> tellLapses(qint64 nowMs);
    QCoro::Task<> readCoverage(qint64 nowMs);

    store::CoverageStore &m_coverage;
    store::LapseStore &m_lapses;
    const Clock &m_clock;
    Publish m_publish;
    QTimer m_timer;
    QJsonObject m_coverageView;
    qint64 m_prunedAt = 0;
};

/// Pure: what coverage() shows of these hours.
QJsonObject coverageView(const QList<store::CoverageHour> &hours, qint64 nowMs);

} // namespace tidekeeper::renewal
