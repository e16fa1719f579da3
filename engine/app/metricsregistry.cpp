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
#include <vector>

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

    std::unordered_map<std::string, std::vector<prometheus::Gauge *>> replaceable; ///< as replace() left them

    template<typename Builder, typename Families>
    auto &family(Families &families, Builder builder, const QString &name, const QString &help)
    {
        const std::scoped_lock lock(mutex);
        auto &entry = families[name.toStdString()];
        if (!entry)
            entry = &builder.Name(name.toStdString()).Help(help.toStdString()).Register(registry);
        return *entry;
    }

    prometheus::Histogram &histogram(const QString &name, const QString &help, const QJsonObject &labels,
                                     const prometheus::Histogram::BucketBoundaries &bounds)
    {
        return family(histograms, prometheus::BuildHistogram(), u"tidekeeper_"_s + name, help)
            .Add(labelsOf(labels), bounds);
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

void MetricsRegistry::total(const QString &name, const QString &help, const QJsonObject &labels, double value)
{
    const QString full = u"tidekeeper_%1_total"_s.arg(name);
    prometheus::Counter &counter =
        d->family(d->counters, prometheus::BuildCounter(), full, help).Add(labelsOf(labels));
    if (value > counter.Value())
        counter.Increment(value - counter.Value());
}

void MetricsRegistry::replace(const QString &name, const QString &help,
                              const QList<std::pair<QJsonObject, double>> &series)
{
    auto &family = d->family(d->gauges, prometheus::BuildGauge(), u"tidekeeper_"_s + name, help);
    const std::scoped_lock lock(d->mutex);
    std::vector<prometheus::Gauge *> &shown = d->replaceable[name.toStdString()];
    for (prometheus::Gauge *gauge : shown)
        family.Remove(gauge);
    shown.clear();
    for (const auto &[labels, value] : series) {
        prometheus::Gauge &gauge = family.Add(labelsOf(labels));
        gauge.Set(value);
        shown.push_back(&gauge);
    }
}

void MetricsRegistry::observe(const QString &name, const QString &help, const QJsonObject &labels,
                              double seconds)
{
    static const prometheus::Histogram::BucketBoundaries bounds{0.005, 0.025, 0.1, 0.5, 1,  2.5,
                                                                5,     15,    60,  300, 900};
    d->histogram(name, help, labels, bounds).Observe(seconds);
}

void MetricsRegistry::observeLong(const QString &name, const QString &help, const QJsonObject &labels,
                                  double seconds)
{
    static const prometheus::Histogram::BucketBoundaries bounds{60,     300,    900,     3'600,   14'400,
                                                                43'200, 86'400, 172'800, 345'600, 518'400};
    d->histogram(name, help, labels, bounds).Observe(seconds);
}

QByteArray MetricsRegistry::text() const
{
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, d->registry.Collect());
    return QByteArray::fromStdString(out.str());
}

} // namespace tidekeeper::app
