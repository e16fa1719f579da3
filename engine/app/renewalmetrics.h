// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/metricsregistry.h"
#include "renewal/ports.h"

#include <QtCore/QSet>

namespace tidekeeper::app {

/// Everything about renewals in /metrics: what this engine did is counted here as it happens, what holds for all
/// engines is shown as the overview has it. Main thread.
class RenewalMetrics {
public:
    explicit RenewalMetrics(MetricsRegistry &metrics);

    void attempted(const renewal::AttemptMeasure &attempt, qint64 nowMs);
    void noteEvent(const QJsonObject &event); ///< as the event bus hands it out
    void show(const QJsonObject &overview); ///< as Overview::read()

private:
    void showAccounts(const QJsonObject &accounts, qint64 nowMs);
    void showScan(const QJsonObject &scan, const QJsonObject &lastHere);
    void showRenewal(const QJsonObject &renewal);
    void showCoverage(const QJsonObject &coverage);
    void showPushes(const QJsonObject &pushes);
    void flag(const QString &name, const QString &help, bool value);
    QString codeLabel(const QString &code);

    MetricsRegistry &m_metrics;
    QSet<QString> m_codes; ///< that have a time series of their own
};

} // namespace tidekeeper::app
