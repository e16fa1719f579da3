// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/services.h>

#include <memory>

namespace tidekeeper::app {

/// Counters, gauges and distributions for /metrics, in the Prometheus text format. Names get the prefix "tidekeeper_";
/// what plugins count gets "tidekeeper_plugin_". [any]
class MetricsRegistry final : public Metrics {
public:
    MetricsRegistry();
    ~MetricsRegistry() override;

    void count(const QString &name, const QJsonObject &labels, qint64 by) override;
    void gauge(const QString &name, const QJsonObject &labels, double value) override;

    /// The engine's own, with a help text.
    void add(const QString &name, const QString &help, const QJsonObject &labels, double by);
    void set(const QString &name, const QString &help, const QJsonObject &labels, double value);
    /// A counter that is counted elsewhere, as it stands there; a lower value (of a count that began anew) is ignored.
    void total(const QString &name, const QString &help, const QJsonObject &labels, double value);
    /// A gauge with exactly these series: others that it had are gone.
    void replace(const QString &name, const QString &help,
                 const QList<std::pair<QJsonObject, double>> &series);
    /// One duration of a distribution, in buckets from 5 ms to 15 min; the name ends in "_seconds".
    void observe(const QString &name, const QString &help, const QJsonObject &labels, double seconds);
    /// The same in buckets from a minute to six days.
    void observeLong(const QString &name, const QString &help, const QJsonObject &labels, double seconds);

    QByteArray text() const;

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace tidekeeper::app
