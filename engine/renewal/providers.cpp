// SPDX-License-Identifier: Apache-2.0
#include "renewal/providers.h"

#include "core/cron.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

#include <algorithm>
#include <optional>

using namespace Qt::StringLiterals;

namespace tidekeeper::renewal {

namespace {

constexpr int largestBatch = 500; // what one enqueue takes

bool observes(const SubscriptionProvider &plugin)
{
    return plugin.describe().value("mode"_L1) == "observe"_L1;
}

/// The mean of the next hundred intervals; nothing when the pattern is none.
std::optional<qint64> meanIntervalMs(const QString &cron)
{
    constexpr int intervals = 100;
    const auto fires = core::nextFires(cron, "UTC", QDateTime::currentMSecsSinceEpoch(), intervals + 1);
    if (!fires || fires->size() <= intervals)
        return std::nullopt;
    return (fires->last() - fires->first()) / intervals;
}

} // namespace

bool Providers::add(SubscriptionProvider *plugin, pluginhost::CallOptions callOptions)
{
    const QJsonObject description = plugin->describe();
    Provider provider;
    provider.plugin = plugin;
    provider.name = description.value("provider"_L1).toString();
    provider.lifetimeMs = description.value("lifetime_ms"_L1).toInteger();
    provider.windowMs = description.value("window_ms"_L1).toInteger();
    provider.limiter = description.value("limiter"_L1).toString();
    provider.method = description.value("method"_L1).toString();
    provider.removeMethod = description.value("remove_method"_L1).toString();
    provider.batchSize = std::clamp(description.value("batch_size"_L1).toInt(largestBatch), 1, largestBatch);
    provider.scanIntervalMs =
        meanIntervalMs(description.value("cron"_L1).toString()).value_or(provider.scanIntervalMs);
    provider.consumers = std::max(1, description.value("consumers"_L1).toInt(provider.consumers));
    provider.costUnits = description.value("cost"_L1).toInteger();
    provider.observe = observes(*plugin) || !m_heldBecause.isEmpty();
    provider.callOptions = std::move(callOptions);
    const QJsonArray cursorKeys = description.value("cursor_keys"_L1).toArray();
    for (const QJsonValue &key : cursorKeys)
        provider.cursorKeys.append(key.toString());

    if (provider.name.isEmpty() || provider.lifetimeMs <= 0 || provider.windowMs <= 0
        || m_providers.contains(provider.name))
        return false;
    m_providers.insert(provider.name, provider);
    return true;
}

void Providers::holdAll(const QString &reason)
{
    m_heldBecause = reason;
    for (Provider &provider : m_providers)
        provider.observe = observes(*provider.plugin) || !reason.isEmpty();
}

const Provider *Providers::find(const QString &name) const
{
    const auto it = m_providers.constFind(name);
    return it == m_providers.constEnd() ? nullptr : &*it;
}

} // namespace tidekeeper::renewal
