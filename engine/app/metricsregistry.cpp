// SPDX-License-Identifier: Apache-2.0
#include "app/metricsregistry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <sstream>
#include <unordered_map>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

prometheus::Labels labelsOf(const QJsonObject &object)
{
    prometheus::Labels labels;
    for (auto it = object.begin(); it != object.end(); ++it)
        labels.emplace(it.key().toStdString(), it.value().toVariant().toString().toStdString());
    return labels;
}

} // namespace

class MetricsRegistry::Private {
public:
    prometheus::Registry registry;
    std::mutex mutex;
    std::unordered_map<std::string, prometheus::Family<prometheus::Counter> *> counters;
    std::unordered_map<std::string, prometheus::Family<prometheus::Gauge> *> gauges;
    std::unordered_map<std::string, prometheus::Family<prometheus::Histogram> *> histograms;

    template<typename Builder, typename Families>
    auto &family(Families &families, Builder builder, const QString &name, const QString &help)
    {
        const std::scoped_lock lock(mutex);
        auto &entry = families[name.toStdString()];
        if (!entry)
            entry = &builder.Name(name.toStdString()).Help(help.toStdString()).Register(registry);
        return *entry;
    }
};

MetricsRegistry::MetricsRegistry() : d(std::make_unique<Private>()) { }

MetricsRegistry::~MetricsRegistry() = default;

void MetricsRegistry::count(const QString &name, const QJsonObject &labels, qint64 by)
{
    add(u"plugin_"_s + name, u"Counted by a plugin."_s, labels, double(by));
}

void MetricsRegistry::gauge(const QString &name, const QJsonObject &labels, double value)
{
    set(u"plugin_"_s + name, u"Measured by a plugin."_s, labels, value);
}

void MetricsRegistry::add(const QString &name, const QString &help, const QJsonObject &labels, double by)
{
    const QString full = u"tidekeeper_%1_total"_s.arg(name);
    d->family(d->counters, prometheus::BuildCounter(), full, help).Add(labelsOf(labels)).Increment(by);
}

void MetricsRegistry::set(const QString &name, const QString &help, const QJsonObject &labels, double value)
{
    d->family(d->gauges, prometheus::BuildGauge(), u"tidekeeper_"_s + name, help)
        .Add(labelsOf(labels))
        .Set(value);
}

void MetricsRegistry::observe(const QString &name, const QString &help, const QJsonObject &labels,
                              double seconds)
{
    static const prometheus::Histogram::BucketBoundaries bounds{0.005, 0.025, 0.1, 0.5, 1,  2.5,
                                                                5,     15,    60,  300, 900};
    d->family(d->histograms, prometheus::BuildHistogram(), u"tidekeeper_"_s + name, help)
        .Add(labelsOf(labels), bounds)
        .Observe(seconds);
}

QByteArray MetricsRegistry::text() const
{
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, d->registry.Collect());
    return QByteArray::fromStdString(out.str());
}

} // namespace tidekeeper::app
